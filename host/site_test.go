package host_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// answer writes the response to a tools/call with that id.
type answer func(w http.ResponseWriter, r *http.Request, id string)

// site is a server at an http address, without a library. It has the tool echo,
// and what it answers to others is their business. The zero value is of the
// modern era.
type site struct {
	legacy   bool
	sse      bool // HTTP+SSE, and so legacy
	tools    map[string]answer
	list     answer // in place of the answer to tools/list
	discover answer // in place of the answer to server/discover and initialize
	unknown  answer // to the requests of another session; nil is a 404
	get      http.HandlerFunc
	delete   http.HandlerFunc
	heard    func(method string)         // of every message
	reply    func(message string) string // to a call of another tool; nil is the message itself

	mu        sync.Mutex
	session   int             // that it knows
	greeted   int             // handshakes so far
	streams   int             // so far
	events    chan string     // of the last stream, until streaming is done
	streaming context.Context // of its request
	endpoint  string          // query of the address that belongs to it
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	other := map[string]http.HandlerFunc{"GET": s.get, "DELETE": s.delete}[r.Method]
	switch {
	case s.sse && r.Method == "GET":
		s.stream(w, r)
	case s.sse && r.Method == "POST":
		s.shout(w, r)
	case r.Method == "POST":
		s.post(w, r)
	case other != nil:
		other(w, r)
	default:
		http.Error(w, "not here", http.StatusMethodNotAllowed)
	}
}

func (s *site) post(w http.ResponseWriter, r *http.Request) {
	var m request
	json.NewDecoder(r.Body).Decode(&m)
	io.Copy(io.Discard, r.Body) // net/http watches for the client's end only then
	if s.heard != nil {
		s.heard(m.Method)
	}
	id, tool := string(m.ID), s.tools[m.Params.Name]
	hello := m.Method == "initialize" || m.Method == "server/discover"
	switch {
	case m.ID == nil, m.Method == "": // a notification, or an answer of the client
		w.WriteHeader(http.StatusAccepted)
	case hello && s.discover != nil:
		s.discover(w, r, id)
	case m.Method == "initialize" && s.legacy:
		w.Header().Set("Mcp-Session-Id", s.greet())
		result(w, id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}`)
	case m.Method == "server/discover" && !s.legacy:
		result(w, id, `{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`)
	case hello:
		page(400, mediaJSON, `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32600,"message":"not in this era"}}`)(w, r, id)
	case s.legacy && !s.sse && !s.knows(r.Header.Get("Mcp-Session-Id")) && s.unknown != nil:
		s.unknown(w, r, id)
	case s.legacy && !s.sse && !s.knows(r.Header.Get("Mcp-Session-Id")):
		http.Error(w, "no such session", http.StatusNotFound)
	case m.Method == "tools/call" && tool != nil:
		tool(w, r, id)
	case m.Method == "tools/call" && s.reply != nil:
		result(w, id, good(s.reply(m.Params.Arguments.Message)))
	case m.Method == "tools/call":
		result(w, id, good(m.Params.Arguments.Message))
	case m.Method == "tools/list" && s.list != nil:
		s.list(w, r, id)
	case m.Method == "tools/list":
		var list []string
		for _, name := range slices.Sorted(maps.Keys(s.tools)) {
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		result(w, id, fmt.Sprintf(`{"tools":[%s],"resultType":"complete"}`, strings.Join(list, ",")))
	default:
		http.Error(w, "no "+m.Method, http.StatusBadRequest)
	}
}

// stream is the stream of HTTP+SSE. The last one that was begun is the session.
func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	events := make(chan string)
	s.mu.Lock()
	s.streams++
	session := fmt.Sprint("?session=", s.streams)
	s.events, s.streaming, s.endpoint = events, r.Context(), session
	s.mu.Unlock()
	page(200, mediaEvents, "event: endpoint\ndata: "+session+"\n\n")(w, r, "")
	for {
		w.(http.Flusher).Flush()
		select {
		case text := <-events:
			fmt.Fprintf(w, "data: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

// shout takes a message of HTTP+SSE and answers it by the stream of its session, as
// long as there is one.
func (s *site) shout(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	events, streaming, known := s.events, s.streaming, "?"+r.URL.RawQuery == s.endpoint
	s.mu.Unlock()
	if !known || streaming.Err() != nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	answer := httptest.NewRecorder()
	s.post(answer, r)
	w.WriteHeader(http.StatusAccepted)
	w.(http.Flusher).Flush()
	if answer.Body.Len() == 0 {
		return
	}
	select {
	case events <- answer.Body.String():
	case <-streaming.Done():
	case <-r.Context().Done():
	}
}

// greet begins a session and ends the one before.
func (s *site) greet() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session++
	s.greeted++
	return fmt.Sprintf("session-%d", s.session)
}

func (s *site) knows(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return session == fmt.Sprintf("session-%d", s.session)
}

// forget makes the session of before unknown.
func (s *site) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session++
}

func (s *site) handshakes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeted
}

func result(w http.ResponseWriter, id, text string) {
	w.Header().Set("Content-Type", mediaJSON)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, text)
}

// page answers with text, in which %ID% is the id.
func page(status int, media, text string) answer {
	return func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		io.WriteString(w, strings.ReplaceAll(text, "%ID%", id))
	}
}

// held answers and does not end the response.
func held(status int, media, text string) answer {
	return func(w http.ResponseWriter, r *http.Request, id string) {
		page(status, media, text)(w, r, id)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// endless repeats a piece for ever, after a beginning.
func endless(status int, media, begin, piece string) answer {
	return func(w http.ResponseWriter, r *http.Request, id string) {
		page(status, media, begin)(w, r, id)
		pour(w, piece)
	}
}

func pour(w io.Writer, piece string) {
	chunk := bytes.Repeat([]byte(piece), 1<<16/len(piece))
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// raw answers below HTTP, and hangs up.
func raw(text, forever string) answer {
	return func(w http.ResponseWriter, r *http.Request, id string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, strings.ReplaceAll(text, "%ID%", id))
		if forever != "" {
			pour(conn, forever)
		}
	}
}

// silent never answers.
func silent(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }

// drip sends a byte whenever the last one is on its way, and never an answer.
func drip(media, begin string) answer {
	return func(w http.ResponseWriter, r *http.Request, id string) {
		page(200, media, begin)(w, r, id)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			<-tick.C
		}
	}
}

// bomb is some kilobytes that become many megabytes.
func bomb() answer {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `{"jsonrpc":"2.0","id":1,"result":"`)
	for zeros := make([]byte, 1<<20); packed.Len() < 1<<16; {
		z.Write(zeros)
	}
	z.Close()
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", mediaJSON)
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	}
}

var fine = `{"jsonrpc":"2.0","id":%ID%,"result":` + good("still here") + `}`

// misdeed is a tool and what becomes of its call.
type misdeed struct {
	answer answer
	want   string // as in TestBadAnswers
}

// misdeeds are answers of servers that are broken or mean harm.
var misdeeds = map[string]misdeed{
	// Of HTTP.
	"a web page":         {page(200, "text/html", "<html>hello</html>"), "text/html"},
	"a page for JSON":    {page(200, mediaJSON, "<html>hello</html>"), "expected one JSON-RPC message"},
	"nothing":            {page(200, mediaJSON, ""), "no response received"},
	"no media type":      {page(200, "", fine), ""},
	"nothing to say":     {page(204, "", ""), "no response received"},
	"accepted":           {page(202, "", ""), "no response received"},
	"a fault":            {page(500, "text/plain", "out of cheese"), "HTTP 500: out of cheese"},
	"a coloured fault":   {page(500, "text/plain", "\x1b[31mred\x07\u202e"), "HTTP 500: [31mred"},
	"a fault with rules": {page(400, mediaJSON, `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32602,"message":"unknown tool"}}`), "unknown tool"},
	"a nameless fault":   {page(400, mediaJSON, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`), "parse error"},
	"busy":               {page(503, "text/plain", "later"), "HTTP 503: later"},
	"who are you":        {page(401, "text/plain", "who are you"), "HTTP 401"},
	"endless fault":      {endless(500, "text/plain", "", "no "), "HTTP 500: no no"},
	"cut short":          {raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{", ""), "broke off"},
	"cut in a chunk":     {raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n40\r\ndata: {", ""), "broke off"},
	"bad chunks":         {raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ""), "invalid byte in chunk"},
	"two lengths":        {raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", ""), "multiple Content-Length"},
	"no HTTP":            {raw("SSH-2.0-OpenSSH_9.9\r\n", ""), "malformed HTTP response"},
	"hangs up":           {raw("", ""), "closed the connection"},
	"endless head":       {raw("HTTP/1.1 200 OK\r\nX-Long: ", "x"), "headers exceeded"},
	"endless heads":      {raw("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), "headers exceeded"},
	"upgrade":            {raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: pigeon\r\n\r\n", ""), "upgraded"},
	"half open":          {silent, "late"},
	"half a head":        {held(200, mediaJSON, ""), "late"},
	"half a body":        {held(200, mediaJSON, `{"jsonrpc":"2.0",`), "late"},
	"slow drip":          {drip(mediaJSON, `{"jsonrpc":"2.0","id":%ID%,"result":`), "late"},
	"slow events":        {drip(mediaEvents, ": "), "late"},

	// Of JSON.
	"wrong id":  {page(200, mediaJSON, `{"jsonrpc":"2.0","id":4711,"result":{}}`), "another id"},
	"text id":   {page(200, mediaJSON, `{"jsonrpc":"2.0","id":"%ID%","result":{}}`), "changed the id's type"},
	"null id":   {page(200, mediaJSON, `{"jsonrpc":"2.0","id":null,"result":{}}`), "expected one JSON-RPC message"},
	"array":     {page(200, mediaJSON, `[{"jsonrpc":"2.0","id":%ID%,"result":{}}]`), "array of messages"},
	"two":       {page(200, mediaJSON, fine+"\n"+fine), "malformed"},
	"deep":      {page(200, mediaJSON, tools["deep"]), "malformed"},
	"bad utf-8": {page(200, mediaJSON, tools["bad utf-8"]), "malformed"},
	"twice key": {page(200, mediaJSON, tools["twice a key"]), "malformed"},
	"no answer": {page(200, mediaJSON, `{"jsonrpc":"2.0","method":"notifications/note"}`), "no response received"},
	"pretty":    {page(200, mediaJSON, "{\n \"jsonrpc\":\"2.0\",\n \"id\":%ID%,\n \"result\":"+good("x")+"}\n"), ""},
	"marked":    {page(200, mediaJSON, "\ufeff"+fine), ""},
	"an octet":  {page(200, "application/octet-stream", fine), "application/octet-stream"},
	"charset":   {page(200, "Application/JSON; charset=utf-8", fine), ""},

	// Of events.
	"no event":         {page(200, mediaEvents, ""), "no response received"},
	"a bad event":      {page(200, mediaEvents, "data: {nope\n\n"), "malformed message: unexpected byte at offset 1, and the body of HTTP 200 has no other answer"},
	"a bad event 7":    {page(200, mediaEvents, "id: 7\nretry: 1\ndata: {nope\n\n"), "malformed message: unexpected byte at offset 1, and the body of HTTP 200 has no other answer"},
	"an empty event 7": {page(200, mediaEvents, "id: 7\nretry: 1\ndata:\n\n"), "no response received"},
	"without its end":  {page(200, mediaEvents, "data: "+fine), "no response received"},
	"wrong event":      {page(200, mediaEvents, "data: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n\n"), "another id"},
	"wrong and held":   {held(200, mediaEvents, "data: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n\n"), "another id"},
	"garbage event":    {page(200, mediaEvents, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/note\"}\n\ndata: \x00\xff<html>{[\n\ndata: 42\n\ndata:\n\ndata: "+fine+"\n\n"), ""},
	"no colons":        {page(200, mediaEvents, "data\nevent\nnonsense\n\ndata: "+fine+"\n\n"), ""},
	"marked events":    {page(200, mediaEvents, "\ufeffdata: "+fine+"\n\n"), ""},
	"carriage returns": {page(200, mediaEvents, ": hello\r\rdata: "+fine+"\r\r"), ""},
	"many lines":       {page(200, mediaEvents, "event: message\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":%ID%,\r\ndata:\"result\":"+good("x")+"}\r\n\r\n"), ""},
	"other events":     {page(200, mediaEvents, "event: ping\ndata: {}\n\nevent: endpoint\ndata: http://192.0.2.1/\n\ndata: "+fine+"\n\n"), ""},
	"twice":            {page(200, mediaEvents, "data: "+fine+"\n\ndata: "+fine+"\n\n"), ""},
	"more to come":     {held(200, mediaEvents, "data: "+fine+"\n\n"), ""},
	"chatter":          {endless(200, mediaEvents, "data: "+fine+"\n\n", ": and another thing, "+strings.Repeat("and another ", 20)+"\n\n"), ""},
	"a long id":        {page(200, mediaEvents, "id: "+strings.Repeat("x", 1<<20)+"\nretry: 99999999999999999999\ndata: "+fine+"\n\n"), ""},
	"asks":             {page(200, mediaEvents, `data: {"jsonrpc":"2.0","id":"s1","method":"ping"}`+"\n\ndata: "+fine+"\n\n"), ""},
}

// floods are pieces of which an event stream is made without end. Some cost the
// reader so much for each byte that the plugin may not go on: then the error says
// that. The others end with their call.
var floods = map[string]struct {
	piece string
	heavy bool
}{
	"notes":      {piece: "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/note","params":{"n":1}}` + "\n\n"},
	"requests":   {piece: "data: " + `{"jsonrpc":"2.0","id":"s","method":"no/such","params":{"n":1}}` + "\n\n"},
	"long ids":   {piece: "id: " + strings.Repeat("x", 1<<14) + "\n"},
	"words":      {piece: "nonsense"},
	"comments":   {piece: ": " + strings.Repeat("x", 80) + "\n"},
	"blanks":     {piece: "\n", heavy: true},
	"returns":    {piece: "\r\n", heavy: true},
	"names":      {piece: "x\n", heavy: true},
	"ids":        {piece: "id:1\n", heavy: true},
	"id events":  {piece: "id:1\n\n", heavy: true},
	"kinds":      {piece: "event:x\n", heavy: true},
	"retries":    {piece: "retry:1\n\n", heavy: true},
	"no data":    {piece: "data\n", heavy: true},
	"blank data": {piece: "data:\n\n", heavy: true},
	"others":     {piece: "event:x\ndata:1\n\n", heavy: true},
}

// gate is a tool that says when it was called and answers when it is let.
type gate struct{ called, let chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

func (g gate) answer(w http.ResponseWriter, r *http.Request, id string) {
	select {
	case g.called <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	select {
	case <-g.let:
		result(w, id, good("let"))
	case <-r.Context().Done():
	}
}

// during runs f while a call is in flight, which f must not harm.
func (g gate) during(t *testing.T, s *host.Session, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := s.CallTool(t.Context(), "gate", nil)
		done <- err
	}()
	<-g.called
	f()
	var err error
	select {
	case err = <-done:
		err = fmt.Errorf("before it was answered: %w", err)
	case g.let <- struct{}{}:
		err = <-done
	}
	if err != nil {
		t.Errorf("another call in flight ended with %v", err)
	}
}

// eras are sites with the same tools, by how their entries name the protocol.
func eras(t *testing.T, tools map[string]answer) map[string]string {
	return map[string]string{
		"2026-07-28": serve(t, &site{tools: tools}),
		"legacy":     serve(t, &site{legacy: true, tools: tools}),
	}
}

// address is where servers come and go.
type address struct {
	t      *testing.T
	at     string
	server *http.Server
}

func newAddress(t *testing.T) *address {
	l := ownPort(t)
	defer l.Close()
	a := &address{t: t, at: l.Addr().String()}
	t.Cleanup(a.kill)
	return a
}

// ownPort listens on a port that can be given back and had again: the system itself
// gives it to no process, as it does those from 32768 on to one that asks for any.
func ownPort(t *testing.T) net.Listener {
	t.Helper()
	for range 100 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.N(12_000))); err == nil {
			return l
		}
	}
	t.Fatal("all ports are taken")
	return nil
}

func (a *address) url() string { return "http://" + a.at }

func (a *address) start(h http.Handler) {
	a.t.Helper()
	l, err := net.Listen("tcp", a.at)
	if err != nil {
		a.t.Fatal(err)
	}
	a.server = &http.Server{Handler: h}
	go a.server.Serve(l)
}

// kill ends the server with all its connections.
func (a *address) kill() { a.server.Close() }
