package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/schema"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Fault is one mismatch of arguments, or of a result, with a schema.
type Fault = schema.Fault

// ArgumentError says that the arguments of a call do not fit the input schema of
// the tool. The call was not sent.
type ArgumentError struct {
	Tool   string
	Faults []Fault // at least one; pointers begin at the arguments
	More   int     // the number of further faults
}

func (e *ArgumentError) Error() string {
	return "arguments: " + (&schema.Mismatch{Faults: e.Faults, More: e.More}).Error()
}

// Is matches [rpc.ErrParams]: the parameters cannot be sent.
func (e *ArgumentError) Is(target error) bool { return target == rpc.ErrParams }

// ResultError says that the structured content of a result is missing or does not fit the output
// schema of the tool. The tool has done its work, and the error holds the result for callers that
// can still use it.
type ResultError struct {
	Tool   string
	Result *mcp.CallToolResult
	Faults []Fault // at least one; pointers begin at the structured content
	More   int     // the number of further faults
}

func (e *ResultError) Error() string {
	return "structured content: " + (&schema.Mismatch{Faults: e.Faults, More: e.More}).Error()
}

// Is matches [ErrInvalidResult].
func (e *ResultError) Is(target error) bool { return target == ErrInvalidResult }

// toolSchemas holds the schemas of a tool. It lives as long as the tool's list, or longer if the
// next list has the same schemas.
type toolSchemas struct {
	input, output toolSchema
}

// same reports whether two definitions have the same schemas. Either may be nil.
func (c *toolSchemas) same(other *toolSchemas) bool {
	return c != nil && other != nil && c.input.text == other.input.text && c.output.text == other.output.text
}

// toolSchema is one of the two schemas of a tool. It is compiled on first use. Most schemas are
// never used and keep only their text.
type toolSchema struct {
	text   string // the part of the server's text that a check needs; "" is none
	result atomic.Pointer[compileResult]
}

// compileResult is the outcome of compiling a toolSchema.
type compileResult struct {
	once sync.Once
	made *schema.Schema // nil if there is nothing to check
	flaw error          // why it could not be compiled

	told atomic.Bool
}

// compiled holds the compiled schemas, the oldest first. A compiled schema takes about twenty times
// its text, so their bytes are bounded. The others are compiled anew when they are needed.
type compiled struct {
	mu      sync.Mutex
	schemas []*toolSchema
	sizes   []int // the bytes of each
	bytes   int   // the sum of sizes
}

// maxCompiled bounds the bytes of the compiled schemas of a session. The newest is always kept. A
// hundred ordinary tools take 2 MB.
const maxCompiled = 12 << 20

// add counts a toolSchema that has just been compiled, and forgets the oldest while there are too
// many bytes.
func (k *compiled) add(c *toolSchema, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.schemas, k.sizes = append(k.schemas, c), append(k.sizes, bytes)
	k.bytes += bytes
	for k.bytes > maxCompiled && len(k.schemas) > 1 {
		k.schemas[0].forget()
		k.bytes -= k.sizes[0]
		k.schemas, k.sizes = slices.Delete(k.schemas, 0, 1), slices.Delete(k.sizes, 0, 1)
	}
}

// forget drops the compiled schema, which is compiled again on the next use. Its warnings are not
// repeated.
func (c *toolSchema) forget() {
	r := new(compileResult)
	r.told.Store(c.result.Load().told.Load())
	c.result.Store(r)
}

func newToolSchema(text []byte) toolSchema { return toolSchema{text: schema.StripAnnotations(text)} }

// compile returns the compiled schema. It compiles it on the first call and after a forget.
func (c *toolSchema) compile(k *compiled) *compileResult {
	r := c.result.Load()
	if r == nil {
		c.result.CompareAndSwap(nil, new(compileResult))
		r = c.result.Load()
	}
	r.once.Do(func() {
		if c.text != "" {
			r.made, r.flaw = schema.Compile([]byte(c.text))
		}
		if r.made != nil && r.made.Bytes() > 0 {
			k.add(c, r.made.Bytes())
		}
	})
	return r
}

// check calls compare, which compares a value with the schema, and returns the mismatch. A value
// that cannot be checked passes, with one warning per tool. No lock is held during the warning,
// because its callback may call the same tool.
func (c *toolSchema) check(s *Session, what, tool string, compare func(*schema.Schema) error) *schema.Mismatch {
	r := c.compile(&s.toolCache.compiled)
	tell := func(what, how string) {
		if c.result.Load().told.CompareAndSwap(false, true) {
			s.cfg.Warn(fmt.Sprintf("%s of tool %q are %s", what, clip(tool), how))
		}
	}
	switch {
	case r.flaw != nil:
		tell(what, fmt.Sprintf("not checked: %v", r.flaw))
	case r.made != nil && r.made.LeftOut() != nil:
		tell(what, "checked without "+clip(strings.Join(r.made.LeftOut(), ", "))+", which is not written in RE2, the language of patterns here, or too long")
	}
	if r.made == nil {
		return nil
	}
	err := compare(r.made)
	if err == nil {
		return nil // stays above the declaration of found, which is on the heap
	}
	var found *schema.Mismatch
	if !errors.As(err, &found) {
		tell("some "+what, fmt.Sprintf("not checked: %v", err))
	}
	return found
}

// checkArguments checks the arguments of a call before it is sent on l. It asks for no list. A tool
// is called unchecked if it is not in the newest list, or if that list came over another
// connection, because the tool may have changed.
func (s *Session) checkArguments(q *request, l *agreedConn) error {
	known := &s.toolCache
	known.mu.Lock()
	var c *toolSchemas
	if known.changesAtAsk == known.changes && known.from.Value() == l.Conn {
		c = known.defLocked(q.name).schemas
	}
	known.mu.Unlock()
	if c == nil || c == q.toolSchemas {
		return nil
	}
	q.toolSchemas = c
	found := c.input.check(s, "arguments", q.name, func(made *schema.Schema) error {
		if made.TakesObjects() {
			return nil
		}
		arguments := q.arguments()
		if arguments == nil {
			return nil
		}
		return made.CheckArguments(arguments)
	})
	if found != nil {
		return &ArgumentError{Tool: q.name, Faults: found.Faults, More: found.More}
	}
	return nil
}

// checkResult checks the result of a tool: clients should validate structured results
// (2026-07-28/server/tools#output-schema). A mismatch is an error and not a warning, because a
// caller that reads results by the schema must not get one that does not fit. The error holds the
// result.
func (s *Session) checkResult(q *request, d *dialect, result *mcp.CallToolResult) error {
	c := q.toolSchemas
	if c == nil || c.output.text == "" || result.IsError || d.revision < mcp.Version20250618 {
		return nil
	}
	value := result.StructuredContent
	if value == nil {
		value = []byte("null")
	}
	found := c.output.check(s, "results", q.name, func(made *schema.Schema) error { return made.Check(value) })
	if found == nil {
		return nil
	}
	e := &ResultError{Tool: q.name, Result: result, Faults: found.Faults, More: found.More}
	if result.StructuredContent == nil {
		e.Faults, e.More = []Fault{{Want: "some, as the tool's outputSchema says", Got: "none"}}, 0
	}
	return &rpc.CallError{Method: q.method, Sent: rpc.Answered, Err: e}
}
