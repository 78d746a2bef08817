package replay

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// maxLine is the longest line that is read, in bytes: more than a [Recorder] writes.
const maxLine = 64 << 20

// maxListed is how many elements the arrays of a line may have. An event has fewer host
// calls, because its fuel ends before.
const maxListed = 200_000

// FileError says what is wrong with a recording, and in which line.
type FileError struct {
	Line int // from 1; 0 for the whole file
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

var (
	errForeign = errors.New("it is not a line of a recording")
	errEmpty   = errors.New("it is empty; expected a file that --record has written")
	errShort   = errors.New("it is damaged: something is missing")
	errLong    = errors.New("it is longer than a line of a recording can be")
)

// parsedLine is a line that was read: an opening, a step, or a reason.
type parsedLine struct {
	kind       string
	format     string
	connection int
	why        string
	opening    opening
	step       step
}

// lineReader reads a recording of any bytes line by line, and keeps one line in memory.
type lineReader struct{ lines *jsonl.Lines }

func newLineReader(in io.Reader) lineReader { return lineReader{jsonl.NewLines(in, maxLine)} }

// next returns the next line, or io.EOF behind the last.
func (r lineReader) next() (*parsedLine, error) {
	text, err := r.lines.Next()
	number := r.lines.Number
	switch {
	case errors.Is(err, jsonl.ErrTooLong):
		return nil, &FileError{number, errLong}
	case errors.Is(err, io.EOF) && number == 0:
		return nil, &FileError{0, errEmpty}
	case err != nil:
		return nil, err
	}
	line, err := parse(text)
	if err == nil && (number == 1) != (line.kind == kindStart) {
		err = errForeign
	}
	if err == nil && line.kind == kindStart && line.format != Format {
		err = fmt.Errorf("its format is %.40q; expected %s", line.format, Format)
	}
	if err != nil {
		return nil, &FileError{number, err}
	}
	return line, nil
}

// parse reads a line. The result does not alias it.
func parse(text []byte) (*parsedLine, error) {
	if err := strictjson.Valid(text, strictjson.DefaultDepth); err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	in := strictjson.Read(text).Within(strictjson.NewAllowance(maxListed))
	if in.Kind() != '{' {
		return nil, errForeign
	}
	p := parser{in: in}
	var line parsedLine
	for name := range in.Object() {
		p.member(string(name), &line)
	}
	if p.err == nil {
		p.err = in.Err()
	}
	if p.err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, p.err)
	}
	return &line, line.check()
}

// parser reads the members of one line; the first mistake stays.
type parser struct {
	in  *strictjson.Reader
	err error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) member(name string, line *parsedLine) {
	in := p.in
	switch name {
	case "kind":
		line.kind = in.String()
	case "format":
		line.format = in.String()
	case "connection":
		line.connection = int(in.Int())
	case "why":
		line.why = in.String()
	case "server":
		line.opening.server = in.String()
	case "plugin":
		line.opening.plugin = in.String()
	case "sha256":
		line.opening.sha256 = in.String()
	case "abi":
		line.opening.abi = in.String()
	case "n":
		line.step.number = int(in.Int())
	case "at_us":
		line.step.at = time.Duration(min(uint64(in.Int()), 1<<50)) * time.Microsecond
	case "event":
		line.step.kind = p.event(in.String())
	case "handle":
		line.step.handle = p.u32()
	case "arg":
		line.step.arg = p.u32()
	case "calls":
		for range in.Array() {
			line.step.calls = append(line.step.calls, p.call())
		}
	case "result":
		line.step.result = p.i32()
	case "trap":
		line.step.trap = in.String()
	case "lied":
		line.step.lied = in.Bool()
	default:
		p.source(name, &line.step.source)
		p.content(name, &line.step.content)
	}
}

func (p *parser) source(name string, s *source) {
	switch name {
	case "clock":
		for range p.in.Array() {
			s.clock = append(s.clock, p.in.Int())
		}
	case "random":
		s.random = p.base64()
	}
}

func (p *parser) content(name string, c *content) {
	switch name {
	case "text":
		c.bytes = append([]byte{}, p.in.String()...)
	case "base64":
		c.bytes = p.base64()
	case "size":
		c.size = int(p.u32())
	case "masked":
		c.masked = p.in.Bool()
	case "hidden":
		c.hidden = p.in.Bool()
	}
}

func (p *parser) base64() []byte {
	b, err := base64.StdEncoding.DecodeString(p.in.String())
	if err != nil {
		p.fail("%w", err)
	}
	return b
}

func (p *parser) u32() uint32 {
	n := p.in.Int()
	if n < 0 || n > 1<<32-1 {
		p.fail("the number %d", n)
	}
	return uint32(n)
}

func (p *parser) i32() int32 {
	n := p.in.Int()
	if int64(int32(n)) != n {
		p.fail("the number %d", n)
	}
	return int32(n)
}

// event returns the event of that name.
func (p *parser) event(name string) abi.Kind {
	for k := abi.EventDescribe; k <= abi.EventClose; k++ {
		if k.String() == name {
			return k
		}
	}
	p.fail("the event %.20q", name)
	return 0
}

func (p *parser) call() call {
	var c call
	known, n := false, 0
	for name := range p.in.Object() {
		switch name := string(name); name {
		case "call":
			c.op, known = callNamed(p.in.String())
		case "args":
			for range p.in.Array() {
				if v := p.u32(); n < len(c.args) {
					c.args[n] = v
				}
				n++
			}
		case "result":
			c.result = p.i32()
		default:
			p.content(name, &c.content)
		}
	}
	if !known || n != c.op.Params() {
		p.fail("an unknown host call")
		return call{}
	}
	if at := guest.PointerArg(c.op); at >= 0 {
		c.args[at] = 0
	}
	if err := c.check(); err != nil {
		p.fail("%v: %w", c.op, err)
	}
	return c
}

func callNamed(name string) (abi.Call, bool) {
	for _, op := range abi.Calls() {
		if op.String() == name {
			return op, true
		}
	}
	return 0, false
}

// check compares the bytes of a call with its length. A request stands in another
// form than the guest wrote it in.
func (c *call) check() error {
	if !carries(c.op) {
		c.content = content{}
		return nil
	}
	size := int(c.args[guest.PointerArg(c.op)+1])
	switch {
	case c.hidden:
		c.bytes, c.size = nil, size
		return nil
	case c.op == abi.CallOpen:
		c.size = len(c.bytes)
		_, err := abi.DecodeOpenRequest(c.bytes)
		return err
	}
	if c.size = len(c.bytes); c.size != size {
		return errShort
	}
	return nil
}

// check tells a line of a recording from other JSON.
func (line *parsedLine) check() error {
	s := &line.step
	switch line.kind {
	case kindStart, kindCut, kindEnded, kindEnd:
		return nil
	case kindConnection:
		if of := line.opening.abi; of != "" && of != abi.Module {
			return fmt.Errorf("it is of a guest that spoke %.40q; expected %s", of, abi.Module)
		}
		line.opening.connection, line.opening.source = line.connection, s.source
	case kindEvent:
		s.connection = line.connection
		return s.check()
	default:
		return fmt.Errorf("%w: its kind is %.40q", errForeign, line.kind)
	}
	return nil
}

func (s *step) check() error {
	if s.kind == 0 {
		return errShort
	}
	if s.bytes != nil {
		s.size = len(s.bytes)
	}
	switch {
	case s.bytes == nil && s.size > 0 && !s.sealed(), s.size > maxLine,
		s.kind == abi.EventMessage && int(s.handle) > s.size:
		return errShort
	}
	return nil
}
