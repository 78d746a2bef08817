package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// serverCopy is one session with a server, for a command one process, and the clients that use it. It
// says whose a message of the server is. Where that is not certain, the message belongs to no client: a question
// is refused, and a notification is dropped.
type serverCopy struct {
	copies  *copies
	key     copyKey
	server  host.Server
	shared  bool // others may join
	session *host.Session

	// mixed is set once it has had several tenants. From then on a message that names no call may
	// be about what any of them did, present or not.
	mixed atomic.Bool

	checked atomic.Bool // see checkTasks
	divided atomic.Bool // no other client joins, and tenants that are several leave for copies of their own

	mu      sync.Mutex
	closing bool
	joined  int                // tenants, those that have left included
	tenants map[uint64]*tenant // by their numbers
	pages   []shownPage        // the newest
	warned  bool               // that a question was refused
}

// shownPage is the page of an elicitation that the server has told one tenant of.
type shownPage struct {
	id string
	of *tenant
}

const maxPages = 256 // that are remembered for each copy

// newServerCopy makes the copy that a client needs. The server is told what that client offers, and its
// name. Nothing is started.
func newServerCopy(all *copies, u *upstream, key copyKey, shared bool) (*serverCopy, error) {
	c := &serverCopy{copies: all, key: key, server: u.server, shared: shared, tenants: make(map[uint64]*tenant)}
	offer := host.Client{
		Info:         implementation(u.info),
		Capabilities: members(u.capabilities),
		Extensions:   members(member(u.capabilities, "extensions")),
		Other: func(ctx context.Context, _, method string, params json.RawMessage) (json.RawMessage, error) {
			return c.onRequest(ctx, method, params)
		},
		Event: c.onNotification,
	}
	delete(offer.Capabilities, "extensions")
	var err error
	c.session, err = all.gateway.host.AddClient(u.server, offer)
	return c, err
}

// admit makes a client a tenant, unless it may not share the copy.
func (c *serverCopy) admit(u *upstream, key copyKey, number uint64) *tenant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != key || c.closing || len(c.tenants) > 0 && (!c.shared || c.divided.Load()) {
		return nil
	}
	t := &tenant{copy: c, upstream: u, number: number}
	if c.shared && u.events == nil {
		u.events = &eventQueue{hear: func(e host.Event) { u.client.onNotification(u, e) }}
	}
	c.tenants[number] = t
	c.joined++
	c.mixed.Store(c.joined > 1)
	return t
}

// isDivided reports whether tenants have to leave for copies of their own.
func (c *serverCopy) isDivided() bool { return c.divided.Load() && c.mixed.Load() }

// divide divides the tenants, if the entry leaves that to us, and remembers why.
func (c *serverCopy) divide(why string) (divided bool) {
	if cmp.Or(c.server.Share, config.ShareAuto) != config.ShareAuto || !c.shared {
		return false
	}
	if c.divided.CompareAndSwap(false, true) {
		c.copies.divide(c, why)
	}
	return true
}

// onRequest has the tenant whose call a question of the server belongs to answer it.
func (c *serverCopy) onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	ofClient := method == mcp.MethodListRoots && c.session.Info().Era != mcp.Modern
	if ofClient { // first, so that no client with other roots joins
		c.divide("it asks for the roots of its client")
	}
	t := c.beginQuestion(ctx, ofClient)
	if t == nil {
		c.refused(method)
		return nil, internalError(errNobodys)
	}
	defer t.end()
	ctx, over := t.within(ctx)
	defer over()
	if method == mcp.MethodElicit {
		c.rememberPage(t, text(params, memberElicitation))
	}
	defer t.expectProgress(params)()
	return t.upstream.client.onRequest(ctx, method, params)
}

var errNobodys = errors.New("it is not certain which of the clients that share this server is asked")

// beginQuestion returns the tenant that a question is for, which stays until its end; nil if that is
// not certain. One about the client, and not about its call, belongs to no client where tenants are divided.
func (c *serverCopy) beginQuestion(ctx context.Context, ofClient bool) (t *tenant) {
	caller, certain := host.CallerOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.mixed.Load():
		for _, t = range c.tenants { // the only one
		}
	case certain && !(ofClient && c.divided.Load()):
		t = c.tenants[caller] // none has the number 0
	}
	if t != nil {
		t.busy++
	}
	return t
}

// refused divides the tenants because a question was refused, or else tells once that it was.
func (c *serverCopy) refused(method string) {
	if c.divide(fmt.Sprintf("its question %s was refused, because it is not certain which of the clients that share it is asked", method)) {
		return
	}
	c.mu.Lock()
	again := c.warned
	c.warned = true
	c.mu.Unlock()
	if !again {
		c.copies.gateway.host.Warn(c.server.Name, fmt.Sprintf(
			"its question %s was refused, because it is not certain which of the clients that share it is asked; write share = \"client\" in its entry for a copy for each", method))
	}
}

// checkTasks divides tenants of a legacy server that has tasks, which are those of a whole session.
func (c *serverCopy) checkTasks() {
	if !c.shared || c.checked.Load() {
		return
	}
	info := c.session.Info()
	if info.Era == "" {
		return // it is asked again before the first call goes out
	}
	c.checked.Store(true)
	if info.Era == mcp.Legacy && member(info.Capabilities, "tasks") != nil {
		c.divide("it shows the tasks of a session to all of its clients")
	}
}

// onNotification has the tenants hear a notification that concerns them. It is called for one after
// the other.
func (c *serverCopy) onNotification(e host.Event) {
	for _, t := range c.audience(&e) {
		t.tell(e)
	}
}

// audience returns the tenants that a notification is for.
func (c *serverCopy) audience(e *host.Event) (all []*tenant) {
	concerns := func(t *tenant) bool { return t.number == e.Caller }
	switch {
	case !c.mixed.Load(), e.Subscription != "", strings.HasSuffix(e.Method, "/list_changed"):
		concerns = func(*tenant) bool { return true } // a tenant knows its own streams
	case e.Method == mcp.NotificationResourceUpdated:
		uri := text(e.Params, "uri")
		concerns = func(t *tenant) bool { return t.upstream.subscribed.has(uri) }
	case e.Method == mcp.NotificationMessage:
		level := severity(text(e.Params, "level"))
		concerns = func(t *tenant) bool { return t.number == e.Caller && t.hearsLocked(level) }
	case e.Method == mcp.NotificationElicitationComplete:
		owner := c.pageOwner(text(e.Params, memberElicitation))
		concerns = func(t *tenant) bool { return t == owner }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tenants {
		if concerns(t) {
			all = append(all, t)
		}
	}
	return all
}

// remember keeps whose the pages are that the error of a call names
// (2025-11-25/client/elicitation#url-elicitation-required-error).
func (c *serverCopy) remember(t *tenant, err error) {
	var fault *rpc.Error
	if !errors.As(err, &fault) || fault.Code != mcp.CodeURLElicitationRequired {
		return
	}
	for _, page := range elements(member(fault.Data, "elicitations")) {
		c.rememberPage(t, text(page, memberElicitation))
	}
}

func (c *serverCopy) rememberPage(t *tenant, id string) {
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pages) == maxPages {
		c.pages = append(c.pages[:0:0], c.pages[1:]...)
	}
	c.pages = append(c.pages, shownPage{id, t})
}

// pageOwner returns the tenant that was told of a page first; nil for none.
func (c *serverCopy) pageOwner(id string) *tenant {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pages {
		if p.id == id {
			return p.of
		}
	}
	return nil
}

// lowestLevelLocked returns the lowest level that a tenant asked for, as the number of levels that the
// server logs; 0 if none did. The caller holds mu.
func (c *serverCopy) lowestLevelLocked() (lowest int) {
	for _, t := range c.tenants {
		lowest = max(lowest, t.level)
	}
	return lowest
}
