package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Bounds of a list. A server that needs more than one of them is broken or
// means harm.
const (
	maxPages     = 1000
	maxListBytes = 64 << 20
)

// ListTools returns all tools of the server, page after page
// (2026-07-28/server/utilities/pagination). Schemas and metadata are as the
// server wrote them. A server that hands out a cursor twice would never end:
// the list then ends there, with a warning. A list that the server said is still
// fresh is not asked for again.
func (s *Session) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	if tools, ok := s.catalogue.fresh(); ok {
		return tools, nil
	}
	list, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	list.tell(s.cfg.Warn)
	return list.tools, nil
}

// list asks for the list and remembers it.
func (s *Session) list(ctx context.Context) (*toolList, error) {
	list, as := newToolList(), s.catalogue.count()
	for more := true; more; {
		text, d, err := s.do(ctx, &request{method: mcp.MethodListTools, page: func(dst, meta []byte) ([]byte, error) {
			return appendPage(dst, list.cursor, meta)
		}})
		if err == nil {
			more, err = list.add(text, d)
		}
		if err != nil {
			return nil, fmt.Errorf("list tools on %s: %w", s.cfg.Name, err)
		}
	}
	s.catalogue.keep(list, as)
	return list, nil
}

// toolList is a list that is being fetched.
type toolList struct {
	tools    []mcp.Tool
	seen     map[string]bool // names of tools
	cursors  map[string]bool
	cursor   *string // of the next page; nil is the first
	bytes    int
	warnings []string

	until   time.Time           // when the first of its pages is stale
	mirrors map[string][]mirror // by tool, where headers show arguments
	dropped map[string]error    // tools left out for what they want shown
}

func newToolList() *toolList {
	return &toolList{
		seen: make(map[string]bool), cursors: make(map[string]bool), until: time.Now().Add(maxTTL),
		mirrors: make(map[string][]mirror), dropped: make(map[string]error),
	}
}

// add adds a page and reports whether there is another.
func (l *toolList) add(text []byte, d dialect) (more bool, err error) {
	page, err := readPage(text)
	if err == nil {
		err = d.admit(page.kind)
	}
	if err != nil {
		return false, err
	}
	l.expire(page.ttl, d)
	for _, raw := range page.tools {
		l.keep(raw, d)
	}
	if page.next == nil {
		return false, nil
	}
	return l.turn(*page.next, len(text))
}

// keep adds a tool. One that is no tool is left out, and so is a second one of
// the same name, which could not be called: neither takes the others away. Over
// HTTP that is also what happens to one that wants the impossible shown.
func (l *toolList) keep(raw []byte, d dialect) {
	tool, err := readTool(raw)
	switch {
	case err != nil:
		l.warn("the server lists something that is no tool: %v: %s", err, clip(string(raw)))
		return
	case l.seen[tool.Name]:
		l.warn("the server lists tool %q more than once", clip(tool.Name))
		return
	}
	l.seen[tool.Name] = true
	if d.mirrors {
		m, err := readMirrors(tool.InputSchema)
		if err != nil {
			l.dropped[tool.Name] = err
			l.warn("tool %q is left out: its definition is invalid: %v", clip(tool.Name), err)
			return
		}
		l.mirrors[tool.Name] = m
	}
	l.tools = append(l.tools, tool)
}

// maxTTL is how long a list counts as fresh at most.
const maxTTL = 24 * time.Hour

// expire notes for how many milliseconds a page that has just come stays fresh.
func (l *toolList) expire(ms float64, d dialect) {
	if d.era == mcp.Legacy {
		ms = 0
	}
	fresh := time.Duration(max(0, min(ms, float64(maxTTL/time.Millisecond))) * float64(time.Millisecond))
	if until := time.Now().Add(fresh); until.Before(l.until) {
		l.until = until
	}
}

// warn notes what is odd; a list can be odd very often.
func (l *toolList) warn(format string, args ...any) {
	const most = 10
	if len(l.warnings) < most {
		l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
	}
}

// tell says what was odd about the list, which may be nil.
func (l *toolList) tell(warn func(string)) {
	if l == nil {
		return
	}
	for _, text := range l.warnings {
		warn(text)
	}
}

// turn goes on to the page at cursor, after one of that many bytes.
func (l *toolList) turn(cursor string, bytes int) (more bool, err error) {
	if l.cursors[cursor] {
		l.warn("the server repeats cursor %q; the list ends there", clip(cursor))
		return false, nil
	}
	l.cursors[cursor] = true
	l.cursor = &cursor
	l.bytes += bytes
	if len(l.cursors) >= maxPages || l.bytes > maxListBytes {
		return false, fmt.Errorf("%w: the list does not end after %d pages and %d bytes",
			ErrInvalidResult, len(l.cursors), l.bytes)
	}
	return true, nil
}

// CallTool runs a tool. Args is anything that marshals to an object: a map, a
// struct, a [json.RawMessage], or nil for none. An error means that there is
// no result; that the tool did not succeed is in the result, as IsError.
func (s *Session) CallTool(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	q := request{method: mcp.MethodCallTool, name: name, given: args, tool: true}
	result, err := s.callTool(ctx, &q)
	if err != nil {
		return nil, fmt.Errorf("call %s on %s: %w", name, s.cfg.Name, err)
	}
	return result, nil
}

func (s *Session) callTool(ctx context.Context, q *request) (*mcp.CallToolResult, error) {
	for {
		text, d, err := s.do(ctx, q)
		if err != nil {
			return nil, err
		}
		result, err := readCall(text)
		if err != nil {
			return nil, err
		}
		if again, err := s.again(ctx, q, d, result.ResultType, text); err != nil || !again {
			return result, err
		}
	}
}

// page is a ListToolsResult, tools as written. A nil next ends the list; an
// empty one is a cursor like any other.
type page struct {
	tools [][]byte
	next  *string
	kind  mcp.ResultType
	ttl   float64 // milliseconds
}

// readPage reads a page in place: it aliases text.
func readPage(text []byte) (p page, err error) {
	r := jsontext.Read(text)
	for key := range r.Object() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "tools":
			for range r.Array() {
				p.tools = append(p.tools, r.Raw())
			}
		case "nextCursor":
			cursor := r.String()
			p.next = &cursor
		case "resultType":
			p.kind = resultType(r)
		case "ttlMs":
			p.ttl = number(r)
		}
	}
	return p, invalid(r.Err())
}

// number reads a number that is a hint: what is none counts as 0.
func number(r *jsontext.Reader) float64 {
	if k := r.Kind(); k != '-' && k-'0' > 9 {
		return 0
	}
	n, err := strconv.ParseFloat(string(r.Raw()), 64)
	if err != nil {
		return 0
	}
	return n
}

// readTool reads a tool in place: what is raw aliases text.
func readTool(text []byte) (tool mcp.Tool, err error) {
	r := jsontext.Read(text)
	for key := range r.Object() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "name":
			tool.Name = r.String()
		case "title":
			tool.Title = r.String()
		case "description":
			tool.Description = r.String()
		case "inputSchema":
			tool.InputSchema = r.Raw()
		case "outputSchema":
			tool.OutputSchema = r.Raw()
		case "annotations":
			tool.Annotations = readAnnotations(r)
		case "_meta":
			tool.Meta = r.Raw()
		}
	}
	if r.Err() == nil && tool.Name == "" {
		return tool, errors.New("it has no name")
	}
	return tool, r.Err()
}

func readAnnotations(r *jsontext.Reader) *mcp.ToolAnnotations {
	var a mcp.ToolAnnotations
	for key := range r.Object() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "title":
			a.Title = r.String()
		case "readOnlyHint":
			a.ReadOnlyHint = readBool(r)
		case "destructiveHint":
			a.DestructiveHint = readBool(r)
		case "idempotentHint":
			a.IdempotentHint = readBool(r)
		case "openWorldHint":
			a.OpenWorldHint = readBool(r)
		}
	}
	return &a
}

func readBool(r *jsontext.Reader) *bool {
	b := r.Bool()
	return &b
}
