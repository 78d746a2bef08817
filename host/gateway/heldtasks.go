package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

const (
	maxHeld  = 256              // the tasks of a copy; a further one keeps no session
	heldAsks = 30 * time.Second // the server may take to say how far they are
)

// heldTasks are the tasks of a copy that its server runs, or whose outcome it keeps and no client has got.
// With most it has none to begin with. All methods are safe for concurrent use.
type heldTasks struct {
	most time.Duration // see [Config.TaskTime]

	mu    sync.Mutex
	known map[string]heldTask // by their ids
}

type heldTask struct {
	until time.Time
	kept  bool // the server has said how long it keeps the task, so it is held also when it has ended
}

// note takes the result that a client has got of a request.
func (h *heldTasks) note(method string, params, result json.RawMessage) {
	switch method {
	case mcp.MethodTaskResult:
		h.drop(text(params, "taskId"))
		return
	case mcp.MethodCallTool, mcp.MethodGetTask, mcp.MethodCancelTask:
	default:
		return
	}
	if !namesTask(result) {
		return
	}
	if inner := member(result, "task"); isObject(inner) {
		result = inner
	}
	var t mcp.Task
	switch err := json.Unmarshal(result, &t); {
	case err != nil || t.ID == "":
	case t.Status == mcp.TaskCancelled, t.Result != nil, t.Error != nil:
		h.drop(t.ID)
	default:
		h.see(&t)
	}
}

// see takes the state of a task whose outcome no client has got.
func (h *heldTasks) see(t *mcp.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held, found := h.known[t.ID]
	switch {
	case t.Status.Final() && !held.kept:
		delete(h.known, t.ID)
	case !found && !t.Status.Final() && len(h.known) < maxHeld:
		held = heldTask{time.Now().Add(h.most), t.TTL != nil && *t.TTL > 0}
		if held.kept && *t.TTL < h.most.Milliseconds() {
			held.until = time.Now().Add(time.Duration(*t.TTL) * time.Millisecond)
		}
		if h.known == nil {
			h.known = make(map[string]heldTask)
		}
		h.known[t.ID] = held
	}
}

func (h *heldTasks) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, id)
}

// ids returns the ids of the tasks whose time is not over, and drops the others.
func (h *heldTasks) ids() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.known, func(_ string, t heldTask) bool { return !time.Now().Before(t.until) })
	return slices.Sorted(maps.Keys(h.known))
}

func (h *heldTasks) any() bool { return len(h.ids()) > 0 }

// ask asks the server how far its tasks are. A server that is not connected has none: it is not started for that.
func (h *heldTasks) ask(ctx context.Context, s *host.Session) {
	ctx, cancel := context.WithTimeout(host.WithOptions(ctx, host.RequestOptions{Unattended: true}), heldAsks)
	defer cancel()
	for _, id := range h.ids() {
		if s.Status().State != status.Connected {
			h.drop(id)
			continue
		}
		switch t, err := s.Task(ctx, id); {
		case err == nil:
			h.see(t)
		case errors.As(err, new(*host.RPCError)): // it does not know the task any more
			h.drop(id)
		}
	}
}
