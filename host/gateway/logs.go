package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// logs passes the log messages of a legacy server to those requests of a modern client that want
// them. A legacy server has one level for the whole session: logs sets the lowest level that any
// request has asked for.
type logs struct {
	setting ctxmutex.Mutex // held while the level is set at the server

	mu        sync.Mutex
	levelSet  int // the number of levels that the server logs, from the most severe down; 0 is what it chose
	listeners map[*logListener]bool
}

// logListener is a request that wants log messages, or a call that several requests wait for in
// turn. target returns the channel that messages go to now, and how many levels are wanted; 0
// means none.
type logListener struct {
	target func() (to clientChannel, wanted int)
}

// severity returns how many levels are at least as severe as level, which counts too. It returns 0
// for a text that is no level.
func severity(level string) int {
	at := slices.Index(mcp.Levels, mcp.Level(level))
	if at < 0 {
		return 0
	}
	return len(mcp.Levels) - at
}

// readLevel returns the level in the params of logging/setLevel.
func readLevel(params json.RawMessage) (mcp.Level, error) {
	level := mcp.Level(text(params, "level"))
	if !slices.Contains(mcp.Levels, level) {
		return "", invalidParams("logging/setLevel: params.level is not one of %v", mcp.Levels)
	}
	return level, nil
}

// wantedLevels returns how many log levels a request wants to hear, from the most severe down.
func (m *modernMeta) wantedLevels() int { return severity(unquote(m.level)) }

// begin sends log messages to a listener, until end is called. It first makes the server log at the
// level that the listener wants, see raise.
func (l *logs) begin(ctx context.Context, u *upstream, listener *logListener) (end func()) {
	l.mu.Lock()
	if l.listeners == nil {
		l.listeners = make(map[*logListener]bool)
	}
	l.listeners[listener] = true
	l.mu.Unlock()
	_, wanted := listener.target()
	l.raise(ctx, u, wanted)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.listeners, listener)
	}
}

// levelWait is how long a request waits until a server has set the level that it wants.
const levelWait = 5 * time.Second

// raise makes the server log the wanted number of levels, unless it logs as many already. It waits for
// the server no longer than levelWait. A request goes on without log messages if its server refuses or
// does not answer. A server that did not answer is not asked again for that level.
func (l *logs) raise(ctx context.Context, u *upstream, wanted int) {
	limited, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	if l.logged() >= wanted || l.setting.Lock(limited) != nil {
		return
	}
	defer l.setting.Unlock()
	if l.logged() >= wanted {
		return
	}
	err := u.setLevel(limited, levelOf(wanted))
	if err == nil || limited.Err() != nil && ctx.Err() == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.levelSet = wanted
	}
}

func (l *logs) logged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.levelSet
}

// tell sends a log message to the listeners that want it, once over each channel.
func (l *logs) tell(ctx context.Context, params json.RawMessage) {
	level := severity(text(params, "level"))
	l.mu.Lock()
	listeners := slices.Collect(maps.Keys(l.listeners))
	l.mu.Unlock()
	var channels []clientChannel
	for _, listener := range listeners {
		to, wanted := listener.target()
		if wanted > 0 && level <= wanted && !slices.Contains(channels, to) {
			channels = append(channels, to)
		}
	}
	for _, to := range channels {
		to.notify(ctx, mcp.NotificationMessage, params)
	}
}
