package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// tenant is the use of a server copy by one client. A request or notification of the server that
// belongs to one of its calls carries its number, see [host.CallerOf].
type tenant struct {
	copy     *serverCopy
	upstream *upstream
	number   uint64 // not 0

	inherited int // the level of the client's former tenant; 0 is none
	restored  sync.Once

	// Guarded by mu of the copy:
	left   bool           // no more calls may begin
	busy   int            // its calls, and questions to it
	quiet  ctxcond.Cond   // busy has become 0
	level  int            // how many log levels it hears, from the most severe down; 0 is the server's choice
	tokens map[string]int // the progress tokens of open questions to it, with how many have each
}

// begin admits a call of the client. If err is nil, the caller must call stop and then end. In a
// copy that others may join, bounded also ends when the client leaves. In a copy of its own, closing
// the session ends the calls.
func (t *tenant) begin(ctx context.Context) (bounded context.Context, stop func(), err error) {
	t.copy.mu.Lock()
	if t.left {
		t.copy.mu.Unlock()
		return nil, nil, host.ErrClosed
	}
	t.busy++
	t.copy.mu.Unlock()
	if !t.copy.outlivesClients() {
		return ctx, func() {}, nil
	}
	ctx, stop = t.within(ctx)
	return ctx, stop, nil
}

// end ends a call or a question.
func (t *tenant) end() {
	t.copy.mu.Lock()
	defer t.copy.mu.Unlock()
	if t.busy--; t.busy == 0 {
		t.quiet.Broadcast()
	}
}

// within returns a context that ends with ctx, or when the client leaves.
func (t *tenant) within(ctx context.Context) (bounded context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.upstream.ctx, func() { cancel(errLeft) })
	return ctx, func() { stop(); cancel(nil) }
}

// leave removes the tenant once its calls have ended. The last tenant closes the session, unless that
// is to linger.
func (t *tenant) leave() {
	c := t.copy
	c.mu.Lock()
	t.left = true
	if !c.outlivesClients() {
		c.mu.Unlock()
		c.session.Close() // this ends the calls
		c.mu.Lock()
	}
	for t.busy > 0 {
		t.quiet.Await(context.Background(), &c.mu)
	}
	delete(c.tenants, t.number)
	last := len(c.tenants) == 0 && !c.lingerLocked()
	c.closing = c.closing || last
	c.mu.Unlock()
	if last {
		c.copies.remove(c)
		c.session.Close()
	}
}

// options returns the options for requests of the client.
func (t *tenant) options() host.RequestOptions {
	o := host.RequestOptions{Caller: t.number}
	if t.upstream.server.Timeout == 0 {
		o.Timeout = -1 // the client decides how long it waits
	}
	if !t.copy.shared || t.copy.session.Info().Era != mcp.Modern {
		return o
	}
	t.copy.mu.Lock()
	defer t.copy.mu.Unlock()
	if t.level > 0 {
		o.Level = levelOf(t.level)
	}
	return o
}

// setLevel sets the least severe level that the client hears. It makes a legacy server log at the
// lowest level that any tenant has asked for. A modern server that is shared gets the level with each
// request.
func (t *tenant) setLevel(ctx context.Context, level mcp.Level) error {
	c := t.copy
	info := c.session.Info()
	ownLevel := c.shared && info.Era == mcp.Modern
	if ownLevel && member(info.Capabilities, "logging") == nil {
		return fmt.Errorf("set level on %s: %w: logging", c.server.Name, host.ErrUnsupported)
	}
	c.mu.Lock()
	before := t.level
	t.level = severity(string(level))
	c.mu.Unlock()
	if ownLevel {
		return nil
	}
	for told := 0; ; {
		c.mu.Lock()
		lowest := c.lowestLevelLocked()
		c.mu.Unlock()
		if lowest == told {
			return nil
		}
		o := t.options()
		o.Unattended = askerOf(ctx) == nil
		if err := c.session.SetLevel(host.WithOptions(ctx, o), levelOf(lowest)); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			t.level = before
			return err
		}
		told = lowest
	}
}

// levelOf returns the level with a severity that is not 0. It is the reverse of severity.
func levelOf(severity int) mcp.Level { return mcp.Levels[len(mcp.Levels)-severity] }

// inherit takes over the level of the client's former tenant.
func (t *tenant) inherit(before *tenant) {
	before.copy.mu.Lock()
	level := before.level
	before.copy.mu.Unlock()
	t.copy.mu.Lock()
	defer t.copy.mu.Unlock()
	t.inherited, t.level = level, level
}

// restoreLevel tells the server an inherited level, once. If the server refuses, the client hears what
// the server logs by default.
func (t *tenant) restoreLevel(ctx context.Context) {
	if t.inherited > 0 {
		t.restored.Do(func() { t.copy.session.SetLevel(host.WithOptions(ctx, t.options()), levelOf(t.inherited)) })
	}
}

// hearsLocked reports whether the client wants a log message of a level. A client that has asked
// for no level hears all messages while no other client has asked for one, and then those of level
// info and above. The caller holds mu of the copy.
func (t *tenant) hearsLocked(level int) bool {
	if t.level > 0 {
		return level <= t.level
	}
	return level <= severity(string(mcp.LevelInfo)) || t.copy.lowestLevelLocked() == 0
}

// mayNotify reports whether a notification of the client may go to the server. Only the client that
// was asked a question may report progress of it.
func (t *tenant) mayNotify(method string, params json.RawMessage) bool {
	if method != mcp.NotificationProgress || !t.copy.mixed.Load() {
		return true
	}
	t.copy.mu.Lock()
	defer t.copy.mu.Unlock()
	return t.tokens[string(member(params, "progressToken"))] > 0
}

// expectProgress lets the client report the progress of a question until over is called.
func (t *tenant) expectProgress(question json.RawMessage) (over func()) {
	token := meta(question, mcp.MetaProgressToken)
	if token == nil {
		return func() {}
	}
	add := func(n int) {
		t.copy.mu.Lock()
		defer t.copy.mu.Unlock()
		if t.tokens == nil {
			t.tokens = make(map[string]int)
		}
		if t.tokens[string(token)] += n; t.tokens[string(token)] == 0 {
			delete(t.tokens, string(token))
		}
	}
	add(1)
	return func() { add(-1) }
}

// tell passes a notification to the client: at once, or by its queue if the session is shared.
func (t *tenant) tell(e host.Event) {
	if t.upstream.events != nil {
		t.upstream.events.add(e)
		return
	}
	t.upstream.client.onNotification(t.upstream, e)
}
