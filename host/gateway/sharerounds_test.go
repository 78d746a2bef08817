package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A legacy and a modern client share a server, with calls that report progress, log, ask for a sample
// or a form, are cancelled, and change resources, all at once. Each message says whose it is, and none
// reaches the other client.
func TestNothingReachesTheOtherClient(t *testing.T) {
	rounds := 400
	if testenv.Long() {
		rounds = 25_000 // of each client, at each server
	}
	for _, protocol := range []string{legacy, modern} {
		t.Run(protocol, func(t *testing.T) {
			s := newScene(t, protocol, shares(config.ShareYes))
			srv := &roundServer{t: t, modern: protocol == modern, held: make(map[string]bool), streams: make(map[string]string)}
			var serving sync.WaitGroup
			clients := []*roundClient{{t: t, name: "ann"}, {t: t, name: "bob", modern: true}}
			for _, c := range clients {
				ours, theirs := testenv.NewDuplex()
				serving.Go(func() { s.gateway.ServeConn(t.Context(), theirs) })
				c.peer = newRoundPeer(t, ours, c.handle)
			}
			go func() { srv.peer.Store(newRoundPeer(t, <-s.servers, srv.handle)) }()
			var running sync.WaitGroup
			alone := &sync.RWMutex{}
			for _, c := range clients {
				c.begin()
				for worker := range 2 {
					running.Go(func() { c.play(worker, rounds/2, alone) })
				}
			}
			running.Wait()
			if n := len(s.servers); n > 0 {
				t.Errorf("the server was started %d times more", n)
			}
			t.Logf("%d questions answered, %d refused, %d calls cancelled", srv.answered.Load(), srv.refused.Load(), srv.cancelled.Load())
			if srv.answered.Load() < int64(rounds)/10 || srv.cancelled.Load() < int64(rounds)/20 {
				t.Error("these are too few")
			}
			for _, c := range clients {
				c.peer.conn.Close()
				if c.progress.Load() == 0 || c.logs.Load() == 0 || c.changes.Load() == 0 {
					t.Errorf("%s heard of %d reports, %d logs and %d changes", c.name, c.progress.Load(), c.logs.Load(), c.changes.Load())
				}
			}
			serving.Wait()
			if p := srv.peer.Load(); p != nil {
				p.conn.Close()
			}
		})
	}
}

// methodHold is not answered before it is cancelled. It is none that may ask: the question of another call
// of a modern client would park it, and so answer it before the cancellation.
const methodHold = "test/hold"

// roundMessage is a message of either side.
type roundMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta struct {
			Token        json.RawMessage `json:"progressToken"`
			Level        string          `json:"io.modelcontextprotocol/logLevel"`
			Subscription json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
		Token         json.RawMessage            `json:"progressToken"`
		Message       string                     `json:"message"`
		Data          string                     `json:"data"`
		Of            string                     `json:"of"`
		URI           string                     `json:"uri"`
		RequestID     json.RawMessage            `json:"requestId"`
		Arguments     roundCall                  `json:"arguments"`
		Responses     map[string]json.RawMessage `json:"inputResponses"`
		State         string                     `json:"requestState"`
		Notifications json.RawMessage            `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// roundCall is what a call has the server do.
type roundCall struct {
	Of                               string `json:"of"`
	Progress, Log, Ask, Hold, Change bool
	Form                             bool // what is asked for
}

// roundPeer is one side of a connection.
type roundPeer struct {
	t    *testing.T
	conn *testenv.Duplex
	out  chan string // has room for all that the peer says while it reads

	mu      sync.Mutex
	last    int
	pending map[string]pendingRound // by id
}

// pendingRound is a request that has no answer yet.
type pendingRound struct {
	params string
	answer chan *roundMessage
}

func newRoundPeer(t *testing.T, conn *testenv.Duplex, handle func(*roundPeer, *roundMessage)) *roundPeer {
	p := &roundPeer{t: t, conn: conn, out: make(chan string, 1000), pending: make(map[string]pendingRound)}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case line := <-p.out:
				io.WriteString(conn, line)
			case <-ended:
				return
			}
		}
	}()
	go func() {
		defer close(ended)
		for in := bufio.NewReader(conn); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			m := &roundMessage{}
			if err := json.Unmarshal(line, m); err != nil {
				t.Errorf("%q: %v", line, err)
				return
			}
			if m.Method != "" {
				handle(p, m)
				continue
			}
			p.mu.Lock()
			answered := p.pending[string(m.ID)].answer
			delete(p.pending, string(m.ID))
			p.mu.Unlock()
			if answered != nil {
				answered <- m
			}
		}
	}()
	return p
}

func (p *roundPeer) send(format string, a ...any) {
	p.out <- fmt.Sprintf(`{"jsonrpc":"2.0",`+format+"}\n", a...)
}

// request sends a request. Its answer comes over the channel.
func (p *roundPeer) request(method, params string) (id string, answer chan *roundMessage) {
	answer = make(chan *roundMessage, 1)
	p.mu.Lock()
	p.last++
	id = fmt.Sprint(p.last)
	p.pending[id] = pendingRound{params, answer}
	p.mu.Unlock()
	p.send(`"id":%s,"method":%q,"params":%s`, id, method, params)
	return id, answer
}

// roundServer is a server of either era that does what calls say.
type roundServer struct {
	t      *testing.T
	modern bool
	peer   atomic.Pointer[roundPeer]

	mu      sync.Mutex
	held    map[string]bool   // whether a call or stream waits to be cancelled, by id; other requests are not in it
	streams map[string]string // ids of subscriptions/listen, by URI

	answered, refused, cancelled atomic.Int64
}

func (s *roundServer) handle(p *roundPeer, m *roundMessage) {
	switch m.Method {
	case mcp.MethodInitialize:
		p.send(`"id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":%s}`, m.ID, capabilities, serverInfo)
	case mcp.MethodDiscover:
		p.send(`"id":%s,"result":%s`, m.ID, discovered)
	case mcp.MethodListen:
		s.mu.Lock()
		s.held[string(m.ID)] = true
		s.mu.Unlock()
		for _, name := range []string{"ann", "bob"} {
			if strings.Contains(string(m.Params.Notifications), `"x:`+name+`"`) {
				s.mu.Lock()
				s.streams["x:"+name] = string(m.ID)
				s.mu.Unlock()
			}
		}
		p.send(`"method":%q,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}`, mcp.NotificationAcknowledged, m.ID, m.Params.Notifications)
	case mcp.MethodCallTool, methodHold:
		s.begin(p, m)
		go s.finish(p, m)
	case mcp.NotificationCancelled:
		s.mu.Lock()
		held, known := s.held[string(m.Params.RequestID)]
		s.held[string(m.Params.RequestID)] = false
		s.mu.Unlock()
		switch {
		case !known: // a resources/unsubscribe that was under way when the last client left
			return
		case !held:
			s.t.Errorf("call %s was cancelled, which its client did not want", m.Params.RequestID)
			return
		}
		s.cancelled.Add(1)
		p.send(`"id":%s,"result":{}`, m.Params.RequestID) // which says that nothing of it goes on
	default:
		if m.ID != nil {
			p.send(`"id":%s,"result":{}`, m.ID)
		}
	}
}

// begin does what a call has done at once.
func (s *roundServer) begin(p *roundPeer, m *roundMessage) {
	c := m.Params.Arguments
	again := m.Params.State != ""
	s.mu.Lock()
	s.held[string(m.ID)] = c.Hold
	s.mu.Unlock()
	if c.Progress && !again {
		p.send(`"method":%q,"params":{"progressToken":%s,"progress":1,"message":%q}`, mcp.NotificationProgress, m.Params.Meta.Token, c.Of)
	}
	if c.Log && (!s.modern || m.Params.Meta.Level != "") {
		p.send(`"method":%q,"params":{"level":"error","data":%q}`, mcp.NotificationMessage, c.Of)
	}
	if c.Change {
		uri, about := "x:"+strings.Split(c.Of, " ")[0], ""
		if s.modern {
			s.mu.Lock()
			about = `"_meta":{"io.modelcontextprotocol/subscriptionId":` + s.streams[uri] + `},`
			s.mu.Unlock()
		}
		p.send(`"method":%q,"params":{%s"uri":%q}`, mcp.NotificationResourceUpdated, about, uri)
	}
}

// finish asks, if a call wants that, and answers the call.
func (s *roundServer) finish(p *roundPeer, m *roundMessage) {
	c := m.Params.Arguments
	again := m.Params.State != ""
	method := mcp.MethodCreateMessage
	if c.Form {
		method = mcp.MethodElicit
	}
	said := "nothing"
	switch {
	case c.Hold:
		return
	case c.Ask && s.modern && !again:
		p.send(`"id":%s,"result":{"resultType":"input_required","inputRequests":{"k":{"method":%q,"params":{"mode":"form","of":%q}}},"requestState":%q}`, m.ID, method, c.Of, c.Of)
		return
	case c.Ask && s.modern:
		if m.Params.State != c.Of {
			s.t.Errorf("the state of %q came with a call of %q", m.Params.State, c.Of)
		}
		said = s.check(&roundMessage{Result: m.Params.Responses["k"]}, c.Of)
	case c.Ask:
		_, answer := p.request(method, fmt.Sprintf(`{"mode":"form","of":%q}`, c.Of))
		said = s.check(<-answer, c.Of)
	}
	p.send(`"id":%s,"result":{"resultType":"complete","of":%q,"said":%q}`, m.ID, c.Of, said)
}

// check wants the answer to a question from the client that it is about.
func (s *roundServer) check(m *roundMessage, of string) string {
	if m.Error != nil {
		s.refused.Add(1)
		return "refused"
	}
	var answer struct{ By string }
	if err := json.Unmarshal(m.Result, &answer); err != nil || answer.By != of {
		s.t.Errorf("a question about %q was answered with %s", of, m.Result)
	}
	s.answered.Add(1)
	return "answered"
}

// roundClient is a client of either era.
type roundClient struct {
	t      *testing.T
	name   string
	modern bool
	peer   *roundPeer

	progress, logs, changes atomic.Int64
	cancelled               sync.Map // the calls that it has cancelled, by what they are about
}

func (c *roundClient) meta(token string) string {
	if c.modern {
		return modernMeta(`{"sampling":{},"elicitation":{}}`, `,"progressToken":`+token+`,"io.modelcontextprotocol/logLevel":"debug"`)
	}
	return `"_meta":{"progressToken":` + token + `}`
}

// begin introduces the client, and subscribes to a resource of its own.
func (c *roundClient) begin() {
	if c.modern {
		c.peer.request(mcp.MethodListen, `{"notifications":{"resourceSubscriptions":["x:`+c.name+`"]},`+c.meta(`0`)+`}`)
		_, answer := c.peer.request(mcp.MethodCallTool, `{"name":"t","arguments":{"of":"bob begins"},`+c.meta(`0`)+`}`)
		<-answer // behind what acknowledges the stream
		return
	}
	for _, r := range [][2]string{
		{mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"ann","version":"1"}}`},
		{mcp.MethodSetLevel, `{"level":"debug"}`}, {mcp.MethodSubscribe, `{"uri":"x:ann"}`},
	} {
		_, answer := c.peer.request(r[0], r[1])
		if m := <-answer; m.Error != nil {
			c.t.Errorf("%s: %s", r[0], m.Error)
		}
	}
}

// play makes calls. In every fourth round no other client has one.
func (c *roundClient) play(worker, rounds int, alone *sync.RWMutex) {
	random := rand.New(rand.NewPCG(uint64(worker), uint64(len(c.name))))
	for n := range rounds {
		call := roundCall{
			Of: fmt.Sprintf("%s %d.%d", c.name, worker, n), Progress: random.IntN(2) == 0, Log: random.IntN(2) == 0,
			Ask: random.IntN(2) == 0, Form: random.IntN(2) == 0, Hold: random.IntN(8) == 0, Change: random.IntN(8) == 0,
		}
		if random.IntN(4) == 0 {
			alone.Lock()
			c.round(&call, worker)
			alone.Unlock()
		} else {
			alone.RLock()
			c.round(&call, worker)
			alone.RUnlock()
		}
	}
}

func (c *roundClient) round(call *roundCall, worker int) {
	arguments, _ := json.Marshal(call)
	params := fmt.Sprintf(`{"name":"t","arguments":%s,%s`, arguments, c.meta(fmt.Sprint(worker+1)))
	method := mcp.MethodCallTool
	if call.Hold {
		method = methodHold
	}
	id, answer := c.peer.request(method, params+"}")
	if call.Hold {
		c.cancelled.Store(call.Of, true)
		c.peer.send(`"method":%q,"params":{"requestId":%s}`, mcp.NotificationCancelled, id)
		c.peer.mu.Lock()
		delete(c.peer.pending, id)
		c.peer.mu.Unlock()
		return
	}
	for {
		m := <-answer
		var r struct {
			Of, Said, ResultType string
			InputRequests        map[string]struct {
				Params struct{ Of string }
			}
			RequestState string
		}
		if err := json.Unmarshal(m.Result, &r); err != nil || m.Error != nil {
			c.t.Errorf("%s got %s%s: %v", call.Of, m.Result, m.Error, err)
			return
		}
		if r.ResultType != "input_required" {
			if r.Of != call.Of || call.Ask == (r.Said == "nothing") {
				c.t.Errorf("%s got %s", call.Of, m.Result)
			}
			return
		}
		var answers []string
		for key, q := range r.InputRequests {
			// Of several calls of one client the newest takes a question of a legacy server.
			if !c.owns(q.Params.Of) {
				c.t.Errorf("%s was asked about %q", call.Of, q.Params.Of)
			}
			answers = append(answers, fmt.Sprintf(`%q:{"by":%q}`, key, q.Params.Of))
		}
		_, answer = c.peer.request(mcp.MethodCallTool, fmt.Sprintf(`%s,"inputResponses":{%s},"requestState":%q}`, params, strings.Join(answers, ","), r.RequestState))
	}
}

func (c *roundClient) owns(what string) bool { return strings.HasPrefix(what, c.name+" ") }

// waitsFor reports whether a request of a call has no answer yet, or was cancelled.
func (c *roundClient) waitsFor(call string) bool {
	if _, cancelled := c.cancelled.Load(call); cancelled {
		return true
	}
	c.peer.mu.Lock()
	defer c.peer.mu.Unlock()
	for _, p := range c.peer.pending {
		if strings.Contains(p.params, fmt.Sprintf(`"of":%q`, call)) {
			return true
		}
	}
	return false
}

// handle takes what the server sends by itself.
func (c *roundClient) handle(p *roundPeer, m *roundMessage) {
	about := m.Params.Message + m.Params.Data + m.Params.Of
	switch m.Method {
	case mcp.NotificationProgress:
		c.progress.Add(1)
		if worker := strings.TrimPrefix(about, c.name+" "); len(worker) == 0 || string(m.Params.Token) != string(worker[0]+1) {
			c.t.Errorf("%s heard of the progress of %q with the token %s", c.name, about, m.Params.Token)
		}
		if !c.waitsFor(about) {
			c.t.Errorf("%s heard of the progress of %q, which is answered", c.name, about)
		}
	case mcp.NotificationMessage:
		c.logs.Add(1)
	case mcp.NotificationResourceUpdated:
		c.changes.Add(1)
		about = strings.TrimPrefix(m.Params.URI, "x:") + " "
	case mcp.NotificationCancelled, mcp.NotificationAcknowledged:
		return
	default:
		p.send(`"id":%s,"result":{"by":%q}`, m.ID, m.Params.Of)
	}
	if !c.owns(about) {
		c.t.Errorf("%s got %s about %q", c.name, m.Method, about)
	}
}
