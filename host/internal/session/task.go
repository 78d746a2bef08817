package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A server may go on with a call after it has answered: it answers with a task, and the client asks
// for the outcome of the task. A modern server decides this itself, if the client offers the
// extension. A legacy server makes a task only on request. Wharf requests one for a tool that runs
// in no other way, and when the caller wants a task
// (2025-11-25/basic/utilities/tasks#tool-level-negotiation). The caller of a tool only sees that
// the call takes longer, unless it began a task to come back to later.

// The times between two polls of a task. usualPoll holds if the server has no wish; the others
// bound its wish.
const (
	usualPoll    = time.Second
	shortestPoll = 100 * time.Millisecond
	longestPoll  = 30 * time.Second
)

// goodbye is how long a caller that leaves waits for the cancellation of its task.
const goodbye = 2 * time.Second

// ListTasks returns the tasks that a legacy server keeps for this client.
func (s *Session) ListTasks(ctx context.Context) ([]mcp.Task, error) {
	return listAll(ctx, s, new(listCache[mcp.Task]), &taskKind) // with a cache of its own, which no later call finds
}

var taskKind = kind[mcp.Task]{
	method: mcp.MethodListTasks, member: "tasks", thing: "task", needs: hasTaskList,
	read: func(text []byte, _ *strictjson.Allowance) (mcp.Task, string, error) {
		t, err := readTask(text)
		return t, t.ID, err
	},
}

// Task returns the state of a task, which another session may have begun.
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

// BeginTask calls a tool and returns the task that the server has made of the call. A legacy server
// is asked for a task, and to keep it for ttl; 0 leaves the time to the server. A modern server need not make a
// task: if it has finished the call at once, the returned task has no ID, is completed, and holds
// the result. See [Session.CallTool] for the arguments.
func (s *Session) BeginTask(ctx context.Context, name string, args any, ttl time.Duration) (*mcp.Task, error) {
	q := request{method: mcp.MethodCallTool, name: name, given: args, tool: true, begun: true, ttl: ttl}
	text, d, err := s.requestResult(ctx, &q)
	t := mcp.Task{Status: mcp.TaskCompleted, Result: text}
	switch {
	case err != nil:
	case q.task || d.era == mcp.Modern && readType(text) == mcp.ResultTask:
		t, err = readTask(text)
	default:
		var result *mcp.CallToolResult
		if result, err = readCall(text); err == nil {
			err = s.checkResult(&q, d, result)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("call %s on %s as a task: %w", name, s.cfg.Name, err)
	}
	return &t, nil
}

// FinishTask waits until a task that was begun earlier has ended, and returns the result of its
// call. The end of ctx cancels the task, unless [RequestOptions.KeepTask] is set.
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

// await waits for the end of a modern task and returns the result of the call. Meanwhile it gives
// the server the input that the task needs.
func (s *Session) await(ctx context.Context, created []byte) ([]byte, error) {
	t, err := readTask(created)
	if err != nil {
		return nil, err
	}
	w := s.watchTask(t.ID)
	defer w.over()
	streaming, stop := context.WithCancel(ctx)
	defer stop()
	go w.stream(streaming)
	answered := make(map[string]bool)
	for err == nil && !t.Status.Final() {
		if t.Status == mcp.TaskInputRequired {
			err = s.sendTaskInput(ctx, &t, answered)
		}
		if err == nil {
			t, err = w.poll(ctx, &t)
		}
	}
	if err != nil {
		return nil, s.abandon(ctx, &t, err)
	}
	switch t.Status {
	case mcp.TaskFailed:
		return nil, readFault(t.Error)
	case mcp.TaskCancelled:
		return nil, cancelled(&t)
	}
	if t.Result == nil {
		return nil, fmt.Errorf("%w: a task that is completed, and no result", ErrInvalidResult)
	}
	return t.Result, nil
}

// awaitLegacy waits for the end of a legacy task. A server that needs input sends requests of its
// own once the client waits for the result.
func (s *Session) awaitLegacy(ctx context.Context, task []byte) ([]byte, error) {
	t, err := readTask(task)
	w := s.watchTask(t.ID)
	defer w.over()
	for err == nil && !t.Status.Final() && t.Status != mcp.TaskInputRequired {
		t, err = w.poll(ctx, &t)
	}
	var text []byte
	if err == nil {
		text, _, err = s.do(ctx, &request{method: mcp.MethodTaskResult, given: taskParams(t.ID), limit: -1})
	}
	if errors.As(err, new(*rpc.Error)) && t.Status == mcp.TaskCancelled {
		return nil, cancelled(&t) // of which servers speak as of an error of their own
	}
	if err != nil {
		return nil, s.abandon(ctx, &t, err)
	}
	return text, nil
}

func taskParams(id string) map[string]any { return map[string]any{"taskId": id} }

// taskWatch lets a caller wait for a task. It polls the task now and then, and at once when the
// server reports a change.
type taskWatch struct {
	session *Session
	id      string
	changed <-chan struct{} // has a token when the server has reported a change
	over    func()
	told    atomic.Bool // the server has agreed to report changes
}

func (s *Session) watchTask(id string) *taskWatch {
	w := &taskWatch{session: s, id: id}
	w.changed, w.over = s.taskWaits.add(id)
	return w
}

// poll waits for the time between two polls, and asks for the task. The time is the server's wish,
// or the longest if the server has agreed to report changes.
func (w *taskWatch) poll(ctx context.Context, t *mcp.Task) (mcp.Task, error) {
	s, wait := w.session, usualPoll
	switch {
	case w.told.Load():
		wait = longestPoll
	case t.PollInterval > 0:
		wait = time.Duration(min(t.PollInterval, longestPoll.Milliseconds())) * time.Millisecond
	}
	due, soonest := time.After(max(wait, shortestPoll)), time.After(shortestPoll)
	var told <-chan struct{} // changed, but nil while it is too soon
	for waits := true; waits; {
		select {
		case <-due:
			waits = false
		case <-told:
			waits = false
		case <-soonest:
			told = w.changed
		case <-ctx.Done():
			return *t, context.Cause(ctx)
		case <-s.ctx.Done():
			return *t, ErrClosed
		}
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

// maxTaskStreams is how many streams for the changes of tasks a session has open. Further tasks are
// only polled: a connection has a limited number of handles, and calls need some.
const maxTaskStreams = 8

// stream asks a modern server to report the changes of a long task, until ctx ends. After one
// refusal, it does not ask again on the same connection.
func (w *taskWatch) stream(ctx context.Context) {
	s := w.session
	select {
	case <-time.After(usualPoll):
	case <-ctx.Done():
		return
	case <-s.ctx.Done():
		return
	}
	c := s.cfg.Connections.Current()
	if c == nil || c.noTaskStreams.Load() || !c.agreed.Load().declares("extensions", mcp.ExtensionTasks) {
		return
	}
	select {
	case s.taskStreams <- struct{}{}:
		defer func() { <-s.taskStreams }()
	default:
		return
	}
	u, err := s.Subscribe(ctx, mcp.Filter{Tasks: []string{w.id}})
	if err != nil {
		if ctx.Err() == nil {
			c.noTaskStreams.Store(true)
		}
		return
	}
	defer u.Close()
	for err == nil { // the notification itself wakes poll; u also says that some were missed
		w.told.Store(true)
		s.taskWaits.wake(w.id)
		_, err = u.Next(ctx)
	}
	w.told.Store(false)
	s.taskWaits.wake(w.id)
}

// sendTaskInput gives the server the input that a task needs, each item once.
func (s *Session) sendTaskInput(ctx context.Context, t *mcp.Task, answered map[string]bool) error {
	w, err := readInputRequired(t.Raw)
	if err != nil {
		return err
	}
	w.state = nil // a task has no such state
	w.requests = slices.DeleteFunc(w.requests, func(a inputRequest) bool {
		again := answered[a.key]
		answered[a.key] = true
		return again
	})
	if len(w.requests) == 0 {
		return nil
	}
	if len(answered) > maxRounds*mcp.MaxAsked {
		return fmt.Errorf("%w: after %d answers it is not content", ErrInputRequired, len(answered))
	}
	members, err := s.gatherInput(ctx, w)
	if err != nil {
		return err
	}
	params := strictjson.AppendString([]byte(`{"taskId":`), t.ID)
	params = append(append(append(params, ','), members...), '}')
	_, _, err = s.do(ctx, &request{method: mcp.MethodUpdateTask, given: json.RawMessage(params)})
	return err
}

// abandon returns err. If the caller has left, it also cancels the task.
func (s *Session) abandon(ctx context.Context, t *mcp.Task, err error) error {
	if ctx.Err() != nil && t.ID != "" && !t.Status.Final() && !optionsOf(ctx).KeepTask {
		s.do(context.WithoutCancel(ctx), &request{method: mcp.MethodCancelTask, given: taskParams(t.ID), limit: goodbye})
	}
	return err
}

// taskWaits holds the polls that wait until it is time to ask for a task, or until the server
// reports a change.
type taskWaits struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by task
}

// add returns a channel that gets a token when the server reports a change of a task.
func (w *taskWaits) add(id string) (changed <-chan struct{}, over func()) {
	told := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = make(map[string]map[chan struct{}]bool)
	}
	if w.waiting[id] == nil {
		w.waiting[id] = make(map[chan struct{}]bool)
	}
	w.waiting[id][told] = true
	return told, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.waiting[id], told); len(w.waiting[id]) == 0 {
			delete(w.waiting, id)
		}
	}
}

// wake makes the polls that wait for a task ask for it. They do not use the contents of a
// notification, which may be late.
func (w *taskWaits) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for told := range w.waiting[id] {
		select {
		case told <- struct{}{}:
		default:
		}
	}
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

// readFault reads the error of a failed task.
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

// cancelled returns the error of the call whose task the server has cancelled.
func cancelled(t *mcp.Task) error {
	text := "the server cancelled the task"
	if t.StatusMessage != "" {
		text += ": " + clip(t.StatusMessage)
	}
	return &rpc.Error{Code: mcp.CodeInternalError, Message: text}
}
