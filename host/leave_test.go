package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	ours "github.com/wharf-mcp/wharf/host/mcp"
)

func init() { servers["patient"] = servePatient }

// servePatient has a tool that goes on until its caller leaves, and one that waits
// until that has happened.
func servePatient() {
	s := mcp.NewServer(&mcp.Implementation{Name: "patient", Version: "1"}, nil)
	left := make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		close(left)
		return &mcp.CallToolResult{}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "left"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		<-left
		return &mcp.CallToolResult{}, nil, nil
	})
	s.Run(context.Background(), &mcp.StdioTransport{})
}

// overdue is a context whose time is over when the channel is closed.
type overdue struct {
	context.Context
	over chan struct{}
}

func (o overdue) Done() <-chan struct{} { return o.over }

func (o overdue) Err() error {
	select {
	case <-o.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A caller who leaves, or whose time is over, is missed by the server over stdio.
func TestLeavingAProcess(t *testing.T) {
	for _, protocol := range []string{"legacy", "2026-07-28"} {
		for name, timeout := range map[string]bool{"left": false, "late": true} {
			t.Run(protocol+", "+name, func(t *testing.T) {
				entry := server("patient")
				entry.Protocol = protocol
				s := connect(t, newHost(t, host.Config{}), entry)
				ctx, cancel := context.WithCancel(t.Context())
				want := context.Canceled
				if timeout {
					late := overdue{context.Background(), make(chan struct{})}
					ctx, cancel, want = late, sync.OnceFunc(func() { close(late.over) }), context.DeadlineExceeded
				}
				defer cancel()
				// The time is over when the server is at work, and not before.
				_, err := s.CallTool(host.WithOptions(ctx, host.RequestOptions{Progress: func(ours.Progress) { cancel() }}), "wait", nil)
				if !errors.Is(err, want) {
					t.Errorf("the call ended with %v", err)
				}
				if _, err := s.CallTool(t.Context(), "left", nil); err != nil {
					t.Errorf("the server does not know: %v", err)
				}
			})
		}
	}
}
