package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// ErrClosed is the error of calls to a closed gateway, and of requests that end because it is closed.
// It is a [host.ErrClosed].
var ErrClosed error = closedError{}

type closedError struct{}

func (closedError) Error() string { return "the gateway is ending" }
func (closedError) Unwrap() error { return host.ErrClosed }

// leaveTime is how long requests may still take once their client has ended its side of a stream.
const leaveTime = 3 * time.Second

var errEndedSide = fmt.Errorf("the client has ended its side, and the request took longer than %v after that", leaveTime)

// whyGivenUp returns why a request whose context has ended is given up.
func whyGivenUp(ctx context.Context) error {
	if taken, ok := context.Cause(ctx).(*rpc.TakenBack); ok {
		return taken
	}
	for _, why := range []error{ErrClosed, errEndedSide} {
		if errors.Is(context.Cause(ctx), why) {
			return why
		}
	}
	return errLeft
}

// closeTime is how long a gateway that ends waits for the last messages of subscriptions, and for the
// answers to requests that it has cancelled.
const closeTime = 5 * time.Second

// Finish has the gateway take no more requests: each further one is answered with an error that says that
// the gateway is ending. It waits until those under way have ended, but for those that listen, or until ctx
// ends. The caller closes the gateway afterwards.
func (g *Gateway) Finish(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finishing = true
	for g.answering > 0 {
		if err := g.quiet.Await(ctx, &g.mu); err != nil {
			return err
		}
	}
	return nil
}

// admit counts a request of a method that is under way until answered is called. It returns false if no more
// are taken.
func (g *Gateway) admit(method string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.finishing || g.closed {
		return false
	}
	if method != mcp.MethodListen { // which lasts until the client leaves
		g.answering++
	}
	return true
}

// answered is called once for each request that was admitted.
func (g *Gateway) answered(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if method == mcp.MethodListen {
		return
	}
	if g.answering--; g.answering == 0 {
		g.quiet.Broadcast()
	}
}

// takesClients reports whether the gateway takes clients and their requests.
func (g *Gateway) takesClients() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.finishing && !g.closed
}

// delayed returns how many first connections and sign-ins have ended, and whether one of either kind is under way.
func (g *Gateway) delayed() (ended uint64, now bool) {
	c := g.host.Counts()
	now = c.SigningIn > 0 || slices.ContainsFunc(g.host.Servers(), func(s status.Status) bool {
		_, ours := g.server(s.Name)
		return ours && s.State == status.Connecting
	})
	return c.Connected - c.Reconnected + c.SignIns - c.SigningIn, now
}

// awaitLeaving waits until requests have had leaveTime in which nothing held them up, or until ctx ends. What
// is piped into the program has ended before its servers are there, and before a person has signed in.
func awaitLeaving(ctx context.Context, delayed func() (ended uint64, now bool)) error {
	for {
		before, _ := delayed()
		select {
		case <-time.After(leaveTime):
		case <-ctx.Done():
			return ctx.Err()
		}
		if ended, now := delayed(); !now && ended == before {
			return nil
		}
	}
}

// endRequests cancels the requests that a peer serves, and waits until the client has the errors that
// answer them and say why, but no longer than closeTime.
func endRequests(p *rpc.Peer, why error) {
	ctx, stop := context.WithTimeout(context.Background(), closeTime)
	defer stop()
	p.EndRequests(why)
	p.AwaitAnswered(ctx)
}
