//go:build unix

package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trust"
)

// Many calls that need the same answer are one question.
func TestOneQuestionForMany(t *testing.T) {
	r := newRepo(t)
	var asked atomic.Int32
	var here sync.WaitGroup
	here.Add(8)
	h := r.host(func(trust.Approval) trust.Decision {
		asked.Add(1)
		here.Wait()
		for range 1000 { // in which the others would have got as far as asking
			runtime.Gosched()
		}
		return trust.Always
	})
	s := r.server()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			here.Done()
			if err := h.Approve(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// Calls that find a server not approved wait for the answer, and none of them
// takes away the connection of another.
func TestCallsWaitForTheAnswer(t *testing.T) {
	r := newRepo(t)
	var asked atomic.Int32
	s, err := r.host(func(trust.Approval) trust.Decision { asked.Add(1); return trust.JustOnce }).Add(r.server())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 5 {
				if _, err := s.CallTool(t.Context(), "echo", map[string]any{"message": "hello"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if starts := strings.Count(r.mark(), "started"); asked.Load() != 1 || starts != 1 {
		t.Errorf("asked %d times, started %d times", asked.Load(), starts)
	}
}

// A call that waits for the answer to the question of another leaves when it has
// waited long enough, and all leave when their session is closed.
func TestWaitingForTheAnswerEnds(t *testing.T) {
	r := newRepo(t)
	asked := make(chan struct{})
	h := newHost(t, host.Config{TrustDir: r.trust, Approve: func(ctx context.Context, _ trust.Approval) (trust.Decision, error) {
		close(asked)
		<-ctx.Done() // a person who is not there
		return trust.NotNow, ctx.Err()
	}})
	s, err := h.Add(r.server())
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error)
	go func() {
		_, err := s.CallTool(context.Background(), "echo", nil)
		first <- err
	}()
	<-asked
	for what, f := range map[string]func(context.Context) error{
		"call":    func(ctx context.Context) error { _, err := s.CallTool(ctx, "echo", nil); return err },
		"approve": func(ctx context.Context) error { return h.Approve(ctx, r.server()) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := f(ctx); err == nil {
			t.Errorf("%s: it is not approved, and it went on", what)
		}
		cancel()
	}
	s.Close()
	if err := <-first; !errors.Is(err, host.ErrDenied) {
		t.Error(err)
	}
}

func TestQuietCallsAskNoQuestion(t *testing.T) {
	r := newRepo(t)
	h := r.host(func(trust.Approval) trust.Decision { t.Error("asked"); return trust.Always })
	if _, err := h.Connect(host.WithOptions(t.Context(), host.RequestOptions{Unattended: true}), r.server()); !errors.Is(err, host.ErrDenied) {
		t.Error(err)
	}
	for what, f := range map[string]func(context.Context, host.Server) error{"login": r.host(nil).Login, "logout": r.host(nil).Logout} {
		if err := f(t.Context(), r.server()); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Signing in uses what the user has approved of as well, and not the text of the
// project.
func TestSignInWaitsForApproval(t *testing.T) {
	r := newRepo(t)
	r.entry(`{"url": "https://server.invalid/${UNSET_VARIABLE}"}`)
	r.approve()
	if err := r.host(nil).Login(t.Context(), r.server()); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "UNSET_VARIABLE is not set") {
		t.Error(err)
	}
}
