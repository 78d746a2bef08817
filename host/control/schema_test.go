package control

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/wharf-mcp/wharf/host/mcp"
)

var update = flag.Bool("update", false, "write schema.json anew")

// side says who sends a message of a method.
type side string

const (
	ofEditor side = "request of the editor"
	ofWharf  side = "request of Wharf to the editor"
	note     side = "notification"
)

// messages are all methods of the protocol, with the types of their params and results.
func messages() map[string]struct {
	side           side
	params, result reflect.Type
} {
	type message = struct {
		side           side
		params, result reflect.Type
	}
	all := map[string]message{
		methodInitialize:   {ofEditor, reflect.TypeFor[InitializeParams](), reflect.TypeFor[InitializeResult]()},
		methodCancel:       {note, reflect.TypeFor[CancelParams](), nil},
		methodProgress:     {note, reflect.TypeFor[ProgressParams](), nil},
		methodEvent:        {note, reflect.TypeFor[Event](), nil},
		methodRootsChanged: {note, reflect.TypeFor[RootsChangedParams](), nil},
		methodElicit:       {ofWharf, reflect.TypeFor[ElicitParams](), reflect.TypeFor[ElicitResult]()},
		methodSample:       {ofWharf, reflect.TypeFor[SampleParams](), reflect.TypeFor[json.RawMessage]()},
		methodRoots:        {ofWharf, reflect.TypeFor[ServerParams](), reflect.TypeFor[RootsResult]()},
		methodOpenURL:      {ofWharf, reflect.TypeFor[OpenURLParams](), reflect.TypeFor[OpenURLResult]()},
		methodPrompt:       {ofWharf, reflect.TypeFor[PromptParams](), reflect.TypeFor[PromptResult]()},
		methodShowCode:     {ofWharf, reflect.TypeFor[ShowCodeParams](), reflect.TypeFor[Empty]()},
		methodApprove:      {ofWharf, reflect.TypeFor[ApproveParams](), reflect.TypeFor[ApproveResult]()},
	}
	for name, m := range methods() {
		all[name] = message{ofEditor, m.params, m.result}
	}
	return all
}

func texts[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// known are the schemas of types whose values are not those of their fields.
func known() map[reflect.Type]*jsonschema.Schema {
	ofMCP := func(what string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Description: what + " of MCP, as the server wrote it"}
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():        {},
		reflect.TypeFor[time.Time]():              {Type: "string", Format: "date-time"},
		reflect.TypeFor[Action]():                 texts(Accept, Decline, Cancel),
		reflect.TypeFor[Decision]():               texts(NotNow, Once, Always, Never),
		reflect.TypeFor[EditOp]():                 texts(OpSet, OpUnset),
		reflect.TypeFor[NeedKind]():               {Type: "string", Examples: examples(NeedTrust, NeedPlugin, NeedGrant, NeedVariable, NeedSecret)},
		reflect.TypeFor[Kind]():                   {Type: "string", Description: "the kind of an error; others may be added", Examples: examples(allKinds...)},
		reflect.TypeFor[EventKind]():              {Type: "string", Examples: examples(allEvents...)},
		reflect.TypeFor[mcp.Tool]():               ofMCP("a tool"),
		reflect.TypeFor[mcp.Resource]():           ofMCP("a resource"),
		reflect.TypeFor[mcp.Task]():               ofMCP("a task"),
		reflect.TypeFor[mcp.ResourceTemplate]():   ofMCP("a template of resources"),
		reflect.TypeFor[mcp.Prompt]():             ofMCP("a prompt"),
		reflect.TypeFor[mcp.Completion]():         ofMCP("the completion"),
		reflect.TypeFor[mcp.CallToolResult]():     ofMCP("the result of tools/call"),
		reflect.TypeFor[mcp.ReadResourceResult](): ofMCP("the result of resources/read"),
		reflect.TypeFor[mcp.GetPromptResult]():    ofMCP("the result of prompts/get"),
	}
}

var allKinds = []Kind{
	KindNotInitialized, KindAlreadyInitialized, KindVersion, KindParams, KindUnknownMethod, KindUnknownServer, KindFutureEvent, KindCancelled,
	KindUnknownHandle, KindUnknownPlugin, KindTaken, KindChanged,
	KindConfiguration, KindUnknownTransport, KindDenied, KindSignIn, KindPluginRefused, KindDisabled, KindServer, KindUnsupported,
	KindInputRequired, KindProtocol, KindTimeout, KindUnreachable, KindInternal,
}

var allEvents = []EventKind{ServerState, ToolsChanged, PromptsChanged, ResourcesChanged, ResourceUpdated, Log, Stderr, Warning, PluginWarning, SignInNeeded, ConfigChanged, ClientOfGateway, Gap}

func examples[T ~string](values ...T) (list []any) {
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}

// schemaOf returns the schema of a type. It allows members that it does not know: later versions may
// have more.
func schemaOf(t *testing.T, of reflect.Type) *jsonschema.Schema {
	t.Helper()
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: known()})
	if err != nil {
		t.Fatalf("%s: %v", of, err)
	}
	open(s)
	return s
}

func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if a := s.AdditionalProperties; a != nil && a.Not != nil {
		s.AdditionalProperties = nil
	}
	if len(s.Types) == 2 && s.Types[0] == "null" { // a pointer or a slice; none of them is null
		s.Type, s.Types = s.Types[1], nil
	}
	open(s.Items)
	open(s.AdditionalProperties)
	for _, p := range s.Properties {
		open(p)
	}
}

// TestSchema compares schema.json with the types and methods. To write it anew:
// go test ./host/control -run TestSchema -update
func TestSchema(t *testing.T) {
	defs := map[string]*jsonschema.Schema{"error": schemaOf(t, reflect.TypeFor[ErrorData]())}
	ref := func(name string) *jsonschema.Schema {
		return &jsonschema.Schema{Ref: "#/$defs/" + strings.NewReplacer("~", "~0", "/", "~1", "$", "%24").Replace(name)}
	}
	constant := func(text string) *jsonschema.Schema { var v any = text; return &jsonschema.Schema{Const: &v} }
	all := messages()
	var forms []*jsonschema.Schema
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		defs[name+" params"] = schemaOf(t, m.params)
		form := &jsonschema.Schema{
			Title: string(m.side), Required: []string{"jsonrpc", "method"},
			Properties: map[string]*jsonschema.Schema{"jsonrpc": constant("2.0"), "method": constant(name), "params": ref(name + " params")},
		}
		if len(defs[name+" params"].Required) > 0 {
			form.Required = append(form.Required, "params")
		}
		if m.side != note {
			defs[name+" result"] = schemaOf(t, m.result)
			form.Required = append(form.Required, "id")
		}
		forms = append(forms, form)
	}
	forms = append(forms, &jsonschema.Schema{
		Title: "result, see $defs", Required: []string{"jsonrpc", "id", "result"},
		Properties: map[string]*jsonschema.Schema{"jsonrpc": constant("2.0")},
	}, &jsonschema.Schema{
		Title: "error", Required: []string{"jsonrpc", "id", "error"},
		Properties: map[string]*jsonschema.Schema{"jsonrpc": constant("2.0"), "error": {
			Required: []string{"code", "message"}, Properties: map[string]*jsonschema.Schema{
				"code": {Type: "integer"}, "message": {Type: "string"}, "data": ref("error")},
		}},
	})
	whole := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "The control protocol of Wharf, version 1",
		Type: "object", AnyOf: forms, Defs: defs,
	}
	if _, err := whole.Resolve(nil); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	json.Indent(&got, text, "", "  ")
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile("schema.json", got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(got.Bytes(), Schema()) {
		t.Error("schema.json is not what the types say; go test ./host/control -run TestSchema -update")
	}
}

// resolved are the definitions of schema.json, by name.
var resolved = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	var whole jsonschema.Schema
	if err := json.Unmarshal(Schema(), &whole); err != nil {
		return nil, err
	}
	all := make(map[string]*jsonschema.Resolved)
	for name, def := range whole.Defs {
		r, err := def.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = r
	}
	return all, nil
})

// conforms compares a message of Wharf with schema.json: the params of what it asks and tells, and the result or
// the data of the error of what it answers.
func (c *client) conforms(m *message) {
	c.t.Helper()
	all, err := resolved()
	if err != nil {
		c.t.Fatal(err)
	}
	of, text := m.Method+" params", m.Params
	switch asked, known := c.asks[string(m.ID)]; {
	case m.Method == "" && !known: // the test has written the request itself
		return
	case m.Result != nil:
		of, text = asked+" result", m.Result
	case m.Error != nil && m.Error.Data.Kind == "": // of JSON-RPC itself
		return
	case m.Error != nil:
		of = "error"
		text, _ = json.Marshal(m.Error.Data)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil || all[of] == nil {
		c.t.Errorf("%s: %q, %v; there is no such definition, or this is no JSON", of, text, err)
	} else if err := all[of].Validate(value); err != nil {
		c.t.Errorf("%s: %s: %v", of, text, err)
	}
}

// TestPage: docs/CONTROL.md names every method, kind of event, and code and kind of error.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/CONTROL.md")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Collect(maps.Keys(messages()))
	for _, kind := range allKinds {
		names = append(names, string(kind))
	}
	for _, kind := range allEvents {
		names = append(names, string(kind))
	}
	for _, name := range names {
		if !bytes.Contains(page, []byte("`"+name+"`")) {
			t.Errorf("it lacks `%s`", name)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| ((?:`[a-zA-Z]+(?:/[a-zA-Z]+)?`(?:, )?)+) \\|").FindAllSubmatch(page, -1) {
		for name := range strings.SplitSeq(string(row[1]), ", ") {
			if !slices.Contains(names, strings.Trim(name, "`")) {
				t.Errorf("it has a row of %s, which is none", name)
			}
		}
	}
	told := make(map[string]bool) // the kinds in the rows of codes
	for _, row := range regexp.MustCompile(`(?m)^\| -[0-9]+ \|[^|]*\|`).FindAll(page, -1) {
		row = regexp.MustCompile(`\([^)]*\)`).ReplaceAll(row, nil)
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(row, -1) {
			told[string(name[1])] = true
		}
	}
	for file, list := range map[string][]string{"fault.go": plainTexts(allKinds), "event.go": plainTexts(allEvents)} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var declared []string
		for _, c := range regexp.MustCompile(`Kind = "([^"]+)"`).FindAllSubmatch(source, -1) {
			declared = append(declared, string(c[1]))
		}
		slices.Sort(declared)
		if slices.Sort(list); !slices.Equal(declared, list) {
			t.Errorf("%s declares %q, and the schema has %q", file, declared, list)
		}
	}
	kinds := plainTexts(allKinds)
	if slices.Sort(kinds); !slices.Equal(slices.Sorted(maps.Keys(told)), kinds) {
		t.Errorf("the rows of codes have the kinds %q", slices.Sorted(maps.Keys(told)))
	}
	for _, code := range []int{CodeFailed, CodeNotInitialized, CodeInvalidRequest, CodeUnknownMethod, CodeInvalidParams, CodeCancelled} {
		if row := fmt.Sprintf("\n| %d | `", code); !bytes.Contains(page, []byte(row)) {
			t.Errorf("it has no row of errors with the code %d", code)
		}
	}
}

func plainTexts[T ~string](kinds []T) (all []string) {
	for _, kind := range kinds {
		all = append(all, string(kind))
	}
	return all
}

// mcphub are the routes below /api of mcp-hub 4.2.0 (src/server.js), its marketplace aside, and its events
// (src/utils/sse-manager.js).
var mcphub = []string{
	"GET /health", "GET /servers", "POST /servers/info", "POST /servers/start", "POST /servers/stop", "POST /servers/stop?disable=true",
	"POST /servers/refresh", "GET /refresh", "POST /servers/tools", "POST /servers/resources", "POST /servers/prompts", "POST /servers/authorize",
	"GET /oauth/callback", "POST /oauth/manual_callback", "POST /restart", "POST /hard-restart", "GET /workspaces", "GET /events",
	"heartbeat", "hub_state", "log", "config_changed", "servers_updating", "servers_updated", "tool_list_changed", "resource_list_changed",
	"prompt_list_changed", "workspaces_updated",
}

// The table about mcphub has each of its routes and events, and each row names tests that exist.
func TestParity(t *testing.T) {
	page, err := os.ReadFile("../../docs/CONTROL.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| mcphub | here | shown by |\n|-|-|-|\n")
	named := regexp.MustCompile("`([^`]+_test\\.go): (Test\\w+)`")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	for _, has := range mcphub {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(strings.Split(row, "|")[1], "`"+has+"`") }) {
			t.Errorf("no row has %s", has)
		}
	}
	for _, row := range rows {
		tests := named.FindAllStringSubmatch(row, -1)
		if len(tests) == 0 {
			t.Errorf("no test in %s", row)
		}
		for _, test := range tests {
			source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(test[1])))
			if err != nil || !bytes.Contains(source, []byte("\nfunc "+test[2]+"(")) {
				t.Errorf("there is no %s in %s (%v)", test[2], test[1], err)
			}
		}
	}
}
