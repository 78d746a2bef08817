package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// encodings counts how often it is encoded, which fails.
type encodings struct{ n int }

func (e *encodings) MarshalJSON() ([]byte, error) { e.n++; return nil, errors.New("no luck") }

// A notification that fails for a reason of its own is tried once.
func TestFailedNotificationIsTriedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var params encodings
		if err := launcher(oldServer()).open().Notify(t.Context(), "notifications/x", &params); !errors.Is(err, rpc.ErrNotSent) || params.n != 1 {
			t.Errorf("%d attempts: %v", params.n, err)
		}
	})
}

// A refusal of the headers is one of the list of tools only for a call of a tool, and
// only where a call has headers.
func TestMismatchOfOtherRequests(t *testing.T) {
	on := newHTTPScript()
	on["x"] = no(400, mcp.CodeHeaderMismatch)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		if err := s.open().Call(t.Context(), "x", nil, nil); codeOf(err) != mcp.CodeHeaderMismatch {
			t.Error(err)
		}
		if got := s.received(); got != newOpening+" x/1" {
			t.Errorf("saw %s", got)
		}
	})
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("tools/list", answer(`{"tools":[]}`)).with("tools/call", refuse(mcp.CodeHeaderMismatch, "no", "")))
		if _, err := call(t, d.open()); codeOf(err) != mcp.CodeHeaderMismatch {
			t.Error(err)
		}
		if got := d.process(0).received(); got != probed+" tools/call" {
			t.Errorf("saw %s", got)
		}
	})
}

// Another revision is kept unless the server refuses that as well.
func TestRevisionIsAdopted(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(newServer()).open()
		l := s.current()
		other := l.dialect
		other.revision = "2099-01-01"
		for _, test := range []struct {
			d    dialect
			err  error
			want bool
		}{
			{l.dialect, nil, false},
			{other, &rpc.Error{Code: mcp.CodeUnsupportedVersion}, false},
			{l.dialect, &rpc.Error{Code: mcp.CodeUnsupportedVersion}, false},
			{other, &rpc.Error{Code: mcp.CodeInvalidParams}, true},
		} {
			if s.adopt(l, test.d, test.err); (s.current() != l) != test.want {
				t.Errorf("%s after %v is kept: %v", test.d.revision, test.err, !test.want)
			}
		}
		if got := s.current().dialect.revision; got != other.revision {
			t.Errorf("%s is kept", got)
		}
	})
}

// The end of a connection explains what it ended, and no result or answer of before.
func TestExplanations(t *testing.T) {
	why := errors.New("server exited with code 9")
	lost, answer := &rpc.CallError{Err: rpc.ErrClosed}, &rpc.Error{Code: 1}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer())
		s := d.open()
		l := s.current()
		explained := func(err, also error) {
			t.Helper()
			got := s.explain(l, err)
			if !errors.Is(got, err) || also == nil && got != err || also != nil && !errors.Is(got, also) {
				t.Errorf("%v becomes %v", err, got)
			}
		}
		explained(lost, nil)
		d.process(0).exit(why)
		synctest.Wait()
		explained(nil, nil)
		explained(answer, nil)
		explained(lost, why)
		explained(why, nil)
		s.Close()
		explained(nil, nil)
		explained(answer, nil)
		explained(lost, ErrClosed)
	})
	visit(t, oldHTTPScript(), func(t *testing.T, s *fakeHTTP) { // whose connections end without a reason
		session := s.open()
		l := session.current()
		l.Transport.Shutdown(context.Background())
		if got := session.explain(l, lost); got != error(lost) {
			t.Error(got)
		}
	})
}
