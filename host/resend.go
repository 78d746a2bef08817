package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// MaybeSent reports whether err is about a request that the server may have, and
// may have acted on, although no answer came. A request whose error is neither that
// nor [ErrNotSent] was answered, or was never made.
func MaybeSent(err error) bool {
	var call *rpc.CallError
	return errors.As(err, &call) && call.Sent == rpc.MaybeSent
}

// reads are the methods that change nothing, however often they are called.
var reads = map[string]bool{
	mcp.MethodDiscover:      true,
	mcp.MethodPing:          true,
	mcp.MethodListTools:     true,
	mcp.MethodListPrompts:   true,
	mcp.MethodGetPrompt:     true,
	mcp.MethodListResources: true,
	mcp.MethodListTemplates: true,
	mcp.MethodReadResource:  true,
	mcp.MethodComplete:      true,
	mcp.MethodListTasks:     true,
	mcp.MethodGetTask:       true,
}

// repeat makes a request. If the connection is lost before the answer, a harmless one is
// made once more. A call that succeeds allocates nothing here.
func (s *Session) repeat(ctx context.Context, method string, harmless bool, request func() error) error {
	err := request()
	if err == nil {
		s.note(method, nil)
		return nil
	}
	return s.mend(ctx, method, harmless, request, err)
}

// mend handles a request that failed with err: it has the person sign in, or makes the
// request once more. The first error is kept: a request that may have reached the server
// does not become one that was not sent.
func (s *Session) mend(ctx context.Context, method string, harmless bool, request func() error, err error) error {
	return s.signingIn(ctx, method, func() error {
		failed := err
		if err = nil; failed == nil {
			failed = request()
		}
		if failed == nil || !harmless || !lostInFlight(ctx, failed) {
			return explain(s.Name(), failed)
		}
		again := request()
		if errors.Is(again, ErrNotSent) {
			again = fmt.Errorf("%w; and when it was sent again: %v", failed, again)
		}
		return explain(s.Name(), again)
	})
}

// lostInFlight reports whether err says that the connection was lost between a request
// and its answer, and not that the time was over or the caller left.
func lostInFlight(ctx context.Context, err error) bool {
	var status *rpc.StatusError
	if errors.As(err, &status) && status.HTTP != 0 || errors.Is(err, rpc.ErrTimeout) {
		return false
	}
	return MaybeSent(err) && ctx.Err() == nil && !errors.Is(err, session.ErrClosed)
}

// mayRepeat reports whether a tool may be called again, by what the newest list
// said of it and what the user decided.
func (s *Session) mayRepeat(tool string) bool {
	if !s.resends() {
		return false
	}
	known := s.harmless.Load()
	return known != nil && (*known)[tool]
}

// resends reports whether the user lets the marks of the server's tools count.
func (s *Session) resends() bool { return s.host.config.Resend || s.entry.Load().Resend }

// learn takes a list of the server's tools.
func (s *Session) learn(tools []mcp.Tool) {
	s.driver.Report(func(f *manager.Facts) { f.Tools, f.Stale = len(tools), false })
	if !s.resends() {
		return
	}
	harmless := make(map[string]bool)
	for _, tool := range tools {
		if a := tool.Annotations; a != nil && (isSet(a.ReadOnlyHint) || isSet(a.IdempotentHint)) {
			harmless[tool.Name] = true
		}
	}
	s.harmless.Store(&harmless)
}

func isSet(hint *bool) bool { return hint != nil && *hint }
