// Package server is the MCP server that every contestant talks to: on standard
// input and output, over HTTP or on a unix socket, and so fast that it is not
// what is measured.
//
// On standard input and output it is one goroutine on blocking system calls,
// which answers all requests of one read with one write. Over HTTP it
// is a [Web], on a socket a [Socket]. It finds what it needs of a request without
// decoding it, and copies the text to be echoed as it was written.
package server

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/wire"
)

// Era is the era that the server speaks. A legacy server refuses server/discover with
// "method not found", after which every client falls back to initialize.
type Era string

// The eras: revision 2025-11-25, and revision 2026-07-28.
const (
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// Tools is the length of the list of tools in measures that do not vary it.
const Tools = 50

// enough is about the size in bytes of the pieces in which a flood is written.
const enough = 64 << 10

// Serve answers requests until the input ends. Its list has that many tools, of
// which the first two do something.
func Serve(in io.Reader, out io.Writer, era Era, tools int) error {
	return newFace(era, tools).serve(in, out)
}

// face holds the parts of the server that are the same for all clients.
type face struct {
	era   Era
	tools []byte // the result of tools/list
}

func newFace(era Era, tools int) face { return face{era: era, tools: toolList(era, tools)} }

func (f face) serve(in io.Reader, out io.Writer) error {
	c := conn{out: out, face: f}
	for {
		end := c.in.Fill(in)
		if err := c.answerLines(); err != nil {
			return err
		}
		if end == io.EOF {
			return nil
		}
		if end != nil {
			return end
		}
	}
}

type conn struct {
	face
	in    wire.Lines
	out   io.Writer // nil over HTTP, where an answer is one message
	reply []byte    // not written yet
}

func (c *conn) answerLines() error {
	for line, ok := c.in.Next(); ok; line, ok = c.in.Next() {
		if err := c.answer(line); err != nil {
			return err
		}
	}
	return c.flush()
}

func (c *conn) flush() error {
	if len(c.reply) == 0 {
		return nil
	}
	_, err := c.out.Write(c.reply)
	c.reply = c.reply[:0]
	return err
}

// request holds the parts of a message that the server needs, as they are written.
type request struct {
	id, method, tool, message, count, version []byte
}

func parse(line []byte) request {
	var r request
	s := wire.Over(line)
	s.Enter()
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		switch string(name) {
		case "id":
			r.id = s.Value()
		case "method":
			r.method = unquoted(s.Value())
		case "params":
			r.params(&s)
		default:
			s.Value()
		}
	}
	return r
}

func (r *request) params(s *wire.Scanner) {
	if !s.Enter() {
		s.Value()
		return
	}
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		switch string(name) {
		case "name":
			r.tool = unquoted(s.Value())
		case "arguments":
			r.arguments(s)
		case "protocolVersion":
			r.version = unquoted(s.Value())
		default:
			s.Value()
		}
	}
}

func (r *request) arguments(s *wire.Scanner) {
	if !s.Enter() {
		s.Value()
		return
	}
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		switch string(name) {
		case "message":
			r.message = s.Value()
		case "count":
			r.count = s.Value()
		default:
			s.Value()
		}
	}
}

// unquoted takes the quotes off a string; no name that the server knows has an
// escape in it.
func unquoted(value []byte) []byte { return bytes.Trim(value, `"`) }

// answer handles one message. Notifications and answers need none.
func (c *conn) answer(line []byte) error {
	r := parse(line)
	switch method := string(r.method); {
	case r.id == nil || method == "":
	case method == "tools/call":
		return c.call(r)
	case method == "tools/list":
		c.result(r.id, c.tools)
	case method == "initialize":
		c.result(r.id, fmt.Appendf(nil, initialized, cmp.Or(string(r.version), "2025-11-25"))) // any client's
	case method == "server/discover" && c.era == Modern:
		c.result(r.id, []byte(discovered))
	case method == "ping":
		c.result(r.id, []byte(`{}`))
	default:
		c.refuse(r.id, -32601, "method not found")
	}
	return nil
}

const (
	initialized = `{"protocolVersion":%q,"capabilities":{"logging":{},"tools":{}},` +
		`"serverInfo":{"name":"fast","version":"1.0.0"}}`
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],` +
		`"capabilities":{"logging":{},"tools":{}},"ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fast","version":"1.0.0"}}}`
)

func (c *conn) head(id []byte) {
	c.reply = append(c.reply, `{"jsonrpc":"2.0","id":`...)
	c.reply = append(c.reply, id...)
}

func (c *conn) result(id, result []byte) {
	c.head(id)
	c.reply = append(c.reply, `,"result":`...)
	c.reply = append(c.reply, result...)
	c.reply = append(c.reply, '}', '\n')
}

func (c *conn) refuse(id []byte, code int, message string) {
	c.head(id)
	c.reply = fmt.Appendf(c.reply, `,"error":{"code":%d,"message":%q}}`+"\n", code, message)
}

// Names of the tools that do something.
const (
	Echo  = "echo"  // answers with the string message
	Flood = "flood" // sends count notifications, then answers
)

func (c *conn) call(r request) error {
	switch string(r.tool) {
	case Echo:
		if len(r.message) == 0 || r.message[0] != '"' {
			c.refuse(r.id, -32602, "echo: expected a string message")
			return nil
		}
		c.text(r.id, r.message)
	case Flood:
		return c.flood(r)
	default:
		c.refuse(r.id, -32602, "unknown tool")
	}
	return nil
}

// The parts of a text result around the quoted text.
const (
	beforeText = `{"content":[{"type":"text","text":`
	afterText  = `}]}`
	afterReply = `}],"resultType":"complete"}` // the modern era names the kind of result
)

func (c *conn) text(id, quoted []byte) {
	c.head(id)
	c.reply = append(c.reply, `,"result":`+beforeText...)
	c.reply = append(c.reply, quoted...)
	if c.era == Modern {
		c.reply = append(c.reply, afterReply...)
	} else {
		c.reply = append(c.reply, afterText...)
	}
	c.reply = append(c.reply, '}', '\n')
}

// Text returns the text in a result of this server, which it finds by lengths alone. The
// floor reads answers with it. For a result of another shape it returns nil.
func Text(result []byte) []byte {
	after := len(afterText)
	if bytes.HasSuffix(result, []byte(afterReply)) {
		after = len(afterReply)
	}
	if len(result) < len(beforeText)+len(`""`)+after {
		return nil
	}
	return result[len(beforeText)+1 : len(result)-after-1]
}

// notification is about 150 bytes long, as a log line is.
const notification = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info",` +
	`"logger":"flood","data":"the quick brown fox jumps over the lazy dogs"}}` + "\n"

func (c *conn) flood(r request) error {
	count, err := strconv.Atoi(string(r.count))
	switch {
	case c.out == nil:
		c.refuse(r.id, -32602, "flood: not over HTTP")
		return nil
	case err != nil:
		c.refuse(r.id, -32602, "flood: expected an integer count")
		return nil
	}
	for range count {
		c.reply = append(c.reply, notification...)
		if len(c.reply) < enough {
			continue
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.text(r.id, []byte(`"done"`))
	return nil
}
