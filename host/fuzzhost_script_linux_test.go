//go:build !race

package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// script is what a random server does, on all its connections together.
type script struct {
	choices
	sent atomic.Int64 // bytes
	ends []func()     // of its connections
	lock sync.Mutex
	done bool
}

const (
	scriptBytes  = 2 << 20   // that a server sends at most
	messageBytes = 256 << 10 // of one message
)

// until has the connection end with the script.
func (s *script) until(end func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.done {
		end()
		return
	}
	s.ends = append(s.ends, end)
}

func (s *script) cancel() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.done = true
	for _, end := range s.ends {
		end()
	}
}

// results are what servers of both eras answer, before it is changed; the first of a
// method is the plain one.
var results = map[string][]string{
	"initialize":      {`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{},"completions":{},"tasks":{"list":{}}},"serverInfo":{"name":"s","version":"1"}}`},
	"server/discover": {`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"resultType":"complete"}`},
	"tools/list": {
		`{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string","pattern":"^h.*o$"},"n":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"integer","minimum":1}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"resultType":"complete","ttlMs":1000}`,
		`{"tools":[{"name":"echo","inputSchema":{}}],"nextCursor":"a"}`,
	},
	"tools/call": {
		`{"content":[{"type":"text","text":"x"},{"type":"resource","resource":{"uri":"a:b","blob":"eA=="}}],"structuredContent":{"a":1},"resultType":"complete"}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"name":{"type":"string","enum":["a","b"]}}}}},"b":{"method":"roots/list"},"c":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}},"requestState":"s"}`,
		`{"resultType":"task","taskId":"1","status":"working","ttlMs":1000,"pollIntervalMs":1}`,
	},
	"prompts/list":             {`{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]}]}`, `{"prompts":[{"name":"p"}],"nextCursor":"b"}`},
	"prompts/get":              {`{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`},
	"resources/list":           {`{"resources":[{"uri":"file:///a","name":"a","size":1}],"ttlMs":1000}`, `{"resources":[{"uri":"file:///a"}],"nextCursor":"c"}`},
	"resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"file:///{a}","name":"t"}]}`},
	"resources/read":           {`{"contents":[{"uri":"file:///a","text":"x"}],"ttlMs":1000}`},
	"completion/complete":      {`{"completion":{"values":["a","b"],"total":2,"hasMore":false}}`},
	"tasks/list":               {`{"tasks":[{"taskId":"1","status":"working","ttl":1000}]}`},
	"tasks/get":                {`{"taskId":"1","status":"completed","ttlMs":1000,"result":{"content":[]}}`, `{"taskId":"1","status":"input_required","pollIntervalMs":1}`},
	"subscriptions/listen":     {`{}`},
}

// unasked are requests and notifications of a server.
var unasked = []string{
	`"id":"s1","method":"ping"`, `"id":"s1","method":"roots/list"`, `"id":7,"method":"no/such","params":{}`,
	`"id":"s2","method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","maximum":3}},"required":["name"]}}`,
	`"id":"s3","method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.org/a","elicitationId":"e"}`,
	`"id":"s4","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":10}`,
	`"method":"notifications/message","params":{"level":"info","data":"x"}`, `"method":"notifications/tools/list_changed"`,
	`"method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":1}`, `"method":"notifications/cancelled","params":{"requestId":"s2"}`,
	`"method":"notifications/resources/updated","params":{"uri":"file:///a"}`, `"method":"notifications/elicitation/complete","params":{"elicitationId":"e"}`,
	`"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}`, `"method":"notifications/resources/list_changed"`,
}

var faults = []string{
	`{"code":-32601,"message":"no"}`, `{"code":-32602,"message":"unknown tool"}`, `{"code":-32022,"message":"v","data":{"supported":["2026-07-28","2025-11-25"],"requested":"x"}}`,
	`{"code":-32042,"message":"p","data":{"elicitations":[{"mode":"url","message":"m","url":"https://example.org","elicitationId":"e"}]}}`,
	`{"code":-32021,"message":"c","data":{"requiredCapabilities":{"sampling":{}}}}`, `"no"`,
}

// reply returns the messages for a request, each without its line feed.
func (s *script) reply(method string, id json.RawMessage) []string {
	if id == nil {
		if s.rarely() {
			return []string{s.message(unasked[s.next(len(unasked))])}
		}
		return nil
	}
	good := fmt.Sprintf(`"id":%s,"result":%s`, id, s.result(method))
	fault := func() string { return fmt.Sprintf(`"id":%s,"error":%s`, id, s.changed(faults[s.next(len(faults))])) }
	hello := method == "initialize" || method == "server/discover"
	switch kind := s.next(16); {
	case hello && kind < 14: // most get so far
		return []string{`{"jsonrpc":"2.0",` + good + `}`}
	case kind < 6:
		return []string{s.message(good)}
	case kind < 8:
		return []string{s.message(fault())}
	case kind < 12:
		var all []string
		for range 1 + s.next(4) {
			all = append(all, s.message(s.member(unasked[s.next(len(unasked))])))
		}
		return append(all, s.message(good))
	case kind == 12: // twice, and with another id
		return []string{s.message(good), s.message(good), s.message(strings.Replace(good, `"id":`, `"id":1`, 1))}
	case kind == 13:
		return []string{s.message(good + `,"result":{}`)}
	case kind == 14:
		return []string{s.garbage()}
	}
	return nil
}

// member changes the params of a message.
func (s *script) member(text string) string {
	head, params, ok := strings.Cut(text, `"params":`)
	if !ok {
		return text
	}
	return head + `"params":` + s.changed(params)
}

func (s *script) result(method string) string {
	all := results[method]
	if all == nil {
		all = []string{`{}`}
	}
	return s.changed(all[s.next(len(all))])
}

// message is one, which may be cut short.
func (s *script) message(members string) string {
	text := `{"jsonrpc":"2.0",` + members + `}`
	if s.rarely() {
		text = text[:s.next(len(text))]
	}
	return text
}

func (s *script) garbage() string {
	pieces := []string{"\x00\xff", "[", `{"jsonrpc":"2.0"}`, "null", strings.Repeat("[", 1<<s.next(16)), strings.Repeat(`{"a":`, 1<<s.next(14)), strings.Repeat(" ", 1<<s.next(17)), "\r"}
	return pieces[s.next(len(pieces))]
}

// changed is a JSON value with other values in some places, the half of the time.
func (s *script) changed(text string) string {
	times := s.next(6) - 2
	if times <= 0 {
		return text
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	for range times {
		v = s.change(v)
	}
	out, _ := json.Marshal(v)
	if len(out) > messageBytes {
		return text
	}
	return string(out)
}

// change goes down into a value, and replaces or repeats what it finds there.
func (s *script) change(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if s.next(4) == 0 || len(v) == 0 {
			v[memberNames[s.next(len(memberNames))]] = s.value(messageBytes)
			return v
		}
		keys := slices.Sorted(maps.Keys(v))
		key := keys[s.next(len(keys))]
		v[key] = s.change(v[key])
		return v
	case []any:
		if len(v) > 0 && s.next(2) == 0 {
			at := s.next(len(v))
			v[at] = s.change(v[at])
			return v
		}
		if len(v) > 0 {
			one, _ := json.Marshal(v[0])
			return slices.Repeat(v[:1], s.times(messageBytes/len(one)))
		}
		return append(v, s.value(messageBytes))
	case string:
		if s.next(2) == 0 {
			return strings.Repeat(v+"x", s.times(messageBytes/(len(v)+1)))
		}
	}
	return s.value(messageBytes)
}

// times is a power of two, but no more than most and no less than 1.
func (s *script) times(most int) int { return max(1, min(1<<s.next(16), most)) }

// memberNames are keys that mean something somewhere, as words of schemas do.
var memberNames = []string{
	"nextCursor", "_meta", "resultType", "$ref", "$defs", "allOf", "anyOf", "oneOf", "not", "if", "pattern", "patternProperties", "properties", "items", "enum", "type", "$id", "$schema",
	"$dynamicRef", "x-mcp-header", "content", "isError", "ttlMs", "taskId", "status", "params", "id", "method", "", "TOOLS", "a", "io.modelcontextprotocol/serverInfo", "uri", "blob", "text", "annotations",
}

// value is any JSON value of about so many bytes at most.
func (s *script) value(room int) any {
	kind := s.next(12)
	if room < 64 {
		kind %= 7
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return s.next(2) == 1
	case 2:
		return []json.Number{"0", "1", "-1", "1e308", "123456789012345678901234567890", "0.1", "4294967296", "1e-400"}[s.next(8)]
	case 3:
		return []string{"", "a", "#", "#/$defs/a", "object", "\u0000", "\x1b[31m", "(a+)+$", "http://example.org/a", "complete", "task", "input_required", "2026-07-28", "\U0001f600"}[s.next(14)]
	case 4:
		return strings.Repeat("y", s.times(room))
	case 5, 6:
		return memberNames[s.next(len(memberNames))]
	case 7, 8:
		many := s.times(room / 4)
		return slices.Repeat([]any{s.value(room / many)}, many)
	}
	object := map[string]any{}
	for range s.next(5) {
		object[memberNames[s.next(len(memberNames))]] = s.value(room / 4)
	}
	return object
}

// write sends text in pieces; it is false when the server has sent enough.
func (s *script) write(w io.Writer, text string) bool {
	if s.sent.Add(int64(len(text))) > scriptBytes {
		return false
	}
	for len(text) > 0 {
		n := len(text)
		if s.next(4) == 3 {
			n = min(n, 1+s.next(64))
		}
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return false
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		text = text[n:]
	}
	return true
}

// lines serves a connection in lines.
func (s *script) lines(conn net.Conn) {
	s.until(func() { conn.Close() })
	defer conn.Close()
	in := bufio.NewReader(conn)
	if s.rarely() && !s.write(conn, s.garbage()+"\n") {
		return
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		json.Unmarshal(line, &r)
		for _, text := range s.reply(r.Method, r.ID) {
			if !s.write(conn, text+"\n") {
				return
			}
		}
		if s.rarely() {
			return
		}
	}
}

// ServeHTTP serves a request of Streamable HTTP or HTTP+SSE.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	s.until(leave)
	body, _ := io.ReadAll(r.Body)
	var m request
	json.Unmarshal(body, &m)
	status, media := 200, mediaJSON
	if r.Method == "GET" && s.next(4) != 0 {
		http.Error(w, "not here", http.StatusMethodNotAllowed)
		return
	}
	if s.next(3) == 1 || r.Method == "GET" {
		media = mediaEvents
	}
	if m.ID == nil && r.Method == "POST" {
		status = 202
	}
	if s.rarely() {
		status = []int{100, 204, 206, 301, 307, 400, 401, 403, 404, 405, 413, 429, 500, 503, 599}[s.next(15)]
	}
	s.heads(w, m.Method)
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	s.body(w, media, s.reply(m.Method, m.ID))
	switch {
	case s.rarely(): // it says no more and does not hang up
		w.(http.Flusher).Flush()
		<-ctx.Done()
	case s.rarely():
		panic(http.ErrAbortHandler)
	}
}

func (s *script) heads(w http.ResponseWriter, method string) {
	if method == "initialize" && s.next(2) == 0 {
		w.Header().Set("Mcp-Session-Id", "s")
	}
	for range max(0, s.next(8)-5) {
		name := []string{"Location", "Mcp-Session-Id", "Content-Encoding", "Set-Cookie", "Retry-After", "WWW-Authenticate", "Upgrade", "X"}[s.next(8)]
		value := []string{"", "s", "/", "http://127.0.0.1:1/", "gzip", "a=b", "99999999999", "Bearer resource_metadata=\"/x\"", "Bearer error=\"insufficient_scope\"", strings.Repeat("z", 1<<s.next(14))}[s.next(10)]
		w.Header().Add(name, value)
	}
}

func (s *script) body(w http.ResponseWriter, media string, messages []string) {
	for n, text := range messages {
		if media == mediaEvents {
			text = fmt.Sprintf([]string{"data: %s\n\n", "event: message\r\nid: 1\r\ndata: %s\r\n\r\n", "retry: 1\nid: \x00\ndata: %s\n\n", ": x\n\ndata:%s\n\n", "event: endpoint\ndata: ?a=%s\n\n"}[max(0, s.next(12)-7)], text)
		} else if n > 0 && s.next(2) == 0 {
			return
		}
		if !s.write(w, text) {
			return
		}
	}
}

// scriptedSocket is an address at which the server of the newest script is.
type scriptedSocket struct {
	address string
	url     string
	now     atomic.Pointer[script]
}

func (a *scriptedSocket) play(s *script) { a.now.Store(s) }

func newScriptedSocket(f *testing.F) *scriptedSocket {
	l, err := net.Listen("unix", filepath.Join(f.TempDir(), "s"))
	if err != nil {
		f.Fatal(err)
	}
	a := &scriptedSocket{address: "unix:" + l.Addr().String()}
	a.play(&script{done: true})
	var wg sync.WaitGroup
	f.Cleanup(func() { l.Close(); a.now.Load().cancel(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s := a.now.Load()
			wg.Go(func() { s.lines(conn) })
		}
	})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.now.Load().ServeHTTP(w, r) }))
	f.Cleanup(web.Close)
	a.url = web.URL
	return a
}
