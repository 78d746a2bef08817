//go:build !wasip1

package sdktest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// Trace is a parsed call trace.
type Trace struct {
	Comment string // the prose before the first event
	Steps   []Step
}

// Step is one event, what the guest does with it, and how it ends.
type Step struct {
	Comment string // the prose before the event
	Pos     string // file and line of the event
	Kind    abi.Kind
	Handle  uint32
	Arg     uint32
	Payload []byte
	Calls   []Call
	End     string // the line of the result or of the trap
}

// Call is one host call that a guest makes.
type Call struct {
	Line   string // as abi.AppendCall and abi.AppendOpen write it
	Op     abi.Call
	Result int32
	Data   []byte // the bytes it carries; nil where the trace does not say
}

// Line returns the line of the event.
func (s *Step) Line() string {
	return string(abi.AppendEvent(nil, s.Kind, s.Handle, s.Arg, uint32(len(s.Payload))))
}

// Parse reads a trace. name is what errors call it. Everything is checked that
// a text can be wrong about: sizes against the bytes that are given, calls and
// results against the names of the ABI.
func Parse(name string, text []byte) (*Trace, error) {
	p := parser{name: name, trace: &Trace{}}
	for line := range strings.Lines(string(text)) {
		p.pos++
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("%s: %w", p.where(), err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.where(), err)
	}
	return p.trace, nil
}

// parser reads a trace line by line. At any time bytes may follow that belong
// to the last event or call; they are checked when something else comes.
type parser struct {
	name    string
	pos     int
	trace   *Trace
	comment []string
	step    *Step // not yet ended; nil between events
	size    int   // of the payload of step, as its line says
}

func (p *parser) where() string { return p.name + ":" + strconv.Itoa(p.pos) }

func (p *parser) line(s string) error {
	text := strings.TrimSpace(s)
	switch {
	case text == "":
		return nil
	case text[0] == '#':
		p.comment = append(p.comment, strings.TrimPrefix(strings.TrimPrefix(text, "#"), " "))
		return nil
	case strings.HasPrefix(text, "| "):
		return p.bytes(text[2:])
	case strings.HasPrefix(text, "--> event("):
		return p.event(text)
	case strings.HasPrefix(text, "<-- "):
		return p.call(text)
	case strings.HasPrefix(text, "--> "):
		return p.end(text)
	}
	return fmt.Errorf("expected an event, a call, bytes or a comment: %q", text)
}

func (p *parser) event(text string) error {
	if p.step != nil {
		return fmt.Errorf("the event before has no result")
	}
	s, size, err := parseEvent(text)
	if err != nil {
		return err
	}
	s.Pos, p.size = p.where(), size
	if s.Comment = p.takeComment(); len(p.trace.Steps) == 0 {
		p.trace.Comment = s.Comment
	}
	p.step = &s
	return nil
}

func (p *parser) takeComment() string {
	text := strings.Join(p.comment, "\n")
	p.comment = nil
	return text
}

func (p *parser) bytes(text string) error {
	if p.step == nil {
		return fmt.Errorf("bytes belong below an event or a call")
	}
	data, err := parseBytes(text)
	if err != nil {
		return err
	}
	if n := len(p.step.Calls); n > 0 {
		c := &p.step.Calls[n-1]
		c.Data = append(c.Data, data...)
		return nil
	}
	p.step.Payload = append(p.step.Payload, data...)
	return nil
}

// checkBytes compares the size in the last line with the bytes below it.
func (p *parser) checkBytes() error {
	n := len(p.step.Calls)
	if n == 0 {
		p.fillSealed()
		if len(p.step.Payload) != p.size {
			return fmt.Errorf("the event has %d bytes, its line says %d", len(p.step.Payload), p.size)
		}
		return nil
	}
	c := &p.step.Calls[n-1]
	if size, ok := carried(c); ok && c.Data != nil && len(c.Data) != size {
		return fmt.Errorf("the call has %d bytes, its line says %d", len(c.Data), size)
	}
	return nil
}

// maxSealed is the longest sealed payload of a trace, which does not show it.
const maxSealed = 1 << 20

// fillSealed makes up the bytes that a trace leaves out because they are sealed.
func (p *parser) fillSealed() {
	if s := p.step; isSealed(s.Kind, s.Arg) && len(s.Payload) == 0 && p.size > 0 && p.size <= maxSealed {
		s.Payload = bytes.Repeat([]byte("*"), p.size)
	}
}

func (p *parser) call(text string) error {
	if p.step == nil {
		return fmt.Errorf("a call belongs to an event")
	}
	if err := p.checkBytes(); err != nil {
		return err
	}
	c, err := parseCall(text)
	p.step.Calls = append(p.step.Calls, c)
	return err
}

func (p *parser) end(text string) error {
	if p.step == nil {
		return fmt.Errorf("a result belongs to an event")
	}
	if err := p.checkBytes(); err != nil {
		return err
	}
	p.step.End = text
	p.trace.Steps = append(p.trace.Steps, *p.step)
	p.step, p.comment = nil, nil
	return nil
}

func (p *parser) finish() error {
	if p.step != nil {
		return fmt.Errorf("the last event has no result")
	}
	return nil
}
