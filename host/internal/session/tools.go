package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ListTools returns all tools of the server, with schemas and metadata as the server wrote them;
// [list] says what holds for every list. It returns a list that is still fresh without a request.
func (s *Session) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	if tools, ok := s.toolCache.fresh(); ok {
		return tools, nil
	}
	list, err := s.list(ctx, nil)
	if err != nil {
		return nil, err
	}
	list.tell(s.cfg.Warn)
	return list.items, nil
}

// list asks for the list over on, or over any connection if on is nil, and remembers it.
func (s *Session) list(ctx context.Context, on *agreedConn) (*toolList, error) {
	list, changesAtAsk := newToolList(!s.cfg.NoValidate), s.toolCache.count()
	list.on = on
	if err := fetch(ctx, s, &list.list); err != nil {
		return nil, err
	}
	s.toolCache.store(list, changesAtAsk)
	s.cfg.Listed()
	return list, nil
}

var toolKind = kind[mcp.Tool]{
	method: mcp.MethodListTools, member: "tools", thing: "tool", key: "name", read: readTool,
}

// toolList is a list of tools while it is fetched.
type toolList struct {
	list[mcp.Tool]

	places   []toolPlace // also of tools that are left out
	validate bool
}

func newToolList(validate bool) *toolList {
	l := &toolList{list: newList(&toolKind), places: make([]toolPlace, 0, 64), validate: validate}
	l.fits = l.note
	return l
}

// note stores where the tool is, and reports whether it can be called. Over HTTP a modern tool must
// not be called if it maps arguments to headers that cannot hold them.
func (l *toolList) note(tool *mcp.Tool, d dialect) bool {
	l.places = append(l.places, toolPlace{toolHash(tool.Name), uint32(l.size + len("[")), d.paramHeaders})
	if !d.paramHeaders {
		return true
	}
	_, flaw := readHeaderParams(tool.InputSchema)
	if flaw != nil {
		l.warn("tool %q is left out: its definition is invalid: %v", clip(tool.Name), flaw)
	}
	return flaw == nil
}

// newToolDef reads from a tool's definition how the tool has to be called.
func newToolDef(tool *mcp.Tool, overHTTP, validate bool) toolDef {
	def := toolDef{overHTTP: overHTTP}
	if tool.Execution != nil {
		def.taskSupport = tool.Execution.TaskSupport
	}
	def.task = def.taskSupport == mcp.TaskRequired
	def.mayTask = def.task || def.taskSupport == mcp.TaskOptional
	if validate {
		def.schemas = &toolSchemas{input: newToolSchema(tool.InputSchema), output: newToolSchema(tool.OutputSchema)}
	}
	if tool.Annotations != nil {
		def.annotations, _ = json.Marshal(tool.Annotations) // it has only texts and flags
	}
	headers, flaw := readHeaderParams(tool.InputSchema)
	if overHTTP {
		def.flaw = flaw
	}
	if flaw == nil {
		def.paramHeaders = headers
	}
	return def
}

// CallTool runs a tool. args is nil or a value that marshals to an object: a map, a struct, a
// [json.RawMessage]. An error means that there is no result. The result itself says, as IsError,
// that the tool did not succeed.
//
// If the newest list of tools has this tool, both sides are checked. An [ArgumentError] says that
// nothing was sent; a [ResultError] holds the result.
func (s *Session) CallTool(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	var q request
	q.method, q.name, q.given, q.tool = mcp.MethodCallTool, name, args, true
	ctx, over := s.track(ctx, optionsOf(ctx).Progress, nil)
	defer over()
	text, d, err := s.do(ctx, &q)
	var result *mcp.CallToolResult
	if err == nil {
		result, err = readCall(text)
	}
	if err == nil && (q.task || d.admit(result.ResultType) != nil) { // the result is not the last one
		if text, err = s.followResult(ctx, &q, d, text); err == nil {
			result, err = readCall(text)
		}
	}
	if err == nil {
		err = s.checkResult(&q, d, result)
	}
	if err != nil {
		return nil, fmt.Errorf("call %s on %s: %w", name, s.cfg.Name, err)
	}
	return result, nil
}

// readTool reads a tool in place: its raw members alias text.
func readTool(text []byte, _ *strictjson.Allowance) (tool mcp.Tool, name string, err error) {
	r := strictjson.Read(text)
	tool.Raw = text
	for key := range r.Members() {
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
			tool.Annotations = new(mcp.ToolAnnotations)
			readAnnotations(r, tool.Annotations)
		case "execution":
			tool.Execution = new(mcp.ToolExecution)
			for key := range r.Object() {
				if string(key) == "taskSupport" && !r.Null() {
					tool.Execution.TaskSupport = r.String()
				}
			}
		case "icons":
			tool.Icons = r.Raw()
		case "_meta":
			tool.Meta = r.Raw()
		}
	}
	return tool, tool.Name, r.Err()
}

func readAnnotations(r *strictjson.Reader, a *mcp.ToolAnnotations) {
	for key := range r.Members() {
		switch string(key) {
		case "title":
			a.Title = r.String()
		case "readOnlyHint":
			a.ReadOnlyHint = new(r.Bool())
		case "destructiveHint":
			a.DestructiveHint = new(r.Bool())
		case "idempotentHint":
			a.IdempotentHint = new(r.Bool())
		case "openWorldHint":
			a.OpenWorldHint = new(r.Bool())
		}
	}
}
