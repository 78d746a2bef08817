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
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// serverCopy is one session with a server, and the clients that use it. For a command, it is one process.
// It finds the client that a message of the server is for. If that is not certain, it refuses a question
// and drops a notification.
type serverCopy struct {
	copies  *copies
	key     copyKey
	server  host.Server
	shared  bool // others may join
	session *host.Session

	// inTurn is set while all its clients have been runs of one program of the user: others of them use it
	// after them, also if it is not shared.
	inTurn atomic.Bool

	// mixed is set once the copy has had several tenants, or, if they use it in turn, several at
	// once. From then on a message that names no call may be about any of them, even one that has left.
	mixed atomic.Bool

	tasks   atomic.Bool // it may run one for a client, see idle
	checked atomic.Bool // see checkTasks
	divided atomic.Bool // no other client may join, and if there have been several tenants, each leaves for a copy of its own

	mu      sync.Mutex
	closing bool
	joined  int                // how many tenants there have been
	tenants map[uint64]*tenant // by their numbers
	pages   []shownPage        // the newest
	warned  bool               // the user was told that a question was refused
	unused  *time.Timer        // ends it if no client joins before; nil if it is in use
	release func()             // see [Config.Hold]; nil for none

	held heldTasks
}

// shownPage is the page of an elicitation that the server has told one tenant of.
type shownPage struct {
	id string
	of *tenant
}

const maxPages = 256 // how many pages a copy remembers

// newServerCopy makes a copy for a client. The server is told the name and the capabilities of that
// client. newServerCopy does not start the server.
func newServerCopy(all *copies, u *upstream, key copyKey, shared bool) (*serverCopy, error) {
	c := &serverCopy{copies: all, key: key, server: u.server, shared: shared, tenants: make(map[uint64]*tenant), held: heldTasks{most: all.gateway.config.TaskTime}}
	offer := host.Client{
		Info:         implementation(u.info),
		Capabilities: members(u.capabilities),
		Extensions:   members(member(u.capabilities, "extensions")),
		Other: func(ctx context.Context, _, method string, params json.RawMessage) (json.RawMessage, error) {
			return c.onRequest(ctx, method, params)
		},
		Event:   c.onNotification,
		Private: !isOwner(u.principal),
		Caller:  u.origin.caller(),
	}
	delete(offer.Capabilities, "extensions")
	c.inTurn.Store(u.inTurn)
	var err error
	c.session, err = all.gateway.host.AddClient(u.server, offer)
	return c, err
}

// admit makes a client a tenant: the first of a new copy, one at once with others, or one after others. It
// returns nil if the client may not use the copy. shared says that clients of the server share it.
func (c *serverCopy) admit(u *upstream, key copyKey, number uint64, shared bool) *tenant {
	c.mu.Lock()
	defer c.mu.Unlock()
	atOnce := shared && c.shared && !c.divided.Load()
	after := len(c.tenants) == 0 && (c.joined == 0 || u.inTurn && c.inTurn.Load())
	if c.key != key || c.closing || !atOnce && !after {
		return nil
	}
	if !u.inTurn {
		c.inTurn.Store(false)
	}
	if c.unused != nil {
		c.unused.Stop()
		c.unused = nil
		c.releaseLocked()
	}
	t := &tenant{copy: c, upstream: u, number: number}
	if c.shared && u.events == nil {
		u.events = &eventQueue{hear: func(e host.Event) { u.client.onNotification(u, e) }}
	}
	c.tenants[number] = t
	c.joined++
	c.mixed.Store(c.mixed.Load() || c.joined > 1 && (!c.inTurn.Load() || len(c.tenants) > 1))
	return t
}

// outlivesClients reports whether other clients may join when one has left.
func (c *serverCopy) outlivesClients() bool { return c.shared || c.inTurn.Load() }

// lingerLocked has the copy go on without a client for a while, if it may. The caller holds mu.
func (c *serverCopy) lingerLocked() bool {
	linger := c.copies.gateway.config.Linger
	if linger <= 0 || !c.outlivesClients() || c.divided.Load() && !c.inTurn.Load() || c.isDivided() {
		return false
	}
	c.unused = time.AfterFunc(linger, c.lingered)
	if hold := c.copies.gateway.config.Hold; hold != nil && c.held.any() {
		c.release = hold()
	}
	return true
}

// lingered ends the copy if no client has come for a while, and the server runs no task.
func (c *serverCopy) lingered() {
	c.mu.Lock()
	timer := c.unused
	c.mu.Unlock()
	if timer == nil {
		return
	}
	c.held.ask(c.copies.gateway.ctx, c.session)
	c.mu.Lock()
	other := c.unused != timer || c.closing
	goesOn := !other && c.held.any()
	if goesOn {
		timer.Reset(c.copies.gateway.config.Linger)
	}
	c.mu.Unlock()
	if !other && !goesOn {
		c.endUnused()
	}
}

func (c *serverCopy) releaseLocked() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// endUnused ends the copy, and returns true, if no client uses it.
func (c *serverCopy) endUnused() bool {
	c.mu.Lock()
	if c.unused == nil || len(c.tenants) > 0 || c.closing {
		c.mu.Unlock()
		return false
	}
	c.unused.Stop()
	c.closing = true
	c.releaseLocked()
	c.mu.Unlock()
	c.copies.remove(c)
	c.session.Close()
	return true
}

// idle returns the clients of a copy that is idle, and since when it is. It returns none if a client
// has a request open or is on a stream, or if the server may run a task for one.
func (c *serverCopy) idle() (clients []*keptClient, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks.Load() {
		return nil, since
	}
	for _, t := range c.tenants {
		kept := t.upstream.kept
		if kept == nil || t.busy > 0 {
			return nil, since
		}
		last, idle := kept.idle()
		if !idle {
			return nil, since
		}
		clients = append(clients, kept)
		if last.After(since) {
			since = last
		}
	}
	return clients, since
}

// isDivided reports whether tenants have to leave for copies of their own.
func (c *serverCopy) isDivided() bool { return c.divided.Load() && c.mixed.Load() }

// divide makes each tenant use a copy of its own from now on, and keeps why. It does nothing and
// returns false if the copy is not shared, or if the entry says that clients share the server.
func (c *serverCopy) divide(why string) (divided bool) {
	if cmp.Or(c.server.Share, config.ShareAuto) != config.ShareAuto || !c.shared {
		return false
	}
	if c.divided.CompareAndSwap(false, true) {
		c.copies.divide(c, why)
	}
	return true
}

// onRequest passes a question of the server to the tenant whose call it belongs to, and returns the
// answer.
func (c *serverCopy) onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	ofClient := method == mcp.MethodListRoots && c.session.Info().Era != mcp.Modern
	if ofClient { // first, so that no client with different roots joins
		c.divide("it asks for the roots of its client")
	}
	t := c.beginQuestion(ctx, ofClient)
	if t == nil {
		if !c.isUnused() { // else there is no client that it could be for
			c.refused(method)
		}
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

func (c *serverCopy) isUnused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unused != nil
}

var errNobodys = errors.New("it is not certain which of the clients that share this server is asked")

// beginQuestion returns the tenant that a question is for, or nil if that is not certain. The tenant stays
// until its end method is called. ofClient says that the question is about the client and not about a
// call. If the copy is divided, such a question is for no tenant.
func (c *serverCopy) beginQuestion(ctx context.Context, ofClient bool) (t *tenant) {
	caller, certain := host.CallerOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.mixed.Load():
		for _, t = range c.tenants { // there is only one
		}
	case certain && !(ofClient && c.divided.Load()):
		t = c.tenants[caller] // the number 0 is no tenant's
	}
	if t != nil {
		t.busy++
	}
	return t
}

// refused handles a question that was refused: it divides the tenants or, if the entry does not
// allow that, warns the user once.
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

// checkTasks divides the tenants of a legacy server that has tasks: such a server shows the tasks of
// a session to every client of it.
func (c *serverCopy) checkTasks() {
	if !c.shared || c.checked.Load() {
		return
	}
	info := c.session.Info()
	if info.Era == "" {
		return // checkTasks is called again before the first call is sent
	}
	c.checked.Store(true)
	if info.Era == mcp.Legacy && member(info.Capabilities, "tasks") != nil {
		c.divide("it shows the tasks of a session to all of its clients")
	}
}

// onNotification passes a notification of the server to the tenants that it concerns. Calls come
// one after the other.
func (c *serverCopy) onNotification(e host.Event) {
	for _, t := range c.audience(&e) {
		t.tell(e)
	}
}

// audience returns the tenants that a notification is for.
func (c *serverCopy) audience(e *host.Event) (all []*tenant) {
	concerns := func(t *tenant) bool { return t.number == e.Caller }
	mixed := c.mixed.Load()
	switch {
	case e.Method == mcp.NotificationMessage && e.Subscription == "":
		level := severity(text(e.Params, "level"))
		concerns = func(t *tenant) bool { return (!mixed || t.number == e.Caller) && t.hearsLocked(level) }
	case !mixed, e.Subscription != "", strings.HasSuffix(e.Method, "/list_changed"):
		concerns = func(*tenant) bool { return true } // a tenant drops what is not of its streams
	case e.Method == mcp.NotificationResourceUpdated:
		uri := text(e.Params, "uri")
		concerns = func(t *tenant) bool { return t.upstream.subscribed.has(uri) }
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

// remember notes that the pages in the error of a call belong to the tenant that made the
// call (2025-11-25/client/elicitation#url-elicitation-required-error).
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

// pageOwner returns the tenant that was told of a page first, or nil if there is none.
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

// lowestLevelLocked returns the lowest level that a tenant asked for, as a number of levels, see
// severity. It returns 0 if no tenant asked for one. The caller holds mu.
func (c *serverCopy) lowestLevelLocked() (lowest int) {
	for _, t := range c.tenants {
		lowest = max(lowest, t.level)
	}
	return lowest
}
