package status

import (
	"context"

	"github.com/wharf-mcp/wharf/host/status"
)

// Trouble tells of each server that cannot be reached, until news ends: once when an attempt fails, however many
// fail after it, and once with an empty text when the server is reached again. text is for people, and does not name
// the server.
func Trouble(ctx context.Context, news status.Watch, tell func(server, text string)) {
	told := make(map[string]bool)    // by name: each attempt may be a session of its own
	reached := make(map[uint64]bool) // by session: those that were connected after their newest error
	for u, err := news.Next(ctx); err == nil; u, err = news.Next(ctx) {
		fails := fails(u.Status, reached[u.ID])
		switch {
		case u.State == status.Connected:
			reached[u.ID] = true
			if told[u.Name] {
				delete(told, u.Name)
				tell(u.Name, "")
			}
		case u.State == status.Disconnected && u.Reason == status.Closed, fails:
			delete(reached, u.ID)
		}
		if fails && !told[u.Name] {
			told[u.Name] = true
			tell(u.Name, Brief(u.Name, u.Err))
		}
	}
}

// fails reports whether the Err of a status says why there is no connection. A status keeps the Err of an
// attempt after another has made a connection, which has reached the server, and after that has ended because it
// was not used. A session that failed may have been closed before its failure was news.
func fails(s status.Status, reached bool) bool {
	switch s.State {
	case status.Connecting, status.Reconnecting:
		return s.Err != nil && s.Attempt > 0 && s.Reason != status.Wanted
	case status.Failed, status.AuthRequired:
		return s.Err != nil
	case status.Closing, status.Disconnected:
		return s.Err != nil && s.Attempt > 0 && s.Reason == status.Closed && !reached
	}
	return false
}
