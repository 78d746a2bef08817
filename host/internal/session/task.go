package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A server may go on with a call after it has answered: what it answers is a
// task, whose end the client asks for. A modern server chooses that, of a client
// that offers the extension. A legacy one is asked to, and here it is for the
// tools that it runs in no other way
// (2025-11-25/basic/utilities/tasks#tool-level-negotiation). Either way the caller
// of a tool only sees that it takes longer.

// Bounds of how often a task is asked for, where the server has a wish or none.
const (
	usualPoll    = time.Second
	shortestPoll = 100 * time.Millisecond
	longestPoll  = 30 * time.Second
)

// goodbye is how long a caller that leaves waits for its task to be cancelled.
const goodbye = 2 * time.Second

// ListTasks returns the tasks that a legacy server keeps for this client.
func (s *Session) ListTasks(ctx context.Context) ([]mcp.Task, error) {
	return listAll(ctx, s, new(listCache[mcp.Task]), &taskKind) // which no later call finds
}

var taskKind = kind[mcp.Task]{
	method: mcp.MethodListTasks, member: "tasks", thing: "task", needs: hasTaskList,
	read: func(text []byte, _ *strictjson.Allowance) (mcp.Task, string, error) {
		t, err := readTask(text)
		return t, t.ID, err
	},
}

// Task returns how far a task is, which perhaps another session has begun.
func (s *Session) Task(ctx context.Context, id string) (*mcp.Task, error) {
	t, err := s.getTask(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("task %s on %s: %w", clip(id), s.cfg.Name, err)
	}
	return &t, nil
}

func (s *Session) getTask(ctx context.Context, id string) (mcp.Task, error) {
	text, _, err := s.do(ctx, &request{method: mcp.MethodGetTask, given: taskParams(id)})
	if err != nil {
		return mcp.Task{}, err
	}
	return readTask(text)
}

// CancelTask asks the server to end a task. A modern server may go on with it.
func (s *Session) CancelTask(ctx context.Context, id string) error {
	if _, _, err := s.do(ctx, &request{method: mcp.MethodCancelTask, given: taskParams(id)}); err != nil {
		return fmt.Errorf("cancel task %s on %s: %w", clip(id), s.cfg.Name, err)
	}
	return nil
}

// FinishTask sees a task through that was begun earlier and returns the result of
// the call that it was. When ctx ends, the task is cancelled.
func (s *Session) FinishTask(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	text, d, err := s.do(ctx, &request{method: mcp.MethodGetTask, given: taskParams(id)})
	switch {
	case err != nil:
	case d.era == mcp.Legacy:
		text, err = s.awaitLegacy(ctx, text)
	default:
		text, err = s.await(ctx, text)
	}
	var result *mcp.CallToolResult
	if err == nil {
		result, err = readCall(text)
	}
	if err != nil {
		return nil, fmt.Errorf("task %s on %s: %w", clip(id), s.cfg.Name, err)
	}
	return result, nil
}

// await sees a modern task through to its end and returns the result of the call.
func (s *Session) await(ctx context.Context, created []byte) ([]byte, error) {
	t, err := readTask(created)
	answered := make(map[string]bool)
	for err == nil && !t.Status.Final() {
		if t.Status == mcp.TaskInputRequired {
			err = s.inform(ctx, &t, answered)
		}
		if err == nil {
			t, err = s.poll(ctx, &t)
		}
	}
	if err != nil {
		return nil, s.abandon(ctx, &t, err)
	}
	switch t.Status {
	case mcp.TaskFailed:
		return nil, readFault(t.Error)
	case mcp.TaskCancelled:
		return nil, fmt.Errorf("the server cancelled the task: %s", clip(t.StatusMessage))
	}
	if t.Result == nil {
		return nil, fmt.Errorf("%w: a task that is completed, and no result", ErrInvalidResult)
	}
	return t.Result, nil
}

// awaitLegacy sees a task of the legacy era through. Where the server needs
// something, it asks on its own once the result is waited for.
func (s *Session) awaitLegacy(ctx context.Context, task []byte) ([]byte, error) {
	t, err := readTask(task)
	for err == nil && !t.Status.Final() && t.Status != mcp.TaskInputRequired {
		t, err = s.poll(ctx, &t)
	}
	var text []byte
	if err == nil {
		text, _, err = s.do(ctx, &request{method: mcp.MethodTaskResult, given: taskParams(t.ID), limit: -1})
	}
	if err != nil {
		return nil, s.abandon(ctx, &t, err)
	}
	return text, nil
}

func taskParams(id string) map[string]any { return map[string]any{"taskId": id} }

// poll asks for a task after the time that the server wants to pass.
func (s *Session) poll(ctx context.Context, t *mcp.Task) (mcp.Task, error) {
	wait := usualPoll
	if t.PollInterval > 0 {
		wait = time.Duration(min(t.PollInterval, longestPoll.Milliseconds())) * time.Millisecond
	}
	select {
	case <-time.After(max(wait, shortestPoll)):
	case <-ctx.Done():
		return *t, context.Cause(ctx)
	case <-s.ctx.Done():
		return *t, ErrClosed
	}
	next, err := s.getTask(ctx, t.ID)
	if err == nil && next.ID != t.ID {
		err = fmt.Errorf("%w: asked for task %q, got %q", ErrInvalidResult, clip(t.ID), clip(next.ID))
	}
	if err != nil {
		return *t, err
	}
	return next, nil
}

// inform gives the server what a task needs, each thing once.
func (s *Session) inform(ctx context.Context, t *mcp.Task, answered map[string]bool) error {
	w, err := readWanted(t.Raw)
	if err != nil {
		return err
	}
	w.state = nil // a task has none
	w.asked = slices.DeleteFunc(w.asked, func(a asked) bool {
		again := answered[a.key]
		answered[a.key] = true
		return again
	})
	if len(w.asked) == 0 {
		return nil
	}
	if len(answered) > maxRounds*mcp.MaxAsked {
		return fmt.Errorf("%w: after %d answers it is not content", ErrInputRequired, len(answered))
	}
	members, err := s.give(ctx, w)
	if err != nil {
		return err
	}
	params := strictjson.AppendString([]byte(`{"taskId":`), t.ID)
	params = append(append(append(params, ','), members...), '}')
	_, _, err = s.do(ctx, &request{method: mcp.MethodUpdateTask, given: json.RawMessage(params)})
	return err
}

// abandon returns err, and cancels the task where it was the caller who left.
func (s *Session) abandon(ctx context.Context, t *mcp.Task, err error) error {
	if ctx.Err() != nil && t.ID != "" && !t.Status.Final() {
		s.do(context.WithoutCancel(ctx), &request{method: mcp.MethodCancelTask, given: taskParams(t.ID), limit: goodbye})
	}
	return err
}

// readTask reads a task of either era.
func readTask(text []byte) (t mcp.Task, err error) {
	if text == nil {
		return t, fmt.Errorf("%w: no task in it", ErrInvalidResult)
	}
	if err = json.Unmarshal(text, &t); err == nil && (t.ID == "" || t.Status == "") {
		err = errors.New("a task without taskId or status")
	}
	return t, invalid(err)
}

// readFault reads the error that a task failed with.
func readFault(text []byte) error {
	fault := &rpc.Error{Code: mcp.CodeInternalError, Message: "the task failed"}
	r := strictjson.Read(text)
	for key := range r.Object() {
		switch string(key) {
		case "code":
			fault.Code = int(number(r))
		case "message":
			fault.Message = r.String()
		case "data":
			fault.Data = r.Raw()
		}
	}
	return fault
}
