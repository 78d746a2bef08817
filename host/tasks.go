package host

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// A call of a tool that the server runs as a task needs nothing special:
// [Session.CallTool] returns when the task is finished. What follows is for tasks
// that outlive the session which began them.

// BeginTask calls a tool and returns the task that the server has made of the call. The task
// goes on without this program. A legacy server is asked for a task, and to keep it for ttl
// unless that is 0; the error is [ErrUnsupported] if the server cannot run this tool as a task.
// A modern server decides for itself: if it has finished the call at once, the task has no ID,
// is completed, and has the result. Arguments and permissions are as for CallTool. BeginTask
// never repeats a call whose answer was lost, since the first task may still run.
func (s *Session) BeginTask(ctx context.Context, name string, args any, ttl time.Duration) (*mcp.Task, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodCallTool, name)
	q.arguments, q.once = args, true // no caller would know the ID of the first of two tasks
	if err := q.showArguments(); err != nil {
		return nil, err
	}
	task, err := answer(ctx, s, &q, func(ctx context.Context) (*mcp.Task, error) { return s.inner.BeginTask(ctx, name, q.arguments, ttl) })
	if err == nil {
		q.began(task.ID)
	}
	return task, err
}

// ListTasks returns the tasks that a server of the revision 2025-11-25 keeps for
// this client. Modern servers have no list of them.
func (s *Session) ListTasks(ctx context.Context) ([]mcp.Task, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodListTasks, "")
	tasks, err := answer(ctx, s, &q, s.inner.ListTasks)
	return shown(ctx, &q.view, q.method, tasks, ofTask), err
}

// Task returns the state of a task.
func (s *Session) Task(ctx context.Context, id string) (*mcp.Task, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodGetTask, id)
	return answer(ctx, s, &q, func(ctx context.Context) (*mcp.Task, error) { return s.inner.Task(ctx, id) })
}

// FinishTask waits until a task has ended, and returns the result of its call.
// When ctx ends, the task is cancelled, unless [RequestOptions] keep it.
func (s *Session) FinishTask(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodTaskResult, id)
	return answer(ctx, s, &q, func(ctx context.Context) (*mcp.CallToolResult, error) { return s.inner.FinishTask(ctx, id) })
}

// CancelTask asks the server to end a task. A modern server may go on with it.
func (s *Session) CancelTask(ctx context.Context, id string) error {
	var q query
	s.ask(ctx, &q, mcp.MethodCancelTask, id)
	_, err := answer(ctx, s, &q, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.inner.CancelTask(ctx, id) })
	return err
}
