package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// A call of a tool that the server runs as a task needs nothing special:
// [Session.CallTool] returns when the task is finished. What follows is for tasks
// that outlive the session which began them.

// ListTasks returns the tasks that a server of the revision 2025-11-25 keeps for
// this client. Modern servers have no list of them.
func (s *Session) ListTasks(ctx context.Context) ([]mcp.Task, error) {
	return answer(ctx, s, mcp.MethodListTasks, s.inner.ListTasks)
}

// Task returns how far a task is.
func (s *Session) Task(ctx context.Context, id string) (*mcp.Task, error) {
	return answer(ctx, s, mcp.MethodGetTask, func(ctx context.Context) (*mcp.Task, error) { return s.inner.Task(ctx, id) })
}

// FinishTask sees a task through and returns the result of the call that it was.
// When ctx ends, the task is cancelled.
func (s *Session) FinishTask(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	return answer(ctx, s, mcp.MethodTaskResult, func(ctx context.Context) (*mcp.CallToolResult, error) { return s.inner.FinishTask(ctx, id) })
}

// CancelTask asks the server to end a task. A modern server may go on with it.
func (s *Session) CancelTask(ctx context.Context, id string) error {
	return s.do(ctx, mcp.MethodCancelTask, func() error { return s.inner.CancelTask(ctx, id) })
}
