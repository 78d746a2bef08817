package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// logs brings the log messages of a legacy server to the requests of a modern client that want
// them. Such a server has one level for the whole session, which is the lowest that was asked for.
type logs struct {
	setting sync.Mutex // held while the server is told

	mu       sync.Mutex
	levelSet int              // the number of levels that the server logs, from the most severe down; 0 is what it chose
	open     map[*request]int // the number of levels that each request wants
}

// readLevel returns the level in the params of logging/setLevel.
func readLevel(params json.RawMessage) (mcp.Level, error) {
	level := mcp.Level(text(params, "level"))
	if !slices.Contains(mcp.Levels, level) {
		return "", invalidParams("logging/setLevel: params.level is not one of %v", mcp.Levels)
	}
	return level, nil
}

// severity returns how many levels are at least as severe as this one, itself included; 0 for a text
// that is no level.
func severity(level string) int {
	at := slices.Index(mcp.Levels, mcp.Level(level))
	if at < 0 {
		return 0
	}
	return len(mcp.Levels) - at
}

// begin has the log messages of at least a level go to a request, until end is called. level is JSON;
// with nil, or what is no level, there are none. A server that does not log says so by its
// capabilities; the request goes on without.
func (l *logs) begin(ctx context.Context, u *upstream, r *request, level json.RawMessage) (end func()) {
	wanted := severity(unquote(level))
	if wanted == 0 {
		return func() {}
	}
	l.mu.Lock()
	if l.open == nil {
		l.open = make(map[*request]int)
	}
	l.open[r] = wanted
	l.mu.Unlock()

	l.setting.Lock()
	defer l.setting.Unlock()
	if l.levelSet < wanted {
		if err := u.session.SetLevel(host.WithOptions(ctx, u.options), mcp.Levels[len(mcp.Levels)-wanted]); err == nil {
			l.levelSet = wanted
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, r)
	}
}

// tell sends a log message to the requests that want it, once over each channel.
func (l *logs) tell(ctx context.Context, params json.RawMessage) {
	level := severity(text(params, "level"))
	l.mu.Lock()
	var channels []clientChannel
	for r, wanted := range l.open {
		if level <= wanted && !slices.Contains(channels, r.channel) {
			channels = append(channels, r.channel)
		}
	}
	l.mu.Unlock()
	for _, to := range channels {
		to.notify(ctx, mcp.NotificationMessage, params)
	}
}
