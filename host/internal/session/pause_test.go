package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestPersonTakesTime has a server ask the person something in the middle of a
// call. They take longer than the call may, and the server after that.
func TestPersonTakesTime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // until the server answers
		late  bool
	}{{"and the server none", 0, false}, {"and the server too", time.Minute, true}} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				asks := func(p *process, m message) {
					p.print(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?"}}`)
					time.AfterFunc(10*time.Minute+tt.after, func() { answer(echoResult)(p, m) })
				}
				s := launcher(able(mcp.Legacy, everything).with("tools/call", asks)).open(func(c *setup) {
					c.Timeout = 30 * time.Second
					c.Elicit = func(context.Context, mcp.Elicitation) (mcp.ElicitResult, error) {
						time.Sleep(10 * time.Minute)
						return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
					}
				})
				began := time.Now()
				_, err := s.CallTool(WithProgress(t.Context(), func(mcp.Progress) {}), "echo", nil)
				took := time.Since(began)
				if tt.late && (!errors.Is(err, rpc.ErrTimeout) || took != 10*time.Minute+30*time.Second) || !tt.late && err != nil {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
