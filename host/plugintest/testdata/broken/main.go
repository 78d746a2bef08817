// Command broken is a guest with one mistake, which its setting "fault" names.
// Without one it is a transport of lines over a byte stream that passes the kit;
// with fault = "web" and those that begin with "web-" it posts its messages.
package main

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/framing"
)

func init() { sdk.Register(manifest, &broken{}) }

func main() {}

var manifest = abi.Manifest{
	Name: "broken-guest", Version: "0",
	Settings:    []abi.Pair{{Key: "fault", Value: "the mistake"}, {Key: "secret", Value: "of a sign-in"}, {Key: "end", Value: "of a line, which is its feed"}},
	Grants:      []abi.Grant{{Kind: abi.OpenStream, Name: "main"}, {Kind: abi.OpenHTTP, Name: "main"}},
	Unsolicited: true,
}

type broken struct {
	conn    *sdk.Conn
	fault   string
	secret  string
	end     []byte // of a line
	stream  sdk.Handle
	line    []byte
	lines   framing.Lines
	posts   map[uint32]post
	kept    [][]byte
	waiting int
	number  int
	brought int // messages
	taken   int
	next    byte // of answers in order
	jammed  bool
	untaken bool       // a message is on its way
	welcome bool       // the server has answered our hello
	push    sdk.Handle // of a queue
	pushed  []uint32   // and not taken yet; 0 is a request
}

type post struct {
	exchange uint32
	waits    bool
	status   int
}

func (b *broken) is(fault string) bool { return b.fault == fault }

func (b *broken) web() bool { return strings.HasPrefix(b.fault, "web") }

func (b *broken) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	b.conn, b.fault, b.posts, b.next = c, s.Value("fault"), map[uint32]post{}, '1'
	b.secret, b.end = s.Value("secret"), []byte("\n")
	if end := s.Value("end"); end != "" {
		b.end = []byte(end)
	}
	if b.web() {
		c.Up()
		return nil
	}
	flags := abi.Essential
	if b.is("not-essential") || b.is("up-anyway") || b.queue() {
		flags = 0
	}
	r := abi.OpenRequest{Grant: "main", Flags: flags}
	if b.is("names-a-target") {
		r.Target = "tcp:other.example:80"
	}
	if b.stream, err = c.Open(abi.OpenStream, 0, &r); b.is("up-anyway") {
		c.Up()
		return nil
	}
	if b.queue() {
		b.push, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	}
	if b.is("opens-http") {
		c.Open(abi.OpenHTTP, 0, &abi.OpenRequest{Grant: "main", Method: "GET"})
	}
	if b.is("impatient") {
		c.Timer(1, 60_000)
	}
	return err
}

func (b *broken) Message(m sdk.Message) (sdk.Outcome, error) {
	f, err := m.Facts()
	if err != nil {
		return 0, err
	}
	method, request := string(f.Method()), f.Kind() == abi.Request
	b.hostile()
	if b.web() {
		return b.post(m, request)
	}
	if b.waiting++; b.is("at-most-100") && b.waiting > 100 {
		return m.Fail(abi.LimitReached, "too many calls")
	}
	if b.is("note-later") && f.Kind() == abi.Notification {
		b.write(m)
		return sdk.Later, nil
	}
	if b.is("knows-methods") && strings.HasPrefix(method, "com.example/") {
		return m.Fail(abi.Malformed, "unknown method")
	}
	if b.taken++; b.is("trap3") && b.taken == 3 {
		panic("the third message")
	}
	if b.is("done-early") {
		b.write(m)
		b.conn.Done(m.Exchange)
		return sdk.Later, nil
	}
	if b.jammed = b.jammed || b.is("overwrites") && m.Payload.Len() > 64<<10; b.jammed && m.Payload.Len() < 64<<10 {
		return sdk.HandedOver, nil
	}
	if b.queue() {
		return b.pushes(m, request), nil
	}
	if !b.fits(m) {
		return m.Fail(abi.TooLarge, "a frame has no room for it")
	}
	if b.is("framed-window") {
		if b.untaken {
			return m.Fail(abi.LimitReached, "one at a time")
		}
		b.untaken = true
	}
	b.write(m)
	return sdk.HandedOver, nil
}

func (b *broken) write(m sdk.Message) {
	p := m.Payload
	if b.ownFraming() {
		b.frame(m)
		return
	}
	switch b.fault {
	case "mangle-out":
		b.stream.Write(bytes.ToUpper(bytes.Clone(p.Bytes())), abi.More)
	case "truncates":
		b.stream.Forward(p.Slice(0, p.Len()-1), abi.More)
	case "ascii-only":
		b.stream.Write(ascii(p.Bytes()), abi.More)
	case "small-buffer":
		b.stream.Forward(p.Slice(0, min(p.Len(), 64<<10)), abi.More)
	case "slow-bytes":
		for range p.Len() / 4 {
			spend(4)
		}
		b.stream.Forward(p, abi.More)
	case "copies":
		b.kept = append(b.kept, bytes.Clone(p.Bytes()))
		b.stream.Forward(p, abi.More)
	default:
		b.costs()
		b.stream.Forward(p, abi.More)
	}
	b.stream.Write(b.end, abi.More)
}

// costs uses too much of what the fault is about: time, host calls or memory.
func (b *broken) costs() {
	switch b.fault {
	case "spins":
		spend(280_000)
	case "chatty":
		for range 100 {
			b.conn.Log(abi.LevelDebug, "well")
		}
	case "leaks":
		b.kept = append(b.kept, make([]byte, 512))
	case "leaks-early": // and takes no more when there is no more
		if len(b.kept) < 144 {
			b.kept = append(b.kept, make([]byte, 64<<10))
		}
	case "leaks-much":
		b.kept = append(b.kept, make([]byte, 64<<10))
	case "random":
		b.conn.Log(abi.LevelInfo, rand.Text())
	}
}

//go:noinline
func spend(n int) (sum int) {
	for i := range n {
		sum ^= i * sum
	}
	return sum
}

func ascii(p []byte) (out []byte) {
	for _, c := range p {
		if c < 0x80 {
			out = append(out, c)
		}
	}
	return out
}

func (b *broken) Handle(e sdk.Event) error {
	if b.web() {
		return b.webHandle(e)
	}
	switch e.Kind {
	case abi.EventOpened:
		switch {
		case b.framed():
			b.says(e)
		case b.challenged():
		case !b.greeted() && !b.is("no-up") && (!b.queue() || e.Handle == b.push):
			e.Conn().Up()
		}
	case abi.EventData, abi.EventEnd:
		if b.queue() && e.Handle == b.push {
			b.pushesTaken(e.Payload.Bytes())
			return nil
		}
		if b.challenged() && !b.welcome {
			return b.signIn(e)
		}
		err := b.data(e.Payload)
		if (e.Last() || e.Kind == abi.EventEnd) && b.is("forges") {
			b.deliver([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		}
		return err
	case abi.EventError:
		if b.is("forges") {
			b.deliver([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		}
	case abi.EventCancel:
		if b.is("cancel-ends") {
			return sdk.Fail(abi.Internal, "cancelled")
		}
		if b.is("leak-cancel") {
			b.kept = append(b.kept, make([]byte, 64<<10))
		}
	case abi.EventTimer:
		if b.is("timer-storm") {
			e.Conn().Timer(1, 10)
			return nil
		}
		return sdk.Fail(abi.TimedOut, "nothing came for a minute")
	case abi.EventClose:
		if !b.is("never-ended") {
			b.stream.Close()
			e.Conn().Ended()
		}
	}
	return nil
}

// plain are the faults that do not change how bytes of the server are read. With all others
// those bytes are looked at line by line.
var plain = []string{"", "spins", "chatty", "leaks", "leaks-much", "leaks-early", "slow-bytes", "copies", "random"}

func (b *broken) data(p sdk.Payload) error {
	if slices.Contains(plain, b.fault) && b.end[0] == '\n' {
		b.lines.Data(p)
		return nil
	}
	if b.ownFraming() {
		return b.unframe(p.Bytes())
	}
	return b.look(p.Bytes())
}

func (b *broken) look(p []byte) error {
	if b.is("panics") && bytes.Contains(p, []byte{0}) {
		panic("a zero in a text")
	}
	if b.is("whole-chunks") {
		return b.deliver(bytes.TrimSuffix(p, []byte("\n")))
	}
	for {
		line, rest, found := bytes.Cut(p, b.end)
		if b.line = append(b.line, line...); !found {
			return nil
		}
		if err := b.deliver(b.line); err != nil {
			return err
		}
		b.line, p = b.line[:0], rest
		if b.is("first-only") {
			return nil
		}
	}
}

// deliver passes a line on, unless this is what it gets wrong.
func (b *broken) deliver(line []byte) error {
	has := func(text string) bool { return bytes.Contains(line, []byte(text)) }
	b.waiting--
	switch {
	case b.is("mangle-in"):
		line = bytes.ToUpper(line)
	case b.is("recodes"):
		line = bytes.ReplaceAll(line, []byte(`\/`), []byte(`/`))
	case b.is("drops-notes") && has(`"method"`) && !has(`"id"`),
		b.is("drops-requests") && has(`"method"`) && has(`"id"`),
		b.is("small-buffer-in") && len(line) > 64<<10:
		return nil
	case b.is("in-order") && has(`"result"`):
		if !has(`"id":` + string(b.next)) {
			return nil
		}
		b.next++
	case b.is("pongs") && string(line) == "PING":
		b.stream.Write([]byte("PONG\n"), abi.More)
		return nil
	case b.is("wrong-exchange"):
		b.conn.Deliver(7, line, abi.End)
		return nil
	case b.is("error-fails") && has(`"error"`):
		return sdk.Fail(abi.ProtocolFailed, "the server said no")
	}
	verdict := b.conn.Deliver(0, line, abi.End)
	if b.brought++; b.is("twice") || b.is("stale") && b.brought%50 == 0 {
		b.conn.Deliver(0, line, abi.End)
	}
	switch {
	case b.is("late-fatal") && verdict == abi.VerdictLate,
		b.is("malformed-fatal") && verdict == abi.VerdictMalformed,
		b.is("big-fatal") && verdict == abi.VerdictTooBig:
		return sdk.Fail(abi.ProtocolFailed, "the server says what I do not like: "+verdict.String())
	}
	return nil
}

// hostile does what no budget allows.
func (b *broken) hostile() {
	switch b.fault {
	case "spin", "web-spin":
		for {
			spend(1 << 20)
		}
	case "recurse":
		recurse(0)
	case "memory":
		for {
			b.kept = append(b.kept, make([]byte, 1<<20))
		}
	case "log-flood":
		for {
			b.conn.Log(abi.LevelError, "flood")
		}
	case "opens":
		for {
			b.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
		}
	case "timer-storm":
		b.conn.Timer(1, 10)
	case "nearly-spins": // always just inside the budget of one event
		spend(280_000)
	}
}

func recurse(n int) int {
	if n < 0 {
		return 0
	}
	return recurse(n+1) + n
}
