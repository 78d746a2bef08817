package demo

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// listen begins a stream of notifications, and acknowledges what the stream carries. The answer to
// the request ends the stream.
func (s *server) listen(ctx context.Context, r *request) error {
	var wanted struct {
		ResourceSubscriptions []string `json:"resourceSubscriptions"`
	}
	if len(r.params.Notifications) == 0 || json.Unmarshal(r.params.Notifications, &wanted) != nil {
		return &refusal{Code: mcp.CodeInvalidParams, Message: "invalid params"}
	}
	s.mu.Lock()
	s.listening[string(r.ID)] = listener{r.ID, wanted.ResourceSubscriptions}
	s.mu.Unlock()
	if err := s.notify("notifications/subscriptions/acknowledged", object{
		"_meta": object{mcp.MetaSubscriptionID: r.ID}, "notifications": r.params.Notifications,
	}); err != nil {
		return err
	}
	s.tick(ctx)
	return errLater
}

// subscribe adds or removes a resource whose changes a legacy client is told of.
func (s *server) subscribe(ctx context.Context, uri string, on bool) {
	s.mu.Lock()
	rest := slices.DeleteFunc(slices.Clone(s.listening[""].uris), func(other string) bool { return other == uri })
	if on {
		rest = append(rest, uri)
	}
	s.listening[""] = listener{uris: rest}
	s.mu.Unlock()
	s.tick(ctx)
}

// tick begins to notify those who listen to the clock, every second.
func (s *server) tick(ctx context.Context) {
	s.mu.Lock()
	ticking := s.ticking
	s.ticking = true
	s.mu.Unlock()
	if ticking {
		return
	}
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
			s.mu.Lock()
			all := slices.Collect(maps.Values(s.listening))
			s.mu.Unlock()
			for _, l := range all {
				if !slices.Contains(l.uris, clock) {
					continue
				}
				params := object{"uri": clock}
				if l.id != nil {
					params["_meta"] = object{mcp.MetaSubscriptionID: l.id}
				}
				s.notify("notifications/resources/updated", params)
			}
		}
	}()
}
