//go:build !wasip1

package framing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/framing"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// pipe is the smallest transport around a framer.
type pipe struct {
	framer framing.Framer
	handle sdk.Handle
}

func (p *pipe) Open(c *sdk.Conn, _ *abi.Settings) (err error) {
	p.handle, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
	return err
}

func (p *pipe) Message(m sdk.Message) (sdk.Outcome, error) {
	p.framer.Send(p.handle, m.Payload)
	return sdk.HandedOver, nil
}

func (p *pipe) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventData, abi.EventEnd:
		if p.framer.Data(e.Payload); e.Last() {
			p.framer.End(e.Conn())
		}
	}
	return nil
}

func newHost(name string) *sdktest.Host {
	h := sdktest.New(abi.Manifest{}, &pipe{framer: framing.Named(name)})
	h.Open(&abi.Settings{})
	return h
}

// feed sends the chunks, the end of the stream behind them, and returns what
// was delivered and logged.
func feed(tb testing.TB, name string, chunks ...string) (messages, logs []string) {
	tb.Helper()
	h := newHost(name)
	for _, c := range chunks {
		h.Data(1, 0, []byte(c))
		if h.Trap != "" {
			tb.Fatalf("trapped: %s\n%s", h.Trap, sdktest.Text(h.Entries()))
		}
	}
	h.Event(abi.EventEnd, 1, 0, nil)
	for _, d := range h.Delivered {
		messages = append(messages, d.Message)
	}
	return messages, h.Logs
}

const (
	one   = `{"jsonrpc":"2.0","id":1,"result":{}}`
	two   = `{"jsonrpc":"2.0","method":"notifications/x"}`
	three = `{"jsonrpc":"2.0","id":"3","error":{"code":1,"message":"no"}}`
	bom   = "\uFEFF"
)

// hazard is a byte stream, and what must be delivered from it however it is cut.
type hazard struct {
	name   string
	stream string
	want   []string
}

var lines = []hazard{
	{"nothing", "", nil},
	{"one", one + "\n", []string{one}},
	{"many", one + "\n" + two + "\n" + three + "\n", []string{one, two, three}},
	{"crlf", one + "\r\n" + two + "\r\n", []string{one + "\r", two + "\r"}},
	{"byte order mark", bom + one + "\n", []string{one}},
	{"byte order mark alone", bom, nil},
	{"byte order mark later", one + "\n" + bom + two + "\n", []string{one, bom + two}},
	{"two byte order marks", bom + bom + one + "\n", []string{bom + one}},
	{"half a byte order mark", bom[:2] + one + "\n", []string{bom[:2] + one}},
	{"half a byte order mark and the end", bom[:2], nil},
	{"empty lines", "\n\n" + one + "\n\n\n" + two + "\n\n", []string{one, two}},
	{"blank lines", " \n\r\n" + one + "\n", []string{" ", "\r", one}},
	{"noise between", one + "\nnpm WARN deprecated\n" + two + "\n", []string{one, "npm WARN deprecated", two}},
	{"no newline at the end", one + "\n" + two, []string{one, two}},
	{"white space at the end", one + " \r\t" + strings.Repeat(" ", 300), []string{one + " \r\t" + strings.Repeat(" ", 300)}},
	{"an array at the end", "[" + one + "]", []string{"[" + one + "]"}},
	{"lost in the middle", one + "\n" + two[:len(two)-1], []string{one}},
	{"lost in white space", one + "\n \t", []string{one}},
	{"lost after a byte order mark", bom + "{", nil},
	{"carriage return inside", "{\r\"a\":1}\n" + one + "\n", []string{"{\r\"a\":1}", one}},
	{"nul", "\x00\n" + one + "\n", []string{"\x00", one}},
	{"larger than a chunk", `"` + strings.Repeat("x", 3000) + "\"\n" + one + "\n",
		[]string{`"` + strings.Repeat("x", 3000) + `"`, one}},
}

func frame(message string) string { return header(len(message)) + message }

func header(n int) string { return "Content-Length: " + itoa(n) + "\r\n\r\n" }

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// The example of a Content-Length stream that many a document shows: the body
// has 75 bytes, not 76, and the blank line is missing.
const (
	famousBody    = `{"jsonrpc":"2.0","method":"initialize","id":0,"params":{"version":"1.0.0"}}`
	famousExample = "Content-Length: 76\n" + famousBody
)

var lengths = []hazard{
	{"nothing", "", nil},
	{"one", frame(one), []string{one}},
	{"many", frame(one) + frame(two) + frame(three), []string{one, two, three}},
	{"any case", "cOnTent-LENGTH:36\r\n\r\n" + one, []string{one}},
	{"white space around the number", "Content-Length: \t 36 \t\r\n\r\n" + one, []string{one}},
	{"lone newlines", "Content-Length: 36\n\n" + one, []string{one}},
	{"other fields", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 36\r\nX: " +
		strings.Repeat("y", 500) + "\r\n\r\n" + one, []string{one}},
	{"same length twice", "Content-Length: 36\r\nContent-Length: 36\r\n\r\n" + one, []string{one}},
	{"newline between messages", frame(one) + "\r\n" + frame(two) + "\n\n" + frame(three), []string{one, two, three}},
	{"empty body", header(0) + frame(one), []string{one}},
	{"newlines in a body", frame("{\n}") + frame(one), []string{"{\n}", one}},
	{"larger than a chunk", frame(`"`+strings.Repeat("x", 3000)+`"`) + frame(one),
		[]string{`"` + strings.Repeat("x", 3000) + `"`, one}},
	{"body cut by the end", header(100) + one, []string{one}},
	{"body cut in the middle", header(100) + one + header(36) + one[:20], nil},
	{"body cut in the second", frame(one) + header(36) + one[:20], []string{one}},
	{"header cut by the end", frame(one) + "Content-Len", []string{one}},

	{"famous example", famousExample, nil},
	{"famous example goes on", famousExample + frame(one), []string{one}},
	{"famous example on its line", famousExample + "\n" + frame(one) + frame(two), []string{one, two}},
	{"length too small", header(35) + one + frame(two) + frame(three), []string{one[:35], two, three}},
	{"length too large", header(37) + one + frame(two) + frame(three), []string{one + "C", three}},
	{"length of three", header(len(one+frame(two)+frame(three))) + one + frame(two) + frame(three) + frame(two) + frame(one), []string{one + frame(two) + frame(three), two, one}},
	{"malformed body", frame("{oops}") + frame(one), []string{"{oops}", one}},
	{"two lengths", "Content-Length: 36\r\nContent-Length: 35\r\n\r\n" + one + frame(two), []string{two}},
	{"no length", "Content-Type: text\r\n\r\n" + one + frame(two), []string{two}},
	{"no number", "Content-Length: many\r\n\r\n" + one + frame(two), []string{two}},
	{"empty number", "Content-Length:\r\n\r\n" + one + frame(two), []string{two}},
	{"negative", "Content-Length: -36\r\n\r\n" + one + frame(two), []string{two}},
	{"beyond any cap", "Content-Length: 1073741825\r\n\r\n" + one + frame(two), []string{two}},
	{"overflow", "Content-Length: 18446744073709551652\r\n\r\n" + one + frame(two), []string{two}},
	{"line without colon", "Content\r\n\r\n" + one + frame(two), []string{two}},
	{"lines instead", one + "\n" + two + "\n", nil},
	{"banner", "Listening ...\n" + frame(one), []string{one}},
	{"endless header", strings.Repeat("X: y\r\n", 2000) + frame(one), []string{one}},
	{"name begun twice", "!{ Content-Content-Length: 36\r\n\r\n" + one, []string{one}},
}

var either = []hazard{
	{"nothing", "", nil},
	{"lines", one + "\n" + two + "\n", []string{one, two}},
	{"array", "[" + one + "]\n", []string{"[" + one + "]"}},
	{"lengths", frame(one) + frame(two), []string{one, two}},
	{"lengths in lower case", "content-length: 36\r\n\r\n" + one, []string{one}},
	{"white space before", " \r\n\t" + one + "\n", []string{one}},
	{"byte order mark", bom + frame(one), []string{one}},
	{"noise before lines", "Ready.\n> go\n" + one + "\n" + two + "\n", []string{"Ready.", "> go", one, two}},
	{"noise before lengths", "Ready.\n" + frame(one), []string{"Ready.", one}},
	{"noise alone", "Ready.", nil},
}

func TestLines(t *testing.T)   { testHazards(t, "ndjson", lines) }
func TestLengths(t *testing.T) { testHazards(t, "content-length", lengths) }
func TestAuto(t *testing.T)    { testHazards(t, "auto", either) }

func testHazards(t *testing.T, name string, hazards []hazard) {
	for _, hz := range hazards {
		t.Run(hz.name, func(t *testing.T) {
			t.Parallel()
			check := func(what string, chunks ...string) {
				if got, _ := feed(t, name, chunks...); !slices.Equal(got, hz.want) {
					t.Fatalf("%s: delivered %q\nwant %q", what, got, hz.want)
				}
			}
			check("whole", hz.stream)
			check("byte by byte", bytewise(hz.stream)...)
			for i := 0; i < len(hz.stream); i += 1 + len(hz.stream)/100 {
				check("cut at "+itoa(i), hz.stream[:i], hz.stream[i:])
			}
		})
	}
}

func bytewise(s string) (chunks []string) {
	for i := range len(s) {
		chunks = append(chunks, s[i:i+1])
	}
	return chunks
}

// A server that frames badly is told about, once until it does better.
func TestLengthsSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ stream, want string }{
		{famousExample + frame(one), `expected a header field or a blank line, got '{'`},
		{header(35) + one + frame(two), "not as long as its Content-Length says"},
		{header(37) + one + frame(two) + frame(three), "not as long as its Content-Length says"},
		{"A: b\r\n\r\n" + frame(one), "has no Content-Length"},
		{"Content-Length: x\r\n\r\n" + frame(one), "no number up to 1 GiB"},
		{"Content-Length:\r\n\r\n" + frame(one), "no number up to 1 GiB"},
		{"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "two different"},
		{"Content\r\n", "no colon"},
		{strings.Repeat("X: y\r\n", 2000), "longer than 8 KiB"},
		{one + "\n" + one + "\n" + one + "\n", `framing = "ndjson"`},
	} {
		_, logs := feed(t, "content-length", tt.stream)
		if len(logs) != 1 || !strings.Contains(logs[0], tt.want) {
			t.Errorf("%.30q: logged %q, want one line with %q", tt.stream, logs, tt.want)
		}
	}
	_, logs := feed(t, "content-length", famousExample+famousExample+frame(one)+famousExample)
	if len(logs) != 2 {
		t.Errorf("logged %q, want a line before and one after the good message", logs)
	}
}

// A stream that broke has no last message; only its end completes one.
func TestOnlyTheEndCompletes(t *testing.T) {
	for name, half := range map[string]string{"ndjson": one, "content-length": header(50) + one, "auto": one} {
		h := newHost(name)
		h.Data(1, 0, []byte(half))
		h.Event(abi.EventError, 1, 0, []byte("reset"))
		if len(h.Delivered) > 0 {
			t.Errorf("%s: delivered %v without an end", name, h.Delivered)
		}
		if h.Data(1, abi.Last, nil); len(h.Delivered) != 1 {
			t.Errorf("%s: delivered %v with the end", name, h.Delivered)
		}
	}
}

func TestSend(t *testing.T) {
	for _, tt := range []struct{ framing, heard, want string }{
		{"", "", one + "\n"},
		{"ndjson", frame(two), one + "\n"},
		{"content-length", two + "\n", frame(one)},
		{"auto", "", one + "\n"},
		{"auto", "Ready.\n", one + "\n"},
		{"auto", two + "\n", one + "\n"},
		{"auto", "C", frame(one)},
	} {
		h := newHost(tt.framing)
		h.Data(1, 0, []byte(tt.heard))
		h.Message(1, &abi.Facts{Kind: abi.Reply}, one)
		if got := string(h.Written[1]); got != tt.want {
			t.Errorf("%s after %q: wrote %q, want %q", tt.framing, tt.heard, got, tt.want)
		}
	}
}

func TestNamed(t *testing.T) {
	if framing.Named("lsp") != nil {
		t.Error("there is no framing of that name")
	}
}

// quiet is a host that keeps nothing.
type quiet struct{ payload []byte }

func (q *quiet) Call(op abi.Call, a [4]uint32, data []byte) int32 {
	switch op {
	case abi.CallTake:
		return int32(copy(data, q.payload[a[0]:]))
	case abi.CallScan:
		for i, c := range q.payload[a[0]:] {
			if c == byte(a[1]) {
				return int32(a[0]) + int32(i)
			}
		}
		return -1
	}
	return 1
}

func TestNoGarbagePerMessage(t *testing.T) {
	for _, tt := range []struct{ framing, stream string }{
		{"ndjson", one + "\n" + two + "\n"},
		{"content-length", frame(one) + frame(two)},
		{"auto", frame(one) + frame(two)},
	} {
		q := &quiet{payload: []byte(tt.stream)}
		g := sdk.NewGuest(abi.Manifest{}, &pipe{framer: framing.Named(tt.framing)}, q)
		size := uint32(len(tt.stream))
		n := testing.AllocsPerRun(100, func() {
			g.Event(abi.EventData, 1, 0, size)
			g.Event(abi.EventMessage, 0, 1, size)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations per message", tt.framing, n)
		}
	}
}
