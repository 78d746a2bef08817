package rpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// TestHostileMessages gives a peer that waits for the answer to request 1, and
// for no other, every kind of message that a server should not send. Where ends
// is set, the call ends for that reason; else the message harms nothing, and
// the good answer behind it is taken.
func TestHostileMessages(t *testing.T) {
	long := strings.Repeat("9", 2_000_000)
	tests := []struct {
		name    string
		msg     string
		verdict abi.Verdict
		ends    error
	}{
		{"blank", " \t\r\n", abi.VerdictBlank, nil},
		{"empty", "", abi.VerdictBlank, nil},
		{"banner", "Server listening on stdio", abi.VerdictMalformed, nil},
		{"a NUL and no more", "\x00", abi.VerdictMalformed, nil},
		{"scalar", "17", abi.VerdictMalformed, nil},
		{"first line of pretty-printed JSON", "{", abi.VerdictMalformed, nil},
		{"half a message", `{"jsonrpc":"2.0","id":1`, abi.VerdictMalformed, nil},
		{"two messages", `{"jsonrpc":"2.0","id":1,"result":1}{}`, abi.VerdictMalformed, ErrMalformed},
		{"broken behind the id", `{"jsonrpc":"2.0","id":1,"result":{]}`, abi.VerdictMalformed, ErrMalformed},
		{"broken before the id", `{"jsonrpc":"2.0","result":[1,],"id":1}`, abi.VerdictMalformed, ErrMalformed},
		{"broken, of another", `{"jsonrpc":"2.0","id":2,"result":{]}`, abi.VerdictMalformed, nil},

		{"id as a string", `{"jsonrpc":"2.0","id":"1","result":1}`, abi.VerdictWrongID, ErrChangedID},
		{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"result":1}`, abi.VerdictWrongID, ErrChangedID},
		{"id 1e0", `{"jsonrpc":"2.0","id":1e0,"result":1}`, abi.VerdictWrongID, ErrChangedID},
		{"id 2, of no call, as a string", `{"jsonrpc":"2.0","id":"2","result":1}`, abi.VerdictLate, nil},
		{"id 1.7", `{"jsonrpc":"2.0","id":1.7,"result":1}`, abi.VerdictLate, nil},
		{"id -1", `{"jsonrpc":"2.0","id":-1,"result":1}`, abi.VerdictLate, nil},
		{"id 0", `{"jsonrpc":"2.0","id":0,"result":1}`, abi.VerdictLate, nil},
		{"id 2^32+1", `{"jsonrpc":"2.0","id":4294967297,"result":1}`, abi.VerdictLate, nil},
		{"id 2^64+1", `{"jsonrpc":"2.0","id":18446744073709551617,"result":1}`, abi.VerdictLate, nil},
		{"id 2^32+1, broken", `{"jsonrpc":"2.0","id":4294967297,"result":{]}`, abi.VerdictMalformed, nil},
		{"id that looks like a number", `{"jsonrpc":"2.0","id":"0x1","result":1}`, abi.VerdictLate, nil},
		{"id null", `{"jsonrpc":"2.0","id":null,"result":1}`, abi.VerdictMalformed, nil},
		{"id null, error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`, abi.VerdictLate, nil},
		{"no id, error", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}`, abi.VerdictLate, nil},
		{"id true", `{"jsonrpc":"2.0","id":true,"result":1}`, abi.VerdictMalformed, nil},
		{"id of 2 MB", `{"jsonrpc":"2.0","id":` + long + `,"result":1}`, abi.VerdictMalformed, nil},

		{"result and error", `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}`, abi.VerdictMalformed, ErrMalformed},
		{"neither", `{"jsonrpc":"2.0","id":1}`, abi.VerdictMalformed, ErrMalformed},
		{"result and method", `{"jsonrpc":"2.0","id":1,"result":1,"method":"x"}`, abi.VerdictMalformed, ErrMalformed},
		{"no jsonrpc", `{"id":1,"result":1}`, abi.VerdictMalformed, ErrMalformed},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"result":1}`, abi.VerdictMalformed, ErrMalformed},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":1,"result":1}`, abi.VerdictMalformed, ErrMalformed},
		{"keys in another case", `{"JSONRPC":"2.0","ID":1,"Result":1}`, abi.VerdictMalformed, nil},
		{"result in another case", `{"jsonrpc":"2.0","id":1,"Result":1}`, abi.VerdictMalformed, ErrMalformed},
		{"result twice", `{"jsonrpc":"2.0","id":1,"result":1,"result":2}`, abi.VerdictMalformed, ErrMalformed},
		{"id twice", `{"jsonrpc":"2.0","id":1,"result":1,"id":2}`, abi.VerdictMalformed, ErrMalformed},
		{"id twice, once escaped", `{"jsonrpc":"2.0","id":1,"result":1,"\u0069d":1}`, abi.VerdictMalformed, ErrMalformed},
		{"jsonrpc twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":1}`, abi.VerdictMalformed, ErrMalformed},
		{"an extra member twice", `{"jsonrpc":"2.0","x":1,"id":1,"result":1,"x":1}`, abi.VerdictMalformed, ErrMalformed},
		{"100 extra members", `{"jsonrpc":"2.0","id":1,"result":1` + extras(100) + `}`, abi.VerdictMalformed, ErrMalformed},

		{"error not an object", `{"jsonrpc":"2.0","id":1,"error":"no"}`, abi.VerdictAnswer, ErrMalformed},
		{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`, abi.VerdictAnswer, ErrMalformed},
		{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, abi.VerdictAnswer, ErrMalformed},
		{"error with a code in words", `{"jsonrpc":"2.0","id":1,"error":{"code":"no","message":"no"}}`, abi.VerdictAnswer, ErrMalformed},
		{"error with half a code", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"no"}}`, abi.VerdictAnswer, ErrMalformed},

		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}", abi.VerdictMalformed, ErrMalformed},
		{"lone surrogate in a name", `{"jsonrpc":"2.0","id":1,"result":{"\ud800":1}}`, abi.VerdictMalformed, ErrMalformed},
		{"NUL in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\x00b\"}", abi.VerdictMalformed, ErrMalformed},
		{"a million deep", `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 1_000_000), abi.VerdictMalformed, ErrMalformed},
		{"a million deep before the id", `{"jsonrpc":"2.0","result":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `,"id":1}`, abi.VerdictMalformed, ErrMalformed},

		{"id 1.0 of 32 digits", `{"jsonrpc":"2.0","id":1.` + strings.Repeat("0", 30) + `,"result":1}`, abi.VerdictWrongID, ErrChangedID},
		{"id 1.0 of 33 digits", `{"jsonrpc":"2.0","id":1.` + strings.Repeat("0", 31) + `,"result":1}`, abi.VerdictLate, nil},
		{"id of 1024 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1022) + `","result":1}`, abi.VerdictLate, nil},
		{"id of 1025 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1023) + `","result":1}`, abi.VerdictMalformed, nil},
		{"method of 1024 bytes", `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 1022) + `"}`, abi.VerdictNote, nil},
		{"method of 1025 bytes", `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 1023) + `"}`, abi.VerdictMalformed, nil},
		{"16 extra members", `{"jsonrpc":"2.0","method":"x"` + extras(16) + `}`, abi.VerdictNote, nil},
		{"17 extra members", `{"jsonrpc":"2.0","method":"x"` + extras(17) + `}`, abi.VerdictMalformed, nil},
		{"a request taken back without params", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, abi.VerdictNote, nil},
		{"a request taken back in an array", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":["requestId"]}`, abi.VerdictNote, nil},

		{"array of the answer", `[{"jsonrpc":"2.0","id":1,"result":1}]`, abi.VerdictMalformed, ErrBatch},
		{"array of others", `[{"jsonrpc":"2.0","id":2,"result":1},17]`, abi.VerdictMalformed, nil},
		{"broken array", `[{"jsonrpc":"2.0","id":1,"result":1}`, abi.VerdictMalformed, ErrBatch},

		{"request with our id, broken", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{]}`, abi.VerdictMalformed, nil},
		{"request with the id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, abi.VerdictMalformed, nil},
		{"method not a string", `{"jsonrpc":"2.0","method":1}`, abi.VerdictMalformed, nil},
		{"method of 2 KB", `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 2000) + `"}`, abi.VerdictMalformed, nil},
		{"params a scalar", `{"jsonrpc":"2.0","method":"x","params":1}`, abi.VerdictMalformed, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			steps := []step{asks("ping"), sends(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), delivers(0, test.msg, test.verdict)}
			if test.ends != nil {
				steps = append(steps, fails("ping", Answered, test.ends))
			} else {
				steps = append(steps, waits("ping"), answers(1, `"good"`), gets("ping", `"good"`))
			}
			play(t, Config{Timeout: time.Second}, append(steps, sends(), leaves())...)
		})
	}
}

func extras(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"x%d":1`, i)
	}
	return b.String()
}

// TestNumbersInsideArePassedOn: only the envelope bounds numbers; what a caller
// asked for it gets as it is.
func TestNumbersInsideArePassedOn(t *testing.T) {
	long := strings.Repeat("9", 100_000)
	play(t, Config{}, asks("ping"), answers(1, `{"x":`+long+`}`), gets("ping", `{"x":`+long+`}`))
}

func TestPrivateExchanges(t *testing.T) {
	two := []step{asks("a"), asks("b")}
	tests := []struct {
		name  string
		steps []step
	}{
		{"an answer", []step{
			delivers(2, `{"jsonrpc":"2.0","id":2,"result":"b"}`, abi.VerdictAnswer), gets("b", `"b"`), waits("a"),
			delivers(2, `{"jsonrpc":"2.0","id":2,"result":"b"}`, abi.VerdictLate), counts(Counters{Answers: 1, Duplicate: 1}),
		}},
		{"the id of another", []step{
			delivers(2, `{"jsonrpc":"2.0","id":1,"result":"b"}`, abi.VerdictWrongID),
			fails("b", Answered, ErrWrongID), waits("a"), counts(Counters{WrongID: 1}), drops("got 1 for 2"),
		}},
		{"the id of another, after the end", []step{
			does(func(s *scene) { s.peer.Done(2) }), fails("b", MaybeSent, ErrNoResponse),
			delivers(2, `{"jsonrpc":"2.0","id":1,"result":"b"}`, abi.VerdictLate), waits("a"),
		}},
		{"the id as a string", []step{
			delivers(2, `{"jsonrpc":"2.0","id":"2","result":"b"}`, abi.VerdictWrongID), fails("b", Answered, ErrChangedID),
		}},
		{"an error without an id", []step{
			delivers(2, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}`, abi.VerdictAnswer),
			refused("b", Error{Code: -32600, Message: "bad"}),
			delivers(1, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad"}}`, abi.VerdictAnswer),
			refused("a", Error{Code: -32600, Message: "bad"}),
		}},
		{"broken, then good", []step{
			delivers(2, `{"jsonrpc":"2.0",`, abi.VerdictMalformed), waits("b"),
			delivers(2, `{"jsonrpc":"2.0","id":1,"result":{]}`, abi.VerdictMalformed), waits("a"), waits("b"),
			delivers(2, `{"jsonrpc":"2.0","id":2,"result":"b"}`, abi.VerdictAnswer), gets("b", `"b"`),
		}},
		{"too big", []step{
			does(func(s *scene) { s.peer.TooBig(2, []byte(`{"jsonrpc":"2.0","result":{"content":[{"text":"aaa`), nil) }),
			fails("b", Answered, ErrTooBig), waits("a"),
			does(func(s *scene) {
				s.peer.TooBig(1, []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"da`), nil)
			}),
			waits("a"), counts(Counters{TooBig: 2}),
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { play(t, Config{}, append(two, test.steps...)...) })
	}
}

func TestTooBigOnTheSharedChannel(t *testing.T) {
	head := func(text string) step { return does(func(s *scene) { s.peer.TooBig(0, []byte(text), nil) }) }
	play(t, Config{}, asks("a"), asks("b"),
		head(`{"jsonrpc":"2.0","result":{"id":1,"content":[{"text":"aaa`), waits("a"),
		head(`{"jsonrpc":"2.0","id":1`), waits("a"), // may be the beginning of 12
		head(`{"jsonrpc":"2.0","id":"1","result":{`), waits("a"),
		head(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{`), waits("a"),
		head(`{"jsonrpc":"2.0","id":9,"result":{`), waits("a"), head(``), head(`[[[`),
		head(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"aaa`), fails("a", Answered, ErrTooBig),
		waits("b"), leaves(), counts(Counters{TooBig: 8}))
}

func TestTooBigWithItsIDLast(t *testing.T) {
	tail := func(text string) step {
		return does(func(s *scene) { s.peer.TooBig(0, []byte(`{"result":{"content":[{"text":"aaa`), []byte(text)) })
	}
	play(t, Config{}, asks("a"), asks("b"),
		tail(`aaa"}]},"jsonrpc":"2.0","id":9}`), waits("a"),
		tail(`aaa","id":1}}`), waits("a"), // of an object within
		tail(`aaa\"id\":1}"}`), waits("a"),
		does(func(s *scene) { s.peer.TooBig(0, []byte(`{"method":"x","params":{"a":"`), []byte(`","id":1}`)) }), waits("a"),
		tail(`aaa"}]},"jsonrpc":"2.0","id":1}`), fails("a", Answered, ErrTooBig),
		waits("b"), leaves(), counts(Counters{TooBig: 5}))
}

func TestArrays(t *testing.T) {
	allowed := agrees(Terms{AllowBatch: true})
	tests := []struct {
		name  string
		steps []step
	}{
		{"element by element", []step{
			delivers(0, ` [{"jsonrpc":"2.0","id":2,"result":"b"} , {"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":1,"result":"a"}] `, abi.VerdictAnswer),
			gets("a", `"a"`), gets("b", `"b"`),
			counts(Counters{Answers: 2, Notifications: 1}),
		}},
		{"a bad one among good ones", []step{
			delivers(0, `[17,{"jsonrpc":"2.0","id":1,"result":"a"},{"id":2},[]]`, abi.VerdictAnswer),
			gets("a", `"a"`), fails("b", Answered, ErrMalformed), counts(Counters{Answers: 1, Malformed: 3}),
		}},
		{"cut in the middle", []step{
			delivers(0, `[{"jsonrpc":"2.0","id":1,"result":"a"},{"jsonrpc":"2.0","id":2,"result":]`, abi.VerdictAnswer),
			gets("a", `"a"`), fails("b", Answered, ErrMalformed),
		}},
		{"empty", []step{delivers(0, `[]`, abi.VerdictMalformed), waits("a"), counts(Counters{Malformed: 1})}},
		{"of notes", []step{delivers(0, `[{"jsonrpc":"2.0","method":"x"}]`, abi.VerdictNote)}},
		{"of faults", []step{delivers(0, `[1,2]`, abi.VerdictMalformed)}},
		{"an answer before a note", []step{
			delivers(0, `[{"jsonrpc":"2.0","id":1,"result":"a"},{"jsonrpc":"2.0","method":"x"}]`, abi.VerdictAnswer),
		}},
		{"a note before a fault", []step{delivers(0, `[{"jsonrpc":"2.0","method":"x"},1]`, abi.VerdictNote)}},
		{"a fault before a note", []step{delivers(0, `[1,{"jsonrpc":"2.0","method":"x"}]`, abi.VerdictNote)}},
		{"a late answer", []step{delivers(0, `[{"jsonrpc":"2.0","id":3,"result":1}]`, abi.VerdictLate)}},
		{"a late answer, cut", []step{delivers(0, `[{"jsonrpc":"2.0","id":3,"result":1}`, abi.VerdictMalformed)}},
		{"not where they do not exist", []step{
			agrees(Terms{}), delivers(0, `[{"jsonrpc":"2.0","id":1,"result":"a"}]`, abi.VerdictMalformed),
			fails("a", Answered, ErrBatch), waits("b"), counts(Counters{Malformed: 1, Arrays: 1}),
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, Config{}, append([]step{allowed, asks("a"), asks("b")}, test.steps...)...)
		})
	}
}

func TestDepth(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const most = strictjson.DefaultDepth - 1 // of a result, which its message holds
	play(t, Config{}, asks("a"), asks("b"),
		answers(1, deep(most)), gets("a", deep(most)),
		delivers(0, `{"jsonrpc":"2.0","id":2,"result":`+deep(most+1)+`}`, abi.VerdictMalformed), fails("b", Answered, ErrMalformed))
	play(t, Config{}, agrees(Terms{AllowBatch: true}), asks("a"), asks("b"),
		delivers(0, `[{"jsonrpc":"2.0","id":1,"result":`+deep(most)+`}]`, abi.VerdictAnswer), gets("a", deep(most)),
		delivers(0, `[{"jsonrpc":"2.0","id":2,"result":`+deep(most+1)+`}]`, abi.VerdictMalformed), fails("b", Answered, ErrMalformed))
}

// TestStreak: a hundred malformed messages in a row, and not one less, mean
// that the other side speaks something else.
func TestStreak(t *testing.T) {
	var broken []error
	bad := does(func(s *scene) { s.peer.Deliver(0, []byte("banner"), false) })
	good := delivers(0, `{"jsonrpc":"2.0","method":"x"}`, abi.VerdictNote)
	blank := delivers(0, "", abi.VerdictBlank)
	var steps []step
	for range 99 {
		steps = append(steps, bad)
	}
	steps = append(steps, good)
	for range 99 {
		steps = append(steps, bad, blank)
	}
	steps = append(steps, does(func(s *scene) {
		if len(broken) != 0 {
			s.t.Error("gave up too early")
		}
	}), bad, bad, bad, good)
	for range 2 * maxStreak {
		steps = append(steps, bad)
	}
	steps = append(steps, does(func(s *scene) {
		if len(broken) != 1 || !errors.Is(broken[0], ErrMalformed) {
			s.t.Errorf("got %v", broken)
		}
	}))
	play(t, Config{Broken: func(err error) { broken = append(broken, err) }}, steps...)
}

// TestStreakOfRequests: where every request has a stream of its own, a malformed
// answer is the failure of that request, however many there are.
func TestStreakOfRequests(t *testing.T) {
	var broken []error
	bad := does(func(s *scene) { s.peer.Deliver(77, []byte(`{"error":"busy"}`), false) })
	steps := slices.Repeat([]step{bad}, 3*maxStreak)
	play(t, Config{Broken: func(err error) { broken = append(broken, err) }}, steps...)
	if len(broken) != 0 {
		t.Errorf("gave up: %v", broken)
	}
}

func TestOwnedResult(t *testing.T) {
	whole := func(result string) []byte { return []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`) }
	large, small := whole(`"`+strings.Repeat("x", 1000)+`"`), whole(`1`)
	for _, msg := range [][]byte{large, small} {
		var e envelope
		err := e.parse(msg)
		if err != nil {
			t.Fatal(err)
		}
		got := ownPart(e.result, msg, true)
		if aliased := &got[0] == &e.result[0]; aliased != (len(msg) > 1000) {
			t.Errorf("of %d bytes, the result was handed over: %v", len(msg), aliased)
		}
		if got := ownPart(e.result, msg, false); &got[0] == &e.result[0] {
			t.Error("a result was handed over that is not the peer's")
		}
	}
}

// A result stays in its message as long as that is not more than twice as long.
func TestOwnedResultOfHalfAMessage(t *testing.T) {
	result := []byte("12345678")
	for size, want := range map[int]bool{16: true, 17: false} {
		if got := ownPart(result, make([]byte, 8, size), true); (&got[0] == &result[0]) != want {
			t.Errorf("of a message of %d bytes, the result was handed over: %v", size, !want)
		}
	}
}

// TestSpellingsOfAnID has ids at the bounds of what is read as a number.
func TestSpellingsOfAnID(t *testing.T) {
	for _, test := range []struct {
		raw          string
		exact, loose uint64 // 0: it is none
	}{
		{"", 0, 0},
		{"0", 0, 0},
		{"01", 0, 1},
		{"1", 1, 1},
		{`"1"`, 0, 1},
		{"-1", 0, 0},
		{"0.5", 0, 0},
		{"null", 0, 0},
		{"1e400", 0, 0},
		{"-1e400", 0, 0},
		{"9007199254740991", 1<<53 - 1, 1<<53 - 1},
		{"9007199254740992.0", 0, 0},
		{"9223372036854775809", 1<<63 + 1, 0},
		{"9223372036854775810", 0, 0},
		{"92233720368547758090", 0, 0},
	} {
		if id, ok := exactID([]byte(test.raw)); id != test.exact && ok || ok != (test.exact != 0) {
			t.Errorf("%q is the id %d, %v", test.raw, id, ok)
		}
		if id, ok := looseID([]byte(test.raw)); id != test.loose && ok || ok != (test.loose != 0) {
			t.Errorf("%q means the id %d, %v", test.raw, id, ok)
		}
	}
	play(t, Config{}, asks("a"),
		delivers(0, `{"jsonrpc":"2.0","id":"1","result":1}`, abi.VerdictWrongID), counts(Counters{WrongID: 1}))
}

// FuzzDeliver throws arrays of bytes at a peer with calls pending. Whatever
// they are, the peer survives, and it says the same as a plain reading would.
func FuzzDeliver(f *testing.F) {
	for _, seed := range []string{
		"", "x", `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"x","params":[1]}`, `{"jsonrpc":"2.0","id":"s","method":"ping"}`,
		`[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"x"}]`, `{"id":1,"id":2}`, `{"jsonrpc":"2.0","id":1.0,"result":1}`,
	} {
		f.Add([]byte(seed), uint8(0), true)
	}
	f.Fuzz(func(t *testing.T, msg []byte, exchange uint8, batch bool) {
		p := NewPeer(Config{Link: &echo{}})
		defer p.Close(nil)
		p.Agree(Terms{AllowBatch: batch})
		for range 3 {
			if err := p.flight.open(p.newCall(t.Context(), &Call{})); err != nil {
				t.Fatal(err)
			}
		}
		verdict := p.Deliver(uint32(exchange), msg, false)
		p.TooBig(uint32(exchange), msg, msg)
		blank := strictjson.Start(msg) == len(msg)
		if blank != (verdict == abi.VerdictBlank) {
			t.Fatalf("got %v", verdict)
		}
		if !blank && strictjson.Valid(msg, 0) != nil && verdict != abi.VerdictMalformed && msg[strictjson.Start(msg)] != '[' {
			t.Fatalf("took what is not JSON for %v", verdict)
		}
	})
}

// TestMalformedSaysWhy holds that a message that is refused is told of with the reason.
func TestMalformedSaysWhy(t *testing.T) {
	for msg, why := range map[string]string{
		`Server ready`:                           "not a JSON object",
		`{"id":1,"result":1}`:                    `no "jsonrpc"`,
		`{"jsonrpc":"2.0","id":1}`:               "neither method nor result nor error",
		`{"jsonrpc":"2.0","id":true,"result":1}`: "neither a string nor a number",
		`{"jsonrpc":"2.0","method":1}`:           "method is not a string",
		`{"jsonrpc":"1.0","id":1,"result":1}`:    `want "2.0"`,
	} {
		play(t, Config{}, delivers(0, msg, abi.VerdictMalformed), drops(why))
	}
}
