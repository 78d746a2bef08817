package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// serves is the configuration of a peer in its serving role.
func serves() Config { return Config{Serving: true, Handler: &script{request: byMethod}} }

// result is the answer "{}" to an id.
func result(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

// fault is an answer with an error of the peer.
func fault(id string, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, strictjson.AppendString(nil, message))
}

func TestIDsOfAClientComeBack(t *testing.T) {
	long := `"` + strings.Repeat("x", maxToken-2) + `"`
	for _, id := range []string{
		`1`, `0`, `-0`, `-7`, `1.5`, `1.0`, `1E+2`, `1e400`, `18446744073709551616`, `""`, `"\u0000"`, `"a\/b"`, `"é"`, `"null"`, long,
	} {
		play(t, serves(), serverAsks(id, "ping"), sends(result(id)))
	}
}

// What a client sends that is no message has an answer: the client may wait for one.
func TestWhatAClientSpoils(t *testing.T) {
	const invalid, noJSON = "-32600", "-32700"
	for msg, want := range map[string]string{
		`hello`:                    noJSON + " null",
		`{`:                        noJSON + " null",
		`{"id":1`:                  noJSON + " null",
		"\xff":                     noJSON + " null",
		`1`:                        invalid + " null",
		`"x"`:                      invalid + " null",
		`null`:                     invalid + " null",
		`[]`:                       invalid + " null",
		`[{"id":1}]`:               invalid + " null",
		`[{"id":1},`:               noJSON + " null",
		`{}`:                       invalid + " null",
		`{"id":7}`:                 invalid + " 7",
		`{"id":null}`:              invalid + " null",
		`{"id":"\ud800"}`:          invalid + ` "\ud800"`,
		`{"id":1,"method":"ping"}`: invalid + " 1",
		`{"jsonrpc":"1.0","id":"a","method":"ping"}`:                                     invalid + ` "a"`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                    invalid + " null",
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                                    invalid + " null",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                      invalid + " null",
		`{"jsonrpc":"2.0","id":[1],"method":"ping"}`:                                     invalid + " null",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                                invalid + " null",
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                            invalid + " 1",
		`{"jsonrpc":"2.0","id":1,"method":""}`:                                           invalid + " 1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":7}`:                            invalid + " 1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"x"}`:                          invalid + " 1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`:                           invalid + " 1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + "\xe2\x82" + `"}}`:   noJSON + " 1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":`:                         noJSON + " 1",
		`{"jsonrpc":"2.0","method":"ping","params":{"a":`:                                noJSON + " null",
		`{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0"}`:                     noJSON + " 1",
		`{"jsonrpc":"2.0","id":` + strings.Repeat("1", maxToken+1) + `,"method":"ping"}`: invalid + " null",
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxToken) + `"}`:      invalid + " 1",

		// Certainly no requests:
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`:         "",
		`{"jsonrpc":"2.0","result":{}}`:                           "",
		`{"jsonrpc":"2.0","id":1,"result":`:                       "",
		`{"jsonrpc":"2.0","method":"notifications/x","params":7}`: "",
		`{"jsonrpc":"2.0","method":"notifications/x","params":{"`: "",
		`{"jsonrpc":"2.0","method":"x","params":7}`:               "",
	} {
		t.Run(msg[:min(len(msg), 60)], func(t *testing.T) {
			var got []string
			play(t, serves(), delivers(0, msg, abi.VerdictMalformed), does(func(s *scene) {
				for _, answer := range s.link.sent {
					var a struct {
						ID    json.RawMessage
						Error struct {
							Code    int
							Message string
						}
					}
					if err := json.Unmarshal([]byte(answer), &a); err != nil || a.Error.Message == "" {
						s.t.Errorf("answered %s, %v", answer, err)
					}
					got = append(got, fmt.Sprint(a.Error.Code, " ", string(a.ID)))
				}
			}))
			if strings.Join(got, "; ") != want {
				t.Errorf("%s\nanswered %q, want %q", msg, got, want)
			}
		})
	}
}

// Blank lines are no messages, and a client that sends nothing else than rubbish is cut off.
func TestAClientThatSpeaksAnotherLanguage(t *testing.T) {
	broken := make(chan error, 2)
	c := serves()
	c.Broken = func(err error) { broken <- err }
	play(t, c, does(func(s *scene) {
		s.peer.Deliver(0, []byte(" \t"), false)
		for range 2 * maxStreak {
			s.peer.Deliver(0, []byte("GET / HTTP/1.1"), false)
		}
	}), does(func(s *scene) {
		if n := len(s.link.sent); n != maxStreak {
			s.t.Errorf("%d answers", n)
		}
		if len(broken) != 1 {
			s.t.Errorf("broken %d times", len(broken))
		}
	}))
}

func TestArraysOfAClient(t *testing.T) {
	ping := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
	play(t, serves(),
		delivers(0, "["+ping(1)+"]", abi.VerdictMalformed),
		sends(fault("null", -32600, "malformed message: array of messages, which this protocol revision does not have")),
		agrees(Terms{AllowBatch: true}),
		delivers(0, "["+ping(1)+"]", abi.VerdictRequest), sends(result("1")),
		delivers(0, "[1,"+ping(2)+"]", abi.VerdictRequest),
		does(func(s *scene) {
			slices.Sort(s.link.sent)
			sends(result("2"), fault("null", -32600, "malformed message: not a JSON object"))(s)
		}))
	var last []string
	play(t, serves(), agrees(Terms{AllowBatch: true}), does(func(s *scene) {
		s.peer.Deliver(0, []byte("["+strings.Repeat("1,{},", 4*maxBatch)+"1]"), false)
	}), does(func(s *scene) { last = s.link.sent }))
	if len(last) > maxBatch+1 {
		t.Errorf("an array of %d elements has %d answers", 8*maxBatch, len(last))
	}
}

// More than a client may have asked at once is refused, whatever is with the others.
func TestAClientAsksTooMuch(t *testing.T) {
	steps := []step{}
	for i := range maxServed {
		steps = append(steps, serverAsks(fmt.Sprint(i), "wait"))
	}
	play(t, serves(), append(steps,
		serverAsks(`"more"`, "ping"), sends(fault(`"more"`, -32603, "busy: 256 requests are being answered")),
		serverAsks(`7`, "ping"), sends(fault(`7`, -32600, "a request with this id is being answered")),
		delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, abi.VerdictNote), sends(),
		serverAsks(`7`, "ping"), sends(result(`7`)),
	)...)
	big := `{"jsonrpc":"2.0","id":%d,"method":"wait","params":{"a":"` + strings.Repeat("x", maxServingBytes/2) + `"}}`
	play(t, serves(),
		delivers(0, fmt.Sprintf(big, 1), abi.VerdictRequest), delivers(0, fmt.Sprintf(big, 2), abi.VerdictRequest),
		sends(fault(`2`, -32603, "busy: more than 32 MiB of requests would be answered at once")),
	)
}

// A request over the message cap has an answer with its id, wherever that is.
func TestAClientSendsTooMuch(t *testing.T) {
	const why = "the request is larger than the message cap"
	tooBig := func(head, tail string) step {
		return does(func(s *scene) { s.peer.TooBig(0, []byte(head), []byte(tail)) })
	}
	play(t, serves(),
		tooBig(`{"jsonrpc":"2.0","id":"a","method":"x","params":{"b":"ccc`, `ccc"}}`), sends(fault(`"a"`, -32600, why)),
		tooBig(`{"method":"x","params":{"b":"ccc`, `ccc"},"jsonrpc":"2.0","id":7}`), sends(fault(`7`, -32600, why)),
		tooBig(`{"method":"x","params":{"b":"ccc`, `ccc"}}`), sends(fault(`null`, -32600, why)),
		tooBig(`{"jsonrpc":"2.0","id":12`, `3}`), sends(fault(`null`, -32600, why)),
		tooBig(`{"method":"notifications/x","params":{"b":"ccc`, `ccc"}}`), sends(),
		tooBig(`{"id":1,"result":{"b":"ccc`, `ccc"}}`), sends(),
		tooBig("\x00\x01", "\xff"), sends(fault(`null`, -32600, why)))
}

// A cancellation acts although the handler works and the link takes nothing; of a request that is
// unknown, that is over or that initializes it means nothing.
func TestAClientTakesBack(t *testing.T) {
	cancel := func(id string) step {
		return delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, abi.VerdictNote)
	}
	var room chan struct{} // of the bubble
	c := serves()
	c.Handler = &script{request: func(ctx context.Context, in *Incoming) (Appender, error) {
		if in.Method != "initialize" && in.Method != "ping" {
			<-ctx.Done()
		}
		return raw(`{}`), ctx.Err()
	}}
	play(t, c,
		cancel(`1`), cancel(`{}`), cancel(`null`), delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, abi.VerdictNote),
		serverAsks(`1`, "wait"), cancel(`"1"`), cancel(`1.0`), sends(), cancel(`1`), sends(),
		serverAsks(`1`, "ping"), cancel(`1`), sends(result(`1`)),
		does(func(s *scene) { room = make(chan struct{}); s.link.full = room }),
		serverAsks(`2`, "initialize"), cancel(`2`), serverAsks(`3`, "ping"), serverAsks(`4`, "ping"), cancel(`3`),
		does(func(s *scene) { close(room) }),
		does(func(s *scene) {
			slices.Sort(s.link.sent)
			sends(result(`2`), result(`4`))(s)
		}),
		counts(Counters{Requests: 5, Notifications: 10}))
}

// Where a protocol cancels in another way than MCP, requests of both sides are cancelled in it. Of a
// request that is answered all the same, the end of its context does not keep the answer back.
func TestAnotherCancellation(t *testing.T) {
	c := serves()
	c.Cancel = Cancellation{Method: "$/cancelRequest", ID: "id", Answered: true}
	play(t, c,
		serverAsks(`"x"`, "wait"),
		delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`, abi.VerdictNote),
		sends(),
		delivers(0, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}`, abi.VerdictNote),
		sends(`{"jsonrpc":"2.0","id":"x","result":"the other side cancelled its request"}`),
		asks("elicit"), sends(`{"jsonrpc":"2.0","id":2,"method":"elicit"}`),
		cancels("elicit"), sends(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2,"reason":"context canceled"}}`))
}

// The answer to a request comes behind the notifications that were sent before it, also if the link
// takes nothing meanwhile, and is not urgent. An id may come again as soon as its answer is sent.
func TestRepliesWaitInLine(t *testing.T) {
	var urgent []bool
	var room chan struct{} // of the bubble
	c := serves()
	play(t, c,
		does(func(s *scene) {
			room = make(chan struct{})
			s.link.full = room
		}),
		serverAsks(`1`, "ping"), serverAsks(`1`, "ping"), sends(),
		does(func(s *scene) { close(room) }), sends(result(`1`), result(`1`)),
		serverAsks(`1`, "ping"), sends(result(`1`)),
		does(func(s *scene) {
			var f abi.Facts
			s.peer.flight.terms.Load().facts(&f, "")
			m := newReply(1, []byte(`1`), &f, raw(`{}`), nil)
			urgent = append(urgent, m.Urgent())
			m.Free()
			m = s.peer.reply(&Incoming{id: []byte(`1`)}, raw(`{}`), nil)
			urgent = append(urgent, m.Urgent())
			m.Free()
		}))
	if slices.Contains(urgent, true) {
		t.Errorf("urgent: %v", urgent)
	}
}

// An error of a server goes to the client as the server wrote it.
func TestErrorsArePassedOn(t *testing.T) {
	for raw, want := range map[string]string{
		`{"code":1e0,"message":"x", "data":1e400,"more":[ ]}`: `{"code":1e0,"message":"x", "data":1e400,"more":[ ]}`,
		"{\"code\":1,\n\"message\":\"x y\"}":                  `{"code":1,"message":"x y"}`,
		`{"code":`:                                            `{"code":5,"message":"five"}`,
	} {
		c := serves()
		c.Handler = &script{request: func(context.Context, *Incoming) (Appender, error) {
			return nil, &Error{Code: 5, Message: "five", Raw: []byte(raw)}
		}}
		play(t, c, serverAsks(`1`, "x"), sends(`{"jsonrpc":"2.0","id":1,"error":`+want+`}`))
	}
	for text, want := range map[string]string{`{"a": 1e400}`: `{"a": 1e400}`, "{\r\n\"a\" : 1}": `{"a":1}`} {
		if got, err := Raw([]byte(text))([]byte("+")); string(got) != "+"+want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// inOrder is a handler that sees requests in order.
type inOrder struct {
	script
	ids []string
}

func (h *inOrder) Admit(in *Incoming)   { h.ids = append(h.ids, string(in.ID())) }
func (h *inOrder) Over(*Incoming, bool) {}

func TestRequestsAreAdmittedInOrder(t *testing.T) {
	h := &inOrder{script: script{request: byMethod}}
	c := serves()
	c.Handler = h
	play(t, c, serverAsks(`1`, "wait"), serverAsks(`1`, "refused"), serverAsks(`"b"`, "ping"), serverAsks(`3`, "wait"))
	if want := []string{`1`, `"b"`, `3`}; !slices.Equal(h.ids, want) {
		t.Errorf("admitted %q, want %q", h.ids, want)
	}
}

// After the client's last word calls to it end, and its requests are still answered.
func TestInputOfAClientEnds(t *testing.T) {
	var answered chan error // of the bubble, as hold
	var hold chan struct{}
	c := serves()
	c.Handler = &script{request: func(context.Context, *Incoming) (Appender, error) {
		<-hold
		return raw(`{}`), nil
	}}
	play(t, c,
		does(func(*scene) { answered, hold = make(chan error, 1), make(chan struct{}) }),
		asks("a"), sends(`{"jsonrpc":"2.0","id":1,"method":"a"}`),
		serverAsks(`7`, "slow"),
		does(func(s *scene) {
			s.peer.InputEnded()
			go func() { answered <- s.peer.AwaitAnswered(context.Background()) }()
		}),
		fails("a", MaybeSent, ErrInputEnded), asks("b"), fails("b", NotSent, ErrClosed),
		does(func(s *scene) {
			if len(answered) > 0 {
				s.t.Error("it does not wait for the answer")
			}
			if err := s.peer.Notify(context.Background(), "n", nil); err != nil {
				s.t.Error(err)
			}
			close(hold)
		}),
		sends(`{"jsonrpc":"2.0","method":"n"}`, result(`7`)),
		does(func(s *scene) {
			if err := <-answered; err != nil {
				s.t.Error(err)
			}
			gone, cancel := context.WithCancelCause(context.Background())
			cancel(errors.New("enough"))
			if err := s.peer.AwaitAnswered(gone); err != nil {
				s.t.Error(err)
			}
		}))
}

// No refusal is dropped: the link is to read no more while many wait.
func TestRefusalsOfAClientWait(t *testing.T) {
	var room chan struct{} // of the bubble
	var waited chan error
	const n = 3 * maxUnsent
	c := serves()
	c.Handler = nil
	play(t, c,
		does(func(s *scene) {
			room, waited = make(chan struct{}), make(chan error, 1)
			s.link.full = room
			for id := range n {
				s.peer.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"x"}`, id), false)
				if id == 0 {
					if err := s.peer.AwaitRoom(context.Background()); err != nil {
						s.t.Error(err)
					}
				}
			}
			go func() { waited <- s.peer.AwaitRoom(context.Background()) }()
		}),
		does(func(s *scene) {
			if len(waited) > 0 {
				s.t.Error("there is room")
			}
			close(room)
		}),
		does(func(s *scene) {
			if err := <-waited; err != nil || len(s.link.sent) != n {
				s.t.Errorf("%d refusals, %v", len(s.link.sent), err)
			}
		}),
		counts(Counters{Requests: n, Refused: n}))
}

// FuzzClient: whatever a client sends, each answer is one JSON-RPC message, and no message has two.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":null,"method":"x","params":{}}`, `[{"id":"\u00e9"},1]`,
		`{"id":"` + "\xff" + `","method":"x"}`, `{"id":1,"id":2,`, `{"result":1}`, "{\"id\":\"a\nb\"}", `{"id":-}`, `{"id":01,"x":[`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, msg []byte, cut bool) {
		answers := make(chan string, 2*len(msg)+2)
		p := NewPeer(Config{Serving: true, Link: linkFunc(func(m *Message) { answers <- string(m.Body()) })})
		defer p.Close(nil)
		if cut {
			p.TooBig(0, msg, msg[len(msg)/2:])
		} else {
			p.Deliver(0, msg, false)
		}
		if err := p.AwaitAnswered(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(answers) > 1 {
			t.Errorf("%d answers", len(answers))
		}
		for len(answers) > 0 {
			answer := <-answers
			var e envelope
			err := e.parse([]byte(answer))
			if err != nil || e.id == nil || e.fault == nil || strings.ContainsAny(answer, "\r\n") {
				t.Errorf("answer %q: %v", answer, err)
			}
			if !bytes.Equal(e.id, nullID) && !bytes.Contains(msg, e.id) {
				t.Errorf("the id %s is not of the client", e.id)
			}
		}
	})
}

// linkFunc is a link that takes every message.
type linkFunc func(m *Message)

func (l linkFunc) Send(_ context.Context, m *Message) error {
	l(m)
	m.Free()
	return nil
}

func (linkFunc) Cancel(uint32) bool { return false }
