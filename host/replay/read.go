package replay

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/jsontext"
)

// maxLine is the longest line that is read: more than is ever written.
const maxLine = 64 << 20

// maxListed is how many elements the arrays of a line have: the host calls of one
// event, of which its fuel allows fewer.
const maxListed = 200_000

// FileError says what is wrong with a recording, and where.
type FileError struct {
	Line int // from 1; 0 for the whole of it
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
	errForeign = errors.New("it is no line of a recording")
	errEmpty   = errors.New("there is nothing in it; expected what --record has written")
	errShort   = errors.New("it is damaged: something is missing")
	errLong    = errors.New("it is longer than a line of a recording can be")
)

// entry is a line that was read: an opening, a step, or one that says why.
type entry struct {
	kind       string
	format     string
	connection int
	why        string
	opening    opening
	step       step
}

// entries reads a recording line by line, and keeps no more than one. It takes any
// bytes.
type entries struct {
	lines  *bufio.Scanner
	number int
}

func newEntries(in io.Reader) *entries {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	return &entries{lines: lines}
}

// next returns the next entry, or io.EOF behind the last.
func (e *entries) next() (*entry, error) {
	e.number++
	if !e.lines.Scan() {
		switch err := e.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, &FileError{e.number, errLong}
		case err != nil:
			return nil, err
		case e.number == 1:
			return nil, &FileError{0, errEmpty}
		}
		return nil, io.EOF
	}
	en, err := parseEntry(e.lines.Bytes())
	if err == nil && (e.number == 1) != (en.kind == kindStart) {
		err = errForeign
	}
	if err == nil && en.kind == kindStart && en.format != Format {
		err = fmt.Errorf("its format is %.40q; expected %s", en.format, Format)
	}
	if err != nil {
		return nil, &FileError{e.number, err}
	}
	return en, nil
}

// parseEntry reads a line. Nothing of it aliases the line.
func parseEntry(line []byte) (*entry, error) {
	if err := jsontext.Valid(line, jsontext.DefaultDepth); err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	in := jsontext.Read(line).Within(jsontext.NewAllowance(maxListed))
	if in.Kind() != '{' {
		return nil, errForeign
	}
	p := parser{in: in}
	var en entry
	for name := range in.Object() {
		p.member(string(name), &en)
	}
	if p.err == nil {
		p.err = in.Err()
	}
	if p.err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, p.err)
	}
	return &en, en.check()
}

// parser reads the members of one line; the first mistake stays.
type parser struct {
	in  *jsontext.Reader
	err error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) member(name string, en *entry) {
	in := p.in
	switch name {
	case "kind":
		en.kind = in.String()
	case "format":
		en.format = in.String()
	case "connection":
		en.connection = int(in.Int())
	case "why":
		en.why = in.String()
	case "server":
		en.opening.server = in.String()
	case "plugin":
		en.opening.plugin = in.String()
	case "sha256":
		en.opening.sha256 = in.String()
	case "abi":
		en.opening.abi = in.String()
	case "n":
		en.step.number = int(in.Int())
	case "at_us":
		en.step.at = time.Duration(min(uint64(in.Int()), 1<<50)) * time.Microsecond
	case "event":
		en.step.kind = p.event(in.String())
	case "handle":
		en.step.handle = p.u32()
	case "arg":
		en.step.arg = p.u32()
	case "calls":
		for range in.Array() {
			en.step.calls = append(en.step.calls, p.call())
		}
	case "result":
		en.step.result = p.i32()
	case "trap":
		en.step.trap = in.String()
	case "lied":
		en.step.lied = in.Bool()
	default:
		p.source(name, &en.step.source)
		p.content(name, &en.step.content)
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
		p.fail("a host call that is none")
		return call{}
	}
	if at := guest.Pointer(c.op); at >= 0 {
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
	size := int(c.args[guest.Pointer(c.op)+1])
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

// check tells an entry from JSON that happens to be there.
func (en *entry) check() error {
	s := &en.step
	switch en.kind {
	case kindStart, kindCut, kindEnded, kindEnd:
		return nil
	case kindConnection:
		if of := en.opening.abi; of != "" && of != abi.Module {
			return fmt.Errorf("it is of a guest that spoke %.40q; expected %s", of, abi.Module)
		}
		en.opening.connection, en.opening.source = en.connection, s.source
	case kindEvent:
		s.connection = en.connection
		return s.check()
	default:
		return fmt.Errorf("%w: its kind is %.40q", errForeign, en.kind)
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
