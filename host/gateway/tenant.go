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

// tenant is the place that a client has in a copy of a server. Requests and notifications of the server
// that belong to its calls are tied to it by its number, see [host.CallerOf].
type tenant struct {
	copy     *serverCopy
	upstream *upstream
	number   uint64 // not 0

	inherited int // the level of the place that the client had before; 0 is none
	restored  sync.Once

	// Guarded by mu of the copy:
	left   bool           // it begins no more calls
	busy   int            // its calls, and questions to it
	quiet  ctxcond.Cond   // busy has become 0
	level  int            // the number of levels that it hears, from the most severe down; 0 is what the server chose
	tokens map[string]int // of progress that questions to it want
}

// begin lets in a call of the client, of which end is to be called. ctx ends with stop, and when the
// client leaves a session that others use; its own ends its calls.
func (t *tenant) begin(ctx context.Context) (bounded context.Context, stop func(), err error) {
	t.copy.mu.Lock()
	if t.left {
		t.copy.mu.Unlock()
		return nil, nil, host.ErrClosed
	}
	t.busy++
	t.copy.mu.Unlock()
	if !t.copy.shared {
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

// leave gives up the place when the calls under way are over. The last tenant ends the session.
func (t *tenant) leave() {
	c := t.copy
	c.mu.Lock()
	t.left = true
	if !c.shared {
		c.mu.Unlock()
		c.session.Close() // which ends the calls
		c.mu.Lock()
	}
	for t.busy > 0 {
		t.quiet.Await(context.Background(), &c.mu)
	}
	delete(c.tenants, t.number)
	last := len(c.tenants) == 0
	c.closing = c.closing || last
	c.mu.Unlock()
	if last {
		c.copies.remove(c)
		c.session.Close()
	}
}

// options are those of the requests of the client.
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

// setLevel has the client hear log messages from a level up. A legacy server logs at the lowest level
// that any tenant asked for; a modern one that is shared is told with each request.
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

// levelOf returns the level of a severity, which is not 0.
func levelOf(severity int) mcp.Level { return mcp.Levels[len(mcp.Levels)-severity] }

// inherit takes the level from the place that the client had before.
func (t *tenant) inherit(before *tenant) {
	before.copy.mu.Lock()
	level := before.level
	before.copy.mu.Unlock()
	t.copy.mu.Lock()
	defer t.copy.mu.Unlock()
	t.inherited, t.level = level, level
}

// restoreLevel tells the server of a level that was inherited. If it refuses, the client hears what the
// server sends by itself.
func (t *tenant) restoreLevel(ctx context.Context) {
	if t.inherited > 0 {
		t.restored.Do(func() { t.copy.session.SetLevel(host.WithOptions(ctx, t.options()), levelOf(t.inherited)) })
	}
}

// hearsLocked reports whether the client wants a log message of a level. One that has asked for no
// level hears what the server sends by itself, and what others have asked for from info up. The
// caller holds mu of the copy.
func (t *tenant) hearsLocked(level int) bool {
	if t.level > 0 {
		return level <= t.level
	}
	return level <= severity(string(mcp.LevelInfo)) || t.copy.lowestLevelLocked() == 0
}

// mayNotify reports whether a notification of the client is for the server. The progress of a question
// is that of the client which was asked.
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

// tell has the client hear a notification.
func (t *tenant) tell(e host.Event) {
	if t.upstream.events != nil {
		t.upstream.events.add(e)
		return
	}
	t.upstream.client.onNotification(t.upstream, e)
}
