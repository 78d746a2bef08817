package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// wants answers that more is needed.
func wants(members string) act { return answer(`{"resultType":"input_required",` + members + `}`) }

const (
	askName  = `"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object"}}}`
	askRoots = `"w\u0068ere\"":{"method":"roots/list"}`
	askModel = `"what":{"method":"sampling/createMessage","params":{"maxTokens":1}}`
)

// helpful is a client that answers everything, and notes what it was asked.
func helpful(asked *[]string) func(*setup) {
	return func(c *setup) {
		c.Elicit = func(_ context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
			*asked = append(*asked, e.Mode+" "+e.Message)
			return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "x"}}, nil
		}
		c.Sample = func(_ context.Context, p json.RawMessage) (json.RawMessage, error) {
			*asked = append(*asked, string(p))
			return json.RawMessage(`{"role":"assistant"}`), nil
		}
		c.Roots = func(context.Context) ([]mcp.Root, error) {
			*asked = append(*asked, "roots")
			return nil, nil
		}
	}
}

// inTurns acts on each message in another way, and on the rest in the last.
func inTurns(acts ...act) act {
	var mu sync.Mutex
	return func(p *process, m message) {
		mu.Lock()
		a := acts[0]
		if len(acts) > 1 {
			acts = acts[1:]
		}
		mu.Unlock()
		a(p, m)
	}
}

// TestRounds goes three rounds: with requests and state, with state alone, and
// with requests alone. Each has what its own round asked for and nothing else.
func TestRounds(t *testing.T) {
	const state = `"a\u0041\/ \"é"`
	want := []string{
		`,"inputResponses":{"who":{"action":"accept","content":{"name":"x"}},"where\"":{"roots":[]},"what":{"role":"assistant"}},"requestState":` + state,
		`,"requestState":"2"`,
		`,"inputResponses":{"where\"":{"roots":[]}}`,
		`,"inputResponses":{}`,
	}
	ctx := context.Background()
	calls := map[string]func(s *Session) error{
		"tools/call":     func(s *Session) error { _, err := s.CallTool(ctx, "echo", map[string]any{"a": 1}); return err },
		"prompts/get":    func(s *Session) error { return s.Call(ctx, "prompts/get", map[string]any{"name": "p"}, nil) },
		"resources/read": func(s *Session) error { return s.Call(ctx, "resources/read", map[string]any{"uri": "u"}, nil) },
	}
	for method, send := range calls {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(newServer().with(method, inTurns(
				wants(`"inputRequests":{`+askName+`,`+askRoots+`,`+askModel+`},"requestState":`+state),
				wants(`"requestState":"2"`),
				wants(`"inputRequests":{`+askRoots+`}`),
				wants(`"inputRequests":{},"requestState":null`),
				answer(echoResult))))
			var asked []string
			s := d.open(helpful(&asked))
			if err := send(s); err != nil {
				t.Error(method, err)
			}
			if got := strings.Join(asked, ", "); got != `form Who?, roots, {"maxTokens":1}, roots` {
				t.Errorf("%s: asked %s", method, got)
			}
			sent := d.process(0).find(method)
			ids := make(map[string]bool)
			for i, m := range sent {
				params := strings.TrimSuffix(string(sent[0].Params), "}")
				if i > 0 {
					params += want[i-1]
				}
				if string(m.Params) != params+"}" {
					t.Errorf("%s: round %d sent\n%s, want\n%s", method, i, m.Params, params+"}")
				}
				ids[string(m.ID)] = true
			}
			if len(ids) != 5 {
				t.Errorf("%s: %d ids in %d messages", method, len(ids), len(sent))
			}
		})
	}
}

// TestRoundsStayApart has calls in parallel, only one of which is asked back.
func TestRoundsStayApart(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("tools/call", func(p *process, m message) {
			if string(member(m.Params, "name")) == `"asks"` && member(m.Params, "requestState") == nil {
				wants(`"inputRequests":{`+askRoots+`},"requestState":"s"`)(p, m)
				return
			}
			answer(echoResult)(p, m)
		}))
		s := d.open(func(c *setup) {
			c.Roots = func(context.Context) ([]mcp.Root, error) { time.Sleep(time.Second); return nil, nil }
		})
		var wg sync.WaitGroup
		wg.Go(func() { s.CallTool(t.Context(), "asks", nil) })
		for range 20 {
			wg.Go(func() { time.Sleep(time.Second / 2); call(t, s) })
		}
		wg.Wait()
		carrying := 0
		for _, m := range d.process(0).find("tools/call") {
			if strings.Contains(string(m.Params), "requestState") || strings.Contains(string(m.Params), "inputResponses") {
				carrying++
			}
		}
		if carrying != 1 {
			t.Errorf("%d calls carry what belongs to one", carrying)
		}
	})
}

func TestRoundsFail(t *testing.T) {
	many := make([]string, mcp.MaxAsked+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"%d":{"method":"roots/list"}`, i)
	}
	onFire := errors.New("disk on fire")
	tests := []struct {
		name, members string
		change        func(*setup)
		want          error
		text          string
		sent          int
	}{
		{"nothing is asked for", `"x":1`, nil, ErrInvalidResult, "nothing is asked for", 1},
		{"null is asked for", `"inputRequests":null`, nil, ErrInvalidResult, "nothing is asked for", 1},
		{"state is no string", `"requestState":{"a":1}`, nil, ErrInvalidResult, "requestState is not a string", 1},
		{"state is large", `"requestState":"` + strings.Repeat("x", mcp.MaxState) + `"`, nil, ErrInvalidResult, "longer than", 1},
		{"requests are no object", `"inputRequests":[]`, nil, ErrInvalidResult, "want an object", 1},
		{"a request is no object", `"inputRequests":{"a":5}`, nil, ErrInvalidResult, "want an object", 1},
		{"a request twice", `"inputRequests":{"a":{"method":"roots/list"},"\u0061":{"method":"roots/list"}}`, nil, ErrInvalidResult, "one twice", 1},
		{"too many requests", `"inputRequests":{` + strings.Join(many, ",") + `}`, nil, ErrInvalidResult, "more than 64", 1},
		{"no callback answers", `"inputRequests":{` + askName + `}`, func(c *setup) { c.Elicit = nil }, ErrInputRequired,
			"elicitation/create, and this client does not answer that", 1},
		{"an unknown method", `"inputRequests":{"a":{"method":"tools/call"}}`, nil, ErrInputRequired, "tools/call, and this client does not answer that", 1},
		{"ping", `"inputRequests":{"a":{"method":"ping"}}`, nil, ErrInputRequired, "ping, and this client does not answer that", 1},
		{"an unknown mode", `"inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"telepathy"}}}`, nil, ErrInputRequired, "unknown mode", 1},
		{"the callback fails", `"inputRequests":{` + askRoots + `}`, func(c *setup) {
			c.Roots = func(context.Context) ([]mcp.Root, error) { return nil, onFire }
		}, onFire, "the server asks for more input: roots/list: disk on fire", 1},
		{"the callback fails in words of the protocol", `"inputRequests":{` + askModel + `}`, func(c *setup) {
			c.Sample = func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, &rpc.Error{Code: -1, Message: "user said no"}
			}
		}, ErrInputRequired, "sampling/createMessage: user said no", 1},
		{"the callback writes no JSON", `"inputRequests":{` + askModel + `}`, func(c *setup) {
			c.Sample = func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{`), nil }
		}, ErrInputRequired, "sampling/createMessage: ", 1},
		{"for ever", `"requestState":"s"`, nil, ErrInputRequired, "after 10 rounds it is not content", maxRounds + 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(newServer().with("tools/call", wants(test.members)))
				var asked []string
				s := d.open(func(c *setup) {
					helpful(&asked)(c)
					if test.change != nil {
						test.change(c)
					}
				})
				_, err := call(t, s)
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || codeOf(err) != 0 {
					t.Errorf("%v, want %s", err, test.text)
				}
				if n := len(d.process(0).find("tools/call")); n != test.sent {
					t.Errorf("sent %d times, want %d", n, test.sent)
				}
			})
		})
	}
}

// TestRoundsOfOtherMethods holds that only some methods may ask back.
func TestRoundsOfOtherMethods(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		more := wants(`"requestState":"s"`)
		d := launcher(newServer().with("x", more).with("tools/list", more))
		s := d.open()
		_, err := s.ListTools(t.Context())
		for _, err := range []error{err, s.Call(t.Context(), "x", nil, nil)} {
			if !errors.Is(err, ErrInvalidResult) {
				t.Error(err)
			}
		}
		if got := d.process(0).received(); got != probed+" tools/list x" {
			t.Errorf("saw %s", got)
		}
	})
}

// TestRoundsOfACallersOwn refuses to add to what the caller gave already.
func TestRoundsOfACallersOwn(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("resources/read", wants(`"requestState":"new"`)))
		err := d.open().Call(t.Context(), "resources/read", map[string]any{"uri": "u", "requestState": "old"}, nil)
		if !errors.Is(err, rpc.ErrParams) || len(d.process(0).find("resources/read")) != 1 {
			t.Error(err)
		}
	})
}

// TestRoundsEnd has the caller leave, and the session close, while the person
// thinks; the callback hears of it.
func TestRoundsEnd(t *testing.T) {
	for want, end := range map[error]func(s *Session, cancel func()){
		context.Canceled: func(_ *Session, cancel func()) { cancel() },
		ErrClosed:        func(s *Session, _ func()) { s.Close() },
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(newServer().with("tools/call", wants(`"inputRequests":{`+askRoots+`}`)))
			s := d.open(func(c *setup) {
				c.Timeout = time.Second // of a request, not of a person
				c.Roots = func(ctx context.Context) ([]mcp.Root, error) { <-ctx.Done(); return nil, ctx.Err() }
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Hour, func() { end(s, cancel) })
			if _, err := s.CallTool(ctx, "echo", nil); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
}

func TestModernCapabilities(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var asked []string
		for want, change := range map[string]func(*setup){
			`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`:                                                             func(*setup) {},
			`{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}},"roots":{},"sampling":{}}`: helpful(&asked),
		} {
			d := launcher(newServer())
			d.open(change)
			meta := member(d.process(0).find(probed)[0].Params, "_meta")
			if got := member(meta, mcp.MetaClientCapabilities); string(got) != want {
				t.Errorf("offered %s, want %s", got, want)
			}
		}
	})
}
