package control

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// startTask calls a tool as a task, which goes on without the editor.
func startTask(ctx context.Context, e *editor, p *StartTaskParams) (*mcp.Task, error) {
	s, err := e.session(p.Server)
	if err != nil {
		return nil, err
	}
	var arguments any
	if p.Arguments != nil {
		arguments = p.Arguments
	}
	return s.BeginTask(ctx, p.Name, arguments, time.Duration(max(0, p.TTL))*time.Millisecond)
}

func listTasks(ctx context.Context, e *editor, p *ServerParams) (*TaskList, error) {
	s, err := e.session(p.Server)
	if err != nil {
		return nil, err
	}
	tasks, err := s.ListTasks(ctx)
	return &TaskList{notNil(tasks)}, err
}

func getTask(ctx context.Context, e *editor, p *TaskParams) (*mcp.Task, error) {
	s, err := e.session(p.Server)
	if err != nil {
		return nil, err
	}
	return s.Task(ctx, p.ID)
}

// taskResult waits for the end of a task. An editor that cancels the request ends the wait alone.
func taskResult(ctx context.Context, e *editor, p *TaskParams) (*mcp.CallToolResult, error) {
	s, err := e.session(p.Server)
	if err != nil {
		return nil, err
	}
	return s.FinishTask(host.WithOptions(ctx, host.RequestOptions{Caller: e.number, KeepTask: true}), p.ID)
}

func cancelTask(ctx context.Context, e *editor, p *TaskParams) (*Empty, error) {
	s, err := e.session(p.Server)
	if err != nil {
		return nil, err
	}
	return &Empty{}, s.CancelTask(ctx, p.ID)
}
