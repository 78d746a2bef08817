package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// fake is a server of either era with a list of tools and one of resources. Calls return their params.
type fake struct {
	t              *testing.T
	name, protocol string
	conns          <-chan *testenv.Duplex
	done           chan struct{}

	mu               sync.Mutex
	tools, resources string // elements of its lists
	templates        string // elements of the list of templates
	prompts          string // elements of the list of prompts
	starts           int
	restless         bool              // says that its tools have changed whenever it has listed them
	slow             time.Duration     // how long it takes to acknowledge a stream
	hung             map[string]bool   // the methods that it does not answer
	refused          string            // the method that it refuses
	late             chan struct{}     // its handshake is answered when that is closed; nil is at once
	levels           []string          // that it was told
	unsubscribed     []string          // the params of resources/unsubscribe
	listed           int               // how often it has listed them
	changed          *sync.Cond        // streams
	conn             *testenv.Duplex   // the newest
	streams          map[string]string // ids of subscriptions/listen, by a notification that they want
}

// play answers what comes over connections.
func (p *pair) play(conns <-chan *testenv.Duplex, name, protocol, tools, resources string) *fake {
	f := &fake{t: p.t, name: name, protocol: protocol, tools: tools, resources: resources, conns: conns, done: make(chan struct{}), streams: make(map[string]string)}
	f.changed = sync.NewCond(&f.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case conn := <-conns:
				f.mu.Lock()
				f.starts++
				f.conn = conn
				f.mu.Unlock()
				running.Go(func() { f.serve(conn) })
			case <-f.done:
				return
			}
		}
	})
	p.t.Cleanup(func() {
		close(f.done)
		p.gateway.Close()
		running.Wait()
	})
	return f
}

func (f *fake) serve(conn *testenv.Duplex) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			f.t.Errorf("%s got %q: %v", f.name, line, err)
			return
		}
		if m.ID == nil || m.Method == "" {
			continue
		}
		if m.Method == mcp.MethodListen {
			var params struct {
				Notifications json.RawMessage `json:"notifications"`
			}
			json.Unmarshal(m.Params, &params)
			time.AfterFunc(f.slow, func() {
				f.mu.Lock()
				wanted := mcp.NotificationResourceUpdated
				if bytes.Contains(params.Notifications, []byte("toolsListChanged")) {
					wanted = mcp.NotificationToolsListChanged
				}
				f.streams[wanted], f.streams[mcp.NotificationAcknowledged] = string(m.ID), string(m.ID)
				f.changed.Broadcast()
				f.mu.Unlock()
				f.tell(mcp.NotificationAcknowledged, `"notifications":`+string(params.Notifications))
			})
			continue
		}
		if f.hung[m.Method] {
			continue
		}
		if f.late != nil && (m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover) {
			<-f.late
		}
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, f.answer(m.Method, m.Params))
		if m.Method == mcp.MethodListTools && f.restless {
			f.tell(mcp.NotificationToolsListChanged, "")
		}
	}
}

// tell sends a notification: of the newest stream that wants it, if the server is a modern one. It
// waits for that stream.
func (f *fake) tell(method, members string) {
	f.mu.Lock()
	for f.protocol == modern && f.streams[method] == "" {
		f.changed.Wait()
	}
	conn, id := f.conn, f.streams[method]
	f.mu.Unlock()
	about := ""
	if f.protocol == modern {
		if about = `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`; members != "" {
			about += ","
		}
	}
	fmt.Fprintf(conn, `{"jsonrpc":"2.0","method":%q,"params":{%s%s}}`+"\n", method, about, members)
}

func (f *fake) answer(method string, params json.RawMessage) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	const offers = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Ref  struct{ URI, Name string }
	}
	json.Unmarshal(params, &p)
	text := func(s string) string { return string(must(json.Marshal(s))) }
	result := ""
	switch method {
	case f.refused:
		return `"error":{"code":-32603,"message":"no"}`
	case mcp.MethodInitialize:
		return `"result":{"protocolVersion":"2025-11-25","capabilities":` + offers + `,"serverInfo":{"name":"x","version":"1"},"instructions":"of ` + f.name + `"}`
	case mcp.MethodDiscover:
		result = `"supportedVersions":["2026-07-28"],"capabilities":` + offers + `,"instructions":"of ` + f.name + `"`
	case mcp.MethodListTools:
		f.listed++
		f.changed.Broadcast()
		result = `"tools":[` + f.tools + `]`
	case mcp.MethodListResources:
		result = `"resources":[` + f.resources + `]`
	case mcp.MethodListTemplates:
		result = `"resourceTemplates":[` + f.templates + `]`
	case mcp.MethodListPrompts:
		result = `"prompts":[` + f.prompts + `]`
	case mcp.MethodGetPrompt:
		result = `"description":` + text(f.name+" got "+string(params)) + `,"messages":[]`
	case mcp.MethodGetTask:
		result = `"taskId":"t1","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":1000`
	case mcp.MethodCallTool:
		if p.Name == "begin" {
			return `"result":{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":1000}`
		}
		result = `"content":[{"type":"text","text":` + text(f.name+" got "+string(params)) + `},{"type":"resource_link","uri":"log:///x","name":"x"}]`
	case mcp.MethodReadResource:
		result = `"contents":[{"uri":` + text(p.URI) + `,"text":` + text(f.name) + `}]`
	case mcp.MethodComplete:
		result = `"completion":{"values":[` + text(f.name+" "+p.Ref.URI+p.Ref.Name) + `]}`
	case mcp.MethodSetLevel:
		f.levels = append(f.levels, string(params))
		return `"result":{}`
	case mcp.MethodUnsubscribe:
		f.unsubscribed = append(f.unsubscribed, string(params))
		f.changed.Broadcast()
		return `"result":{}`
	case mcp.MethodSubscribe, mcp.MethodPing:
		return `"result":{}`
	default:
		return `"error":{"code":-32601,"message":"Method not found"}`
	}
	if f.protocol == modern {
		result = `"resultType":"complete","ttlMs":0,"cacheScope":"private",` + result
	}
	return `"result":{` + result + `}`
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// speaker is a client of one era that sends one request after the other.
type speaker struct {
	*end
	era  string
	id   int
	last string // the newest answer
}

func (p *pair) speaker(era string) *speaker {
	c := &speaker{end: p.client(), era: era}
	if era == legacy {
		c.contains("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"editor","version":"2"}}`,
			`"protocolVersion":"2025-11-25"`, `"tools":{"listChanged":true}`, `"serverInfo":{"name":"wharf",`)
		c.send(initialized)
	} else {
		c.contains("server/discover", `{}`, `"supportedVersions":["2026-07-28"]`, `"tools":{"listChanged":true}`)
	}
	return c
}

// ask sends a request, and returns its id.
func (c *speaker) ask(method, params string) string {
	c.t.Helper()
	if params == "" {
		params = "{}"
	}
	if c.era == modern {
		rest := strings.TrimPrefix(params, "{")
		if rest != "}" {
			rest = "," + rest
		}
		params = "{" + modernMeta(`{"elicitation":{}}`, "") + rest
	}
	c.id++
	if _, err := io.WriteString(c.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)); err != nil {
		c.t.Fatal(err)
	}
	return fmt.Sprintf(`"id":%d,`, c.id)
}

// contains sends a request, and compares its answer with texts that it has in this order.
func (c *speaker) contains(method, params string, texts ...string) {
	c.t.Helper()
	id := c.ask(method, params)
	for c.last = c.read(); !strings.Contains(c.last, id); c.last = c.read() {
	}
	c.has(texts...)
}

// has compares the newest message.
func (c *speaker) has(texts ...string) {
	c.t.Helper()
	rest := c.last
	for _, text := range texts {
		_, behind, found := strings.Cut(rest, text)
		if !found {
			c.t.Fatalf("got  %s\nwant %s", c.last, text)
		}
		rest = behind
	}
}

// hears reads the next message, and compares it.
func (c *speaker) hears(texts ...string) {
	c.t.Helper()
	c.last = c.read()
	c.has(texts...)
}
