//go:build !wasip1

package sdktest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func TestParse(t *testing.T) {
	trace, err := Parse("x.trace", []byte(`# What a trace looks like.
#
# With a second paragraph.
--> event(MESSAGE, 21, 3, 23)
    | facts {"kind":1,"id":"3"}
    | `+"`{}`"+`
  <-- forward(257, 21, 2) = OK
  <-- write(257, 3) = CLOSED
    | "\r" "\n\n"
  <-- log(WARN, 5)
--> = 1

# A second event.
--> event(event(77), 1, 2, 0)
--> trap: out of fuel
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := "What a trace looks like.\n\nWith a second paragraph."; trace.Comment != want {
		t.Errorf("comment %q", trace.Comment)
	}
	s := trace.Steps[0]
	if s.Kind != abi.EventMessage || s.Handle != 21 || s.Arg != 3 || string(s.Payload[21:]) != "{}" || s.Pos != "x.trace:4" {
		t.Errorf("first event %+v", s)
	}
	if len(s.Calls) != 3 || s.Calls[1].Result != int32(abi.Closed) || string(s.Calls[1].Data) != "\r\n\n" || s.Calls[2].Data != nil {
		t.Errorf("calls %+v", s.Calls)
	}
	if s = trace.Steps[1]; s.Kind != 77 || s.Comment != "A second event." || s.End != "--> trap: out of fuel" {
		t.Errorf("second event %+v", s)
	}
}

// A trace does not show what is sealed, and the guest gets as many bytes as it says.
func TestSealedPayloads(t *testing.T) {
	for _, text := range []string{
		"--> event(OPENED, 1, SEALED, 3)\n--> = 0\n",
		"--> event(OPENED, 1, SEALED, 3)\n | \"abc\"\n--> = 0\n",
	} {
		trace, err := Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s := trace.Steps[0]; s.Arg != abi.Sealed || len(s.Payload) != 3 || s.entries()[0].Bytes != nil {
			t.Errorf("%q: step %+v", text, s)
		}
	}
	sealed := "--> event(OPENED, 263, SEALED, 3)\n<-- deliver(0, 0, 3, END) = DENIED\n--> = 0\n"
	if got := run(t, opening+sealed); got != "" {
		t.Error(got)
	}
}

func TestParseErrors(t *testing.T) {
	const event = "--> event(DATA, 1, 0, 1)\n | \"x\"\n"
	for _, tt := range []struct{ text, want string }{
		{"hello", "x:1: expected an event, a call, bytes or a comment"},
		{"--> event(DATA, 1, 0)\n", "four arguments"},
		{"--> event(DATUM, 1, 0, 0)\n", `unknown event "DATUM"`},
		{"--> event(DATA, x, 0, 0)\n", "invalid syntax"},
		{"--> event(DATA, 1, FIRST, 0)\n", "invalid syntax"},
		{"--> event(DATA, 1, 0, x)\n", "invalid syntax"},
		{"--> event(ERROR, 1, SAD, 0)\n", `unknown status "SAD"`},
		{"--> event(HEAD, 1, 2000000, 0)\n", "out of range"},
		{"--> event(DATA, 1, 0, 2)\n | \"x\"\n--> = 0\n", "the event has 1 bytes, its line says 2"},
		{"--> event(OPENED, 2, 0, 2)\n--> = 0\n", "the event has 0 bytes, its line says 2"},
		{"--> event(OPENED, 2, SEALED, 2000000000)\n--> = 0\n", "the event has 0 bytes"},
		{"--> event(OPENED, 2, SEALED, -2)\n--> = 0\n", "the event has 0 bytes"},
		{event + "--> = 0\n<-- close(1) = OK\n", "a call belongs to an event"},
		{event + event, "the event before has no result"},
		{event, "the last event has no result"},
		{"--> = 0\n", "a result belongs to an event"},
		{"| \"x\"\n", "bytes belong below"},
		{event + "<-- clasp(1) = OK\n", `unknown call "clasp"`},
		{event + "<-- close = OK\n", "a call has arguments"},
		{event + "<-- close(1)\n", "the call has no result"},
		{event + "<-- close(1) = FINE\n", `unknown result "FINE"`},
		{event + "<-- write(1, 2) = OK\n | \"x\"\n--> = 0\n", "the call has 1 bytes, its line says 2"},
		{event + "<-- save(2) = OK\n | \"x\"\n--> = 0\n", "the call has 1 bytes, its line says 2"},
		{event + " | x\n", "expected a quoted string or a block"},
		{event + " | facts {\"colour\":1}\n", "unknown field"},
	} {
		if _, err := Parse("x", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// What Text writes, Parse reads.
func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", "\n", "{}\r\n", "a`b\n", "\uFEFF{}", "\x00\x80", "{\"a\":\"ä\"} and so on and so on\xff", "\r\r\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, block := range []string{"", "facts", "head"} {
			var got []byte
			for line := range strings.Lines(string(appendBytes(nil, block, data))) {
				part, err := parseBytes(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "    | "))
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				got = append(got, part...)
			}
			if block == "" && !bytes.Equal(got, data) {
				t.Fatalf("got %q, want %q", got, data)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("# x\n--> event(HEAD, 1, 200+LAST, 4)\n | head {}\n <-- scan(0, \"\\n\") = -1\n--> = 0\n")
	f.Fuzz(func(_ *testing.T, text string) {
		if trace, err := Parse("x", []byte(text)); err == nil {
			for i := range trace.Steps {
				Text(trace.Steps[i].entries())
			}
		}
	})
}

// echo delivers what it hears, and forwards what it is to say.
type echo struct{ h sdk.Handle }

func (e *echo) Open(c *sdk.Conn, _ *abi.Settings) (err error) {
	e.h, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
	return err
}

func (e *echo) Message(m sdk.Message) (sdk.Outcome, error) {
	e.h.Forward(m.Payload, abi.End)
	return sdk.Later, nil
}

func (e *echo) Handle(ev sdk.Event) error {
	if ev.Deliver(0, abi.End) == abi.VerdictLate {
		ev.Conn().Log(abi.LevelInfo, "too late")
	}
	return nil
}

// failing is a test that a helper is expected to fail.
type failing struct {
	testing.TB
	text string
}

type failed struct{}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = strings.TrimSpace(strings.Join([]string{format, args[0].(string)}, " "))
	if len(args) > 1 {
		f.text += "\n" + args[1].(string)
	}
	panic(failed{})
}

// run plays a trace to an echo and returns what the test was failed with.
func run(t *testing.T, text string) (failure string) {
	t.Helper()
	trace, err := Parse("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := &failing{TB: t}
	defer func() {
		if r := recover(); r != nil && r != (failed{}) {
			panic(r)
		}
		failure = f.text
	}()
	Run(f, abi.Manifest{}, &echo{}, trace)
	return ""
}

const (
	opening = "--> event(OPEN, 0, 0, 4)\n | settings {}\n<-- take(0, 4) = 4\n<-- open(stream, 0, \"main\") = 263\n--> = 0\n"
	hearing = "--> event(DATA, 263, 0, 2)\n | `{}`\n"
)

func TestRun(t *testing.T) {
	// The script gives the handle and the verdict; the guest sees both.
	if got := run(t, opening+hearing+"<-- deliver(0, 0, 2, END) = LATE\n<-- log(INFO, 8)\n | \"too late\"\n--> = 0\n"+
		"--> event(MESSAGE, 4, 1, 6)\n | facts {}\n | `{}`\n<-- forward(263, 4, 2, END) = OK\n--> = 0\n"); got != "" {
		t.Error(got)
	}
}

func TestRunShowsTheDifference(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"argument", opening + hearing + "<-- deliver(0, 0, 1, END) = NOTE\n--> = 0\n",
			"-   <-- deliver(0, 0, 1, END) = NOTE\n+   <-- deliver(0, 0, 2, END) = NOTE\n  --> = 0"},
		{"missing", opening + hearing + "<-- deliver(0, 0, 2, END) = NOTE\n<-- close(263) = OK\n--> = 0\n",
			"-   <-- close(263) = OK\n+ --> = 0\n- --> = 0"},
		{"result", opening + hearing + "<-- deliver(0, 0, 2, END) = NOTE\n--> = -1\n",
			"- --> = -1\n+ --> = 0"},
		{"bytes", opening + hearing + "<-- deliver(0, 0, 2, END) = LATE\n<-- log(INFO, 8)\n | \"too soon\"\n--> = 0\n",
			"-     | `too soon`\n+   <-- log(INFO, 8)\n+     | `too late`"},
		{"take that cannot be", strings.Replace(opening, "take(0, 4) = 4", "take(0, 4) = 3", 1),
			"-   <-- take(0, 4) = 3\n+   <-- take(0, 4) = 4"},
		{"trap", opening + hearing + "<-- deliver(0, 0, 2, END) = NOTE\n--> trap: out of fuel\n",
			"- --> trap: out of fuel\n+ --> = 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, tt.text); !strings.Contains(got, tt.want) {
				t.Errorf("failed with\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	for message, want := range map[string]abi.Verdict{
		" \r":                                           abi.VerdictBlank,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:          abi.VerdictAnswer,
		`{"jsonrpc":"2.0","id":1,"error":{}}`:           abi.VerdictAnswer,
		`{"jsonrpc":"2.0","method":"x"}`:                abi.VerdictNote,
		`{"jsonrpc":"2.0","method":"x","id":0}`:         abi.VerdictRequest,
		`{"jsonrpc":"1.0","id":1,"result":{}}`:          abi.VerdictMalformed,
		`{"jsonrpc":"2.0","id":1}`:                      abi.VerdictMalformed,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":2}`: abi.VerdictMalformed,
		`hello`: abi.VerdictMalformed,
	} {
		if got := Classify([]byte(message)); got != want {
			t.Errorf("%s: %v, want %v", message, got, want)
		}
	}
}
