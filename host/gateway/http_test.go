package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// site is a gateway over HTTP.
type site struct {
	*scene
	url     string
	client  *http.Client
	handler http.Handler
}

func newSite(t *testing.T, protocol string, change ...func(*host.Config, *gateway.Config)) *site {
	t.Helper()
	s := newScene(t, protocol, change...)
	handler := s.gateway.Handler()
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		s.gateway.Close() // ends what the clients listen to
		web.Close()
	})
	return &site{s, web.URL + "/mcp/files", web.Client(), handler}
}

// answer is an HTTP response whose body is read line by line.
type answer struct {
	t *testing.T
	*http.Response
	lines *bufio.Scanner
}

// do sends an HTTP request. Headers are "Name: value"; one without a value takes a header away.
func (s *site) do(ctx context.Context, method, body string, headers ...string) *answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(strings.TrimSuffix(name, ":"))
		default:
			r.Header.Add(name, value)
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	for name := range response.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			s.t.Errorf("pages of other origins may read it: %s", name)
		}
	}
	a := &answer{s.t, response, bufio.NewScanner(response.Body)}
	a.lines.Buffer(nil, 1<<25)
	return a
}

func (s *site) post(body string, headers ...string) *answer {
	s.t.Helper()
	return s.do(s.t.Context(), "POST", body, headers...)
}

// want compares the status and the whole of a body that is no stream.
func (a *answer) want(status int, body string) {
	a.t.Helper()
	got, _ := io.ReadAll(a.Body)
	if a.StatusCode != status || string(got) != body {
		a.t.Fatalf("\n got %d %s\nwant %d %s", a.StatusCode, got, status, body)
	}
}

// events compares the next events of a stream: "id data".
func (a *answer) events(want ...string) {
	a.t.Helper()
	if kind := a.Header.Get("Content-Type"); kind != "text/event-stream" || a.StatusCode != 200 {
		body, _ := io.ReadAll(a.Body)
		a.t.Fatalf("%d %s: %s", a.StatusCode, kind, body)
	}
	for _, w := range want {
		if got := a.event(); got != w {
			a.t.Fatalf("\n got %s\nwant %s", got, w)
		}
	}
}

// event returns the next event, or "" at the end of the stream.
func (a *answer) event() string {
	id, data, some := "", "", false
	for a.lines.Scan() {
		name, value, _ := strings.Cut(a.lines.Text(), ":")
		switch value = strings.TrimPrefix(value, " "); {
		case a.lines.Text() == "" && some:
			return strings.TrimSpace(id + " " + data)
		case name == "id":
			id, some = value, true
		case name == "data":
			data, some = value, true
		}
	}
	return ""
}

// open opens a legacy session, and returns its header and the server.
func (s *site) open(version, offered string) (header string, srv *end) {
	s.t.Helper()
	dialled := make(chan *end, 1)
	go func() {
		srv := s.server()
		srv.greet(legacy)
		dialled <- srv
	}()
	a := s.post(initialize("0", version, offered))
	id := a.Header.Get("Mcp-Session-Id")
	if body, _ := io.ReadAll(a.Body); a.StatusCode != 200 || id == "" {
		s.t.Fatalf("%d %q %s", a.StatusCode, id, body)
	}
	header = "Mcp-Session-Id: " + id
	s.post(initialized, header).want(202, "")
	return header, <-dialled
}

const call = `{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}`

// A legacy client has a session. A response is one message, or a stream where there is more.
func TestLegacyOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	session, srv := s.open(legacy, `{"sampling":{}}`)
	respond := func(id, result string) { srv.send(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`) }

	go func() {
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"x/own"}`)
		respond("$a", `{"big": 1e400,"x":"\u00e9"}`)
	}()
	a := s.post(`{"jsonrpc":"2.0","id":1.50,"method":"x/own"}`, session)
	if a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", a.Header)
	}
	a.want(200, `{"jsonrpc":"2.0","id":1.50,"result":{"big": 1e400,"x":"\u00e9"}}`)

	// Progress, a request of the server that is answered by a POST, and the result.
	a = nil
	began := make(chan struct{})
	go func() {
		defer close(began)
		srv.want(`{"jsonrpc":"2.0","id":$b,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":$token}}}`)
		srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":0.5}}`)
	}()
	a = s.post(call, session)
	<-began
	a.events("4-0", `4-1 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":0.5}}`)
	srv.send(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[]}}`)
	asked := a.event()
	id, rest, _ := strings.Cut(strings.TrimPrefix(asked, `4-2 {"jsonrpc":"2.0","id":`), ",")
	if rest != `"method":"sampling/createMessage","params":{"messages":[]}}` {
		t.Fatal(asked)
	}
	s.post(`{"jsonrpc":"2.0","id":`+id+`,"result":{"role":"assistant"}}`, session).want(202, "")
	srv.want(`{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant"}}`)
	respond("$b", `{"content":[]}`)
	a.events(`4-3 {"jsonrpc":"2.0","id":"a-1","result":{"content":[]}}`, "")

	// What belongs to no request is for who listens.
	srv.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	l := s.do(t.Context(), "GET", "", session)
	l.events("0-0", `0-1 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	srv.send(`{"jsonrpc":"2.0","id":"s2","method":"sampling/createMessage"}`)
	if got := l.event(); !strings.HasSuffix(got, `"method":"sampling/createMessage"}`) {
		t.Error(got)
	}
	s.do(t.Context(), "DELETE", "", session).want(204, "")
	l.events("")
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, session); a.StatusCode != 404 {
		t.Errorf("a session that has ended: %d", a.StatusCode)
	}
}

func modernHeaders(method string, more ...string) []string {
	return append(more, "Mcp-Protocol-Version: "+modern, "Mcp-Method: "+method)
}

// A modern client needs no session, and gives up a request by leaving.
func TestModernOverHTTP(t *testing.T) {
	s := newSite(t, modern)
	meta := modernMeta(`{}`, `,"progressToken":9`)
	dialled := make(chan *end, 1)
	go func() {
		srv := s.server()
		srv.greet(modern)
		dialled <- srv
	}()
	s.post(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{`+meta+`}}`, modernHeaders("server/discover")...).
		want(200, `{"jsonrpc":"2.0","id":"d","result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`)
	srv := <-dialled

	request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é",` + meta + `}}`
	named := modernHeaders("tools/call", "Mcp-Name: =?base64?w6k=?=")
	upstream := func() {
		delete(s.vars, "a")
		delete(s.vars, "token")
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"é",` + strings.Replace(meta, `"progressToken":9`, `"progressToken":$token`, 1) + `}}`)
	}
	go func() {
		upstream()
		srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`,
			`{"jsonrpc":"2.0","id":$a,"result":{"resultType":"complete", "x":1e400}}`)
	}()
	s.post(request, named...).events(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete", "x":1e400}}`, "")

	ctx, leave := context.WithCancel(t.Context())
	go func() {
		upstream()
		srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`)
	}()
	a := s.do(ctx, "POST", request, named...)
	a.event()
	leave()
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a,"reason":"the client gave up its request"}}`)

	for _, method := range []string{"GET", "DELETE", "PUT"} {
		if a := s.do(t.Context(), method, "", modernHeaders("")...); a.StatusCode != 405 {
			t.Errorf("%s: %d", method, a.StatusCode)
		}
	}
}

// A log message of a modern server on a stream names no request: it belongs to the only one under way,
// and not to those that listen.
func TestLogBesideAListener(t *testing.T) {
	s := newSite(t, modern)
	dialled := make(chan *end, 1)
	go func() {
		srv := s.server()
		srv.greet(modern)
		dialled <- srv
	}()
	listener := s.post(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{`+modernMeta(`{}`, "")+`,"notifications":{}}}`, modernHeaders("subscriptions/listen")...)
	listener.event() // the acknowledgement
	srv := <-dialled
	go func() {
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"prompts/get","params":{"name":"p",` + modernMeta(`{}`, "") + `}}`)
		srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}`,
			`{"jsonrpc":"2.0","id":$a,"result":{"resultType":"complete"}}`)
	}()
	s.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p",`+modernMeta(`{}`, "")+`}}`, modernHeaders("prompts/get", "Mcp-Name: p")...).
		events(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}`, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, "")
	go s.gateway.Close()
	if last := listener.event(); !strings.Contains(last, `"id":"l"`) {
		t.Errorf("who listens gets %s", last)
	}
}

// What is refused before any client sees it.
func TestRefusedOverHTTP(t *testing.T) {
	s := newSite(t, modern, func(_ *host.Config, c *gateway.Config) {
		c.Hosts = []string{"mcp.example"}
		c.Principal = func(r *http.Request) (string, error) {
			if r.Header.Get("Authorization") != "Bearer good" {
				return "", errors.New("no token")
			}
			return "me", nil
		}
	})
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta(`{}`, "") + `}}`
	get := `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p",` + modernMeta(`{}`, "") + `}}`
	headers := modernHeaders("server/discover")
	for _, c := range []struct {
		name, body string
		status     int
		says       string
		headers    []string
	}{
		{"host", discover, 403, "Host is not", append(headers, "Host: evil.example")},
		{"host that looks like ours", discover, 403, "Host is not", append(headers, "Host: localhost.evil.example")},
		{"host with a user", discover, 403, "Host is not", append(headers, "Host: localhost@evil.example")},
		{"no host name", discover, 403, "Host is not", append(headers, "Host: :80")},
		{"origin", discover, 403, "Origin is not", append(headers, "Origin: https://evil.example")},
		{"origin null", discover, 403, "Origin is not", append(headers, "Origin: null")},
		{"two origins", discover, 403, "Origin is not", append(headers, "Origin: http://localhost", "Origin: http://evil.example")},
		{"origin of a file", discover, 403, "Origin is not", append(headers, "Origin: file://localhost")},
		{"no token", discover, 401, "no token", append(headers, "Authorization:")},
		{"type", discover, 415, "Content-Type", append(headers, "Content-Type:", "Content-Type: text/plain")},
		{"accept", discover, 406, "Accept", append(headers, "Accept:", "Accept: application/json")},
		{"no JSON", "{", 400, "-32700", headers},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, 400, "nothing was asked", headers},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, `"id":null`, headers},
		{"a batch", "[" + discover + "]", 400, "-32600", headers},
		{"too big", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 16<<20) + `"}`, 413, "16 MiB", headers},
		{"no session", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, "Mcp-Session-Id", nil},
		{"unknown session", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 404, "initialize anew", []string{"Mcp-Session-Id: x"}},
		{"no version", discover, 400, "-32020", []string{"Mcp-Method: server/discover"}},
		{"other version", discover, 400, "-32020", []string{"Mcp-Method: server/discover", "Mcp-Protocol-Version: 2025-11-25"}},
		{"no _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, "-32602", modernHeaders("tools/list")},
		{"unknown version", strings.ReplaceAll(discover, modern, "2099-01-01"), 400, `-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"]`,
			[]string{"Mcp-Method: server/discover", "Mcp-Protocol-Version: 2099-01-01"}},
		{"no method", discover, 400, "-32020", []string{"Mcp-Protocol-Version: " + modern}},
		{"other method", discover, 400, `-32020,"message":"Header mismatch: the header Mcp-Method is \"tools/list\"`, modernHeaders("tools/list")},
		{"case of the method", discover, 400, "-32020", modernHeaders("Server/Discover")},
		{"no name", get, 400, "-32020", modernHeaders("prompts/get")},
		{"other name", get, 400, "-32020", modernHeaders("prompts/get", "Mcp-Name: q")},
		{"name in bad Base64", get, 400, "-32020", modernHeaders("prompts/get", "Mcp-Name: =?base64?c?=")},
		{"name that no header has", get, 400, "-32020", modernHeaders("prompts/get", "Mcp-Name: é")},
		{"argument in a bad header", discover, 400, "-32020", append(headers, "Mcp-Param-X: é")},
		{"legacy method", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta(`{}`, "") + `}}`, 404, "-32601", modernHeaders("ping")},
	} {
		a := s.post(c.body, append([]string{"Authorization: Bearer good"}, c.headers...)...)
		body, _ := io.ReadAll(a.Body)
		if a.StatusCode != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %d %s", c.name, a.StatusCode, body)
		}
		if c.status == 401 && a.Header.Get("Www-Authenticate") == "" {
			t.Errorf("%s: %v", c.name, a.Header)
		}
		if a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages may read it", c.name)
		}
	}
	for _, ours := range []string{"Host: mcp.example:8080", "Host: MCP.example", "Host: [::1]:80", "Origin: https://mcp.example", "Origin: http://localhost:3000"} {
		a := s.post("{", "Authorization: Bearer good", ours)
		if a.StatusCode != 400 || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", ours, a.StatusCode, a.Header)
		}
	}
	s.url = strings.Replace(s.url, "/mcp/files", "/mcp/file", 1)
	if a := s.post(discover, append(headers, "Authorization: Bearer good")...); a.StatusCode != 404 {
		t.Errorf("another path: %d", a.StatusCode)
	}
}

// The headers of a call that repeat its arguments are compared with them, at one server and at all as one.
func TestArgumentHeadersOverHTTP(t *testing.T) {
	p := newPair(t, modern, modern)
	p.play(p.servers, "files", modern, `{"name":"one","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"}}}}`, "")
	web := httptest.NewServer(p.gateway.Handler())
	t.Cleanup(web.Close)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{"city":"Öland"},` + modernMeta(`{}`, "") + `}}`
	for path, tool := range map[string]string{"/mcp/files": "one", "/mcp": "files__one"} {
		s := &site{scene: p.scene, url: web.URL + path, client: web.Client()}
		for header, says := range map[string]string{
			"Mcp-Param-City: =?base64?w5ZsYW5k?=": "files got", "Mcp-Param-City: Rome": `is \"Rome\", and the argument is \"Öland\"`, "Mcp-Param-Other: x": "is missing",
		} {
			a := s.post(fmt.Sprintf(call, tool), modernHeaders("tools/call", "Mcp-Name: "+tool, header)...)
			body, _ := io.ReadAll(a.Body)
			if !strings.Contains(string(body), says) || (a.StatusCode == 400) != strings.Contains(string(body), "-32020") {
				t.Errorf("%s, %s: %d %s", path, header, a.StatusCode, body)
			}
		}
	}
}

// The token of clients is made once, in a file that only the user reads.
func TestBearer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "serve")
	who, file, err := gateway.Bearer(dir)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(file)
	if err != nil || len(token) != 53 {
		t.Fatalf("%q %v", token, err)
	}
	good := strings.TrimSpace(string(token))
	if again, _, err := gateway.Bearer(dir); err != nil {
		t.Error(err)
	} else if _, err := again(&http.Request{Header: http.Header{"Authorization": {"bearer  " + good}}}); err != nil {
		t.Errorf("at the next start: %v", err)
	}
	for _, bad := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic " + good, good, "Bearer " + good[1:], "Bearer " + good + "x"} {
		if _, err := who(&http.Request{Header: http.Header{"Authorization": {bad}}}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := gateway.Bearer(dir); err == nil {
		t.Error("an empty token")
	}
}
