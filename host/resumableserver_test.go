package host_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
)

// arrival is a request that a resumableServer has had.
type arrival struct {
	verb    string // of HTTP
	method  string // of the message, "" for none
	id      string // of the message
	session string
	version string
	last    string // the id of an event
}

// resumableServer is a legacy server with sessions, whose streams can be gone on with. It
// keeps one session, and all that it had to tell there.
type resumableServer struct {
	listening chan string   // gets the id of the last event when a client begins to listen
	parted    chan struct{} // gets a token when they are gone
	called    chan struct{} // gets a token when the tool mute is called, or the tool gate
	let       chan struct{} // has the tool gate answer
	unknown   int           // the status for a session that it does not know
	refuses   int           // the status for each ping; 0 is none

	mu       sync.Mutex
	arrivals []arrival
	sessions int
	open     bool          // the newest one is known
	told     []string      // in it
	more     chan struct{} // closed when there is more of that
}

func newResumableServer() *resumableServer {
	return &resumableServer{
		listening: make(chan string, 16), parted: make(chan struct{}, 16),
		called: make(chan struct{}), let: make(chan struct{}), unknown: 404, more: make(chan struct{}),
	}
}

func (h *resumableServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m request
	json.NewDecoder(r.Body).Decode(&m)
	io.Copy(io.Discard, r.Body)
	a := arrival{
		verb: r.Method, method: m.Method, id: string(m.ID), session: r.Header.Get("Mcp-Session-Id"),
		version: r.Header.Get("Mcp-Protocol-Version"), last: r.Header.Get("Last-Event-Id"),
	}
	known, refused := h.note(a)
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", h.begin())
		result(w, a.id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"resumableServer","version":"1"}}`)
	case m.Method == "server/discover", a.session == "":
		http.Error(w, "no session", http.StatusBadRequest)
	case !known:
		http.Error(w, "no such session", h.unknown)
	case a.verb == "GET":
		h.tellAll(w, r, a.last)
	case a.verb == "DELETE":
		h.forget()
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "ping" && refused != 0:
		http.Error(w, "not now", refused)
	case m.Method == "tools/call" && m.Params.Name != "echo":
		h.wait(w, r, m.Params.Name, a.id)
	case m.Method == "tools/call":
		result(w, a.id, good(m.Params.Arguments.Message))
	default:
		result(w, a.id, `{}`)
	}
}

// note keeps a request, and reports whether it is of a session that is known.
func (h *resumableServer) note(a arrival) (known bool, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrivals = append(h.arrivals, a)
	return h.open && a.session == fmt.Sprint("s", h.sessions), h.refuses
}

func (h *resumableServer) begin() (session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions++
	h.open, h.told = true, nil
	return fmt.Sprint("s", h.sessions)
}

func (h *resumableServer) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = false
}

// tell has something to say to the listeners, now or later.
func (h *resumableServer) tell(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, text)
	close(h.more)
	h.more = make(chan struct{})
}

// tellAll is the stream of what was told after an event.
func (h *resumableServer) tellAll(w http.ResponseWriter, r *http.Request, last string) {
	defer func() { h.parted <- struct{}{} }()
	w.Header().Set("Content-Type", mediaEvents)
	w.(http.Flusher).Flush()
	h.listening <- last
	n := 0
	fmt.Sscan(last, &n)
	for {
		h.mu.Lock()
		news, more := h.told[min(n, len(h.told)):], h.more
		h.mu.Unlock()
		for _, text := range news {
			n++
			fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":%q}\n\n", n, text)
		}
		w.(http.Flusher).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// wait is for tools that answer later, or never.
func (h *resumableServer) wait(w http.ResponseWriter, r *http.Request, tool, id string) {
	select {
	case h.called <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	let := h.let
	if tool == "mute" {
		let = nil
	}
	select {
	case <-let:
		result(w, id, good("let"))
	case <-r.Context().Done():
	}
}

// since returns what has arrived after so many requests, and how many there are now.
func (h *resumableServer) since(n int) ([]arrival, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.arrivals[n:]), len(h.arrivals)
}

// count counts the requests that are all of what is said of them: a verb, or the
// method of a message.
func (h *resumableServer) count(what string) (n int) {
	all, _ := h.since(0)
	for _, a := range all {
		if a.verb == what || a.method == what {
			n++
		}
	}
	return n
}

// What a rigged plugin does about an event.
var (
	traps   = code(0x00)
	ignores = code(num(0), opReturn)
	refuses = code(num(int32(abi.Malformed)), opReturn)
)

// rigged returns a plugin with an event function of its own before that which it has:
// it does something else about events of some kinds, and passes on all others.
func rigged(plugin []byte, on map[abi.Kind][]byte) []byte {
	parts := make(map[byte][]byte)
	for id, content := range sections(plugin) {
		parts[id] = content
	}
	imports, _ := readU32(parts[sectionImport])
	count, types := readU32(parts[sectionFunction])
	_, bodies := readU32(parts[sectionCode])
	name := code(named(abi.ExportEvent), externFunction)
	before, after, found := bytes.Cut(parts[sectionExport], name)
	if !found {
		panic("the plugin exports no event function")
	}
	event, after := readU32(after)
	changed := map[byte][]byte{
		sectionFunction: code(appendU32(nil, count+1), types, typeOf(types, event-imports)),
		sectionExport:   code(before, name, appendU32(nil, imports+count), after),
		sectionCode:     code(appendU32(nil, count+1), bodies, body(0, switchboard(event, on))),
	}
	out := slices.Clone(plugin[:8])
	for id, content := range sections(plugin) {
		if own, ok := changed[id]; ok {
			content = own
		}
		out = append(out, section(id, content)...)
	}
	return out
}

// switchboard is the code of an event function before another.
func switchboard(event uint32, on map[abi.Kind][]byte) (out []byte) {
	for _, kind := range slices.Sorted(maps.Keys(on)) {
		out = append(out, code(get(0), num(int32(kind)), opEq, opIf, voidBlock, on[kind], opEnd)...)
	}
	return append(out, code(get(0), get(1), get(2), get(3), invoke(event))...)
}

// sections are those of a module, in their order.
func sections(module []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for rest := module[8:]; len(rest) > 0; {
			size, content := readU32(rest[1:])
			if !yield(rest[0], content[:size]) {
				return
			}
			rest = content[size:]
		}
	}
}

// typeOf is the n-th number of a list.
func typeOf(list []byte, n uint32) []byte {
	for ; n > 0; n-- {
		_, list = readU32(list)
	}
	typ, _ := readU32(list)
	return appendU32(nil, typ)
}

func readU32(p []byte) (v uint32, rest []byte) {
	wide, n := binary.Uvarint(p)
	return uint32(wide), p[n:]
}
