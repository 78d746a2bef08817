package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Subscription reports changes until it or its session is closed. When the connection is lost,
// it waits for another, with growing pauses, and subscribes again.
type Subscription struct {
	server string
	inner  *session.Subscription
}

// Subscribe asks the server to report the changes that the filter names, in either era. It
// returns when the server has agreed, perhaps to fewer, see [Subscription.Honoured]. It fails if
// the server does not agree within the timeout of a request, or within 30 s if requests have no
// timeout.
func (s *Session) Subscribe(ctx context.Context, f mcp.Filter) (*Subscription, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodSubscribe, "")
	q.filter = &f
	return answer(ctx, s, &q, func(ctx context.Context) (*Subscription, error) {
		inner, err := s.inner.Subscribe(ctx, f)
		if err != nil {
			return nil, err
		}
		return &Subscription{s.Name(), inner}, nil
	})
}

// Honoured returns which changes the server has agreed to report: the filter, or a part of
// it.
func (s *Subscription) Honoured() mcp.Filter { return s.inner.Honoured() }

// Next waits for a change. A change that comes again before it was taken is returned once. A
// bounded number of changes waits: one [mcp.Missed] takes the place of those beyond it. After
// the subscription has ended, the error says why; it is an [ErrClosed] if nothing went wrong.
func (s *Subscription) Next(ctx context.Context) (mcp.Change, error) {
	c, err := s.inner.Next(ctx)
	return c, explain(s.server, err)
}

// ID is the name by which events refer to the subscription, see [Event]. It changes with each
// connection, and is "" for a legacy server.
func (s *Subscription) ID() string { return s.inner.ID() }

// Close ends the subscription. It does not wait until the server knows.
func (s *Subscription) Close() error { return s.inner.Close() }
