package session

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Over HTTP a modern request repeats parts of itself in headers, so that a proxy can route it
// without reading the body (2026-07-28/basic/transports/streamable-http#request-metadata). The
// transport sends the headers that the session gives it, and knows nothing of tools.
const (
	headerMethod      = "mcp-method"
	headerName        = "mcp-name"
	headerParamPrefix = "mcp-param-" // followed by the name that the tool gives it
)

// standardHeaders returns the headers that every request has.
func standardHeaders(q *request) []abi.Pair {
	h := make([]abi.Pair, 1, 4)
	h[0] = abi.Pair{Key: headerMethod, Value: headerValue(q.method)}
	switch q.method {
	case mcp.MethodGetTask, mcp.MethodUpdateTask, mcp.MethodCancelTask: // a proxy finds the server that keeps the task by its id
		h = append(h, abi.Pair{Key: headerName, Value: headerValue(memberText(asText(q.given), "taskId"))})
	default:
		if named(q.method) {
			h = append(h, abi.Pair{Key: headerName, Value: headerValue(q.name)})
		}
	}
	return h
}

// headers returns all headers of a request. For a call of a tool it needs the list of tools, and
// asks the server if the list is not known.
func (s *Session) headers(ctx context.Context, q *request) ([]abi.Pair, error) {
	h := standardHeaders(q)
	if q.method != mcp.MethodCallTool {
		return h, nil
	}
	def, err := s.definition(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case def.flaw != nil:
		return nil, fmt.Errorf("the definition of the tool is invalid: %w", def.flaw)
	case len(def.paramHeaders) == 0:
		return h, nil
	}
	if q.hasHeaders() {
		if err := def.checkHeaders(q); err != nil {
			return nil, err
		}
	}
	arguments := q.arguments()
	for _, m := range def.paramHeaders {
		if value, ok := m.value(arguments); ok {
			h = append(h, abi.Pair{Key: m.header, Value: headerValue(value)})
		}
	}
	return h, nil
}

// hasHeaders reports whether q is a call of a tool that a client sent over HTTP.
func (q *request) hasHeaders() bool {
	return q.method == mcp.MethodCallTool && q.relay != nil && q.relay.Header != nil
}

// checkHeaders compares the arguments of a call with the headers that its client has sent.
func (d toolDef) checkHeaders(q *request) error {
	arguments := q.arguments()
	for _, m := range d.paramHeaders {
		if err := m.check(arguments, q.relay.Header); err != nil {
			return err
		}
	}
	return nil
}

// headerParam is an argument of a tool that a header repeats.
type headerParam struct {
	header string
	path   []string // names of members, from the arguments down
}

// value returns the argument as text. ok is true for a string, a number or a boolean. A number that
// is an integer is spelled as one: 42.0 and 4.2e1 are 42.
func (m headerParam) value(arguments []byte) (text string, ok bool) {
	raw := arguments
	for _, name := range m.path {
		raw = member(raw, name)
	}
	r := strictjson.Read(raw)
	switch r.Kind() {
	case '"':
		return r.String(), true
	case 't', 'f':
		return strconv.FormatBool(r.Bool()), true
	case 0, 'n', '{', '[':
		return "", false
	}
	if n, ok := strictjson.Int(raw); ok {
		return strconv.FormatInt(n, 10), true
	}
	if x, err := strconv.ParseFloat(string(raw), 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10), true
	}
	return string(raw), true
}

// check compares the argument with the header that a client has sent
// (2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers).
func (m headerParam) check(arguments []byte, sent func(name string) (string, bool)) error {
	want, given := m.value(arguments)
	got, there := sent(m.header)
	if there {
		if n, err := strconv.ParseFloat(got, 64); err == nil { // 42.0 is 42
			if own, isNumber := strictjson.Int([]byte(want)); isNumber && !m.isText(arguments) && n == float64(own) {
				got = want
			}
		}
	}
	if there == given && got == want {
		return nil
	}
	why := fmt.Sprintf("the header %s is %q, and the argument is %q", m.header, clip(got), clip(want))
	switch {
	case !there:
		why = fmt.Sprintf("the header %s is missing, and the argument is %q", m.header, clip(want))
	case !given:
		why = fmt.Sprintf("the header %s is %q, and there is no such argument", m.header, clip(got))
	}
	return &rpc.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + why}
}

// isText reports whether the argument is a string.
func (m headerParam) isText(arguments []byte) bool {
	raw := arguments
	for _, name := range m.path {
		raw = member(raw, name)
	}
	return len(raw) > 0 && raw[0] == '"'
}

// The prefix and suffix of an encoded value, which a header could not hold as it is.
const (
	base64Open  = "=?base64?"
	base64Close = "?="
)

// headerValue returns text in the form that a header can hold
// (2026-07-28/basic/transports/streamable-http#value-encoding).
func headerValue(text string) string {
	if plain(text) {
		return text
	}
	return base64Open + base64.StdEncoding.EncodeToString([]byte(text)) + base64Close
}

// plain reports whether a header can hold text as it is: visible ASCII and
// spaces, none of them at the ends, and not what an encoded value looks like.
func plain(text string) bool {
	encoded := strings.HasPrefix(text, base64Open) && strings.HasSuffix(text, base64Close)
	return !encoded && strings.Trim(text, " ") == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// readHeaderParams finds the parameters of a tool that its schema maps to headers. An error means
// that the tool's definition must not be used (2026-07-28/server/tools#x-mcp-header).
func readHeaderParams(schema []byte) ([]headerParam, error) {
	a := annotations{taken: make(map[string]bool)}
	a.schema(strictjson.Read(schema).Unbounded(), true)
	return a.found, a.err
}

// annotations collects the x-mcp-header members of a schema.
type annotations struct {
	path  []string // names of the properties that lead to the value being read, if only properties lead to it
	found []headerParam
	taken map[string]bool // headers
	err   error           // the first
}

// schema reads the next value as a schema. reached says that properties alone lead to it: then
// a.path is the path of the described value.
func (a *annotations) schema(r *strictjson.Reader, reached bool) {
	var header, kind []byte
	for key := range r.Object() {
		switch string(key) {
		case "x-mcp-header":
			header = r.Raw()
		case "type":
			kind = r.Raw()
		case "properties":
			for name := range r.Object() {
				a.path = append(a.path, string(name))
				a.schema(r, reached)
				a.path = a.path[:len(a.path)-1]
			}
		case "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			for range r.Object() {
				a.unreached(r)
			}
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
			"additionalProperties", "propertyNames", "unevaluatedProperties",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema":
			a.unreached(r)
		}
	}
	if header != nil && a.err == nil {
		a.err = a.add(header, kind, reached)
	}
}

// unreached reads the next value, a schema or an array of schemas. It lies below something other
// than properties, so no argument has its path.
func (a *annotations) unreached(r *strictjson.Reader) {
	if r.Kind() != '[' {
		a.schema(r, false)
		return
	}
	for range r.Array() {
		a.unreached(r)
	}
}

// add adds one annotation. raw is its value and kind the parameter's type, both as written.
func (a *annotations) add(raw, kind []byte, reached bool) error {
	name := strictjson.Read(raw).String()
	header := headerParamPrefix + strings.ToLower(name)
	switch {
	case !token(name):
		return fmt.Errorf("x-mcp-header is %s, want the name of an HTTP header", clip(string(raw)))
	case !reached || len(a.path) == 0:
		return fmt.Errorf("x-mcp-header %q is not at a parameter that properties alone lead to", clip(name))
	case a.taken[header]:
		return fmt.Errorf("x-mcp-header %q is there twice", clip(name))
	}
	switch strictjson.Read(kind).String() {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("x-mcp-header %q is at a parameter that is no string, integer or boolean", clip(name))
	}
	if len(a.found) == mcp.MaxHeaderParams {
		return fmt.Errorf("x-mcp-header is at more than %d parameters, which is the most", mcp.MaxHeaderParams)
	}
	a.taken[header] = true
	a.found = append(a.found, headerParam{header, slices.Clone(a.path)})
	return nil
}

// token reports whether name can be part of a header's name (RFC 9110, 5.6.2).
func token(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}
