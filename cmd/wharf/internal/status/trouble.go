package status

import (
	"context"

	"github.com/wharf-mcp/wharf/host/status"
)

// Trouble tells of each server that cannot be reached, until news ends: once when an attempt fails, however many
// fail after it, and once with an empty text when the server is reached again. text is for people, and does not name
// the server.
func Trouble(ctx context.Context, news status.Watch, tell func(server, text string)) {
	told := make(map[string]bool) // by name: each attempt may be a session of its own
	for u, err := news.Next(ctx); err == nil; u, err = news.Next(ctx) {
		switch {
		case u.State == status.Connected && told[u.Name]:
			delete(told, u.Name)
			tell(u.Name, "")
		case fails(u.Status) && !told[u.Name]:
			told[u.Name] = true
			tell(u.Name, Brief(u.Name, u.Err))
		}
	}
}

// fails reports whether the Err of a status says why there is no connection now. A status keeps the Err of an
// attempt after another has made a connection, and after that has been ended because it was not used.
func fails(s status.Status) bool {
	switch s.State {
	case status.Connecting, status.Reconnecting:
		return s.Err != nil && s.Attempt > 0 && s.Reason != status.Wanted
	case status.Failed, status.AuthRequired:
		return s.Err != nil
	}
	return false
}
