package control

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// startTask calls a tool as a task, which goes on without the editor.
func startTask(ctx context.Context, _ *editor, s *server, p *StartTaskParams) (*mcp.Task, error) {
	arguments, err := object("tasks/start", "arguments", p.Arguments)
	if err == nil {
		err = notNegative("tasks/start", "ttl", p.TTL)
	}
	if err != nil {
		return nil, err
	}
	return s.session.BeginTask(ctx, p.Name, arguments, time.Duration(p.TTL)*time.Millisecond)
}

func listTasks(ctx context.Context, _ *editor, s *server, _ *ServerParams) (*TaskList, error) {
	tasks, err := s.session.ListTasks(ctx)
	return &TaskList{notNil(tasks)}, err
}

func getTask(ctx context.Context, _ *editor, s *server, p *TaskParams) (*mcp.Task, error) {
	return s.session.Task(ctx, p.ID)
}

// taskResult waits for the end of a task. An editor that cancels the request ends the wait alone.
func taskResult(ctx context.Context, e *editor, s *server, p *TaskParams) (*mcp.CallToolResult, error) {
	return s.session.FinishTask(host.WithOptions(ctx, host.RequestOptions{Caller: e.number, KeepTask: true}), p.ID)
}

func cancelTask(ctx context.Context, _ *editor, s *server, p *TaskParams) (*Empty, error) {
	return &Empty{}, s.session.CancelTask(ctx, p.ID)
}
