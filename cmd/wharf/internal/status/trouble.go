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
		switch failed := u.Attempt > 0 || u.State == status.Failed || u.State == status.AuthRequired; {
		case u.State == status.Connected && told[u.Name]:
			delete(told, u.Name)
			tell(u.Name, "")
		case failed && u.Err != nil && !told[u.Name]:
			told[u.Name] = true
			tell(u.Name, Brief(u.Name, u.Err))
		}
	}
}
