package host

import (
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// maxOwnedTasks is how many tasks of a principal are remembered, and maxTaskID how long their ids are, in
// bytes: a task that is not remembered belongs to no principal.
const (
	maxOwnedTasks = 1000
	maxTaskID     = 1 << 10
)

// ownedTasks are the tasks that principals have begun in this run. Servers see all principals as one
// account. The user who runs the program may see the tasks of all.
type ownedTasks struct {
	mu  sync.Mutex
	ids map[string][]ownedTask // by principal, oldest first
}

type ownedTask struct{ server, id string }

// ownsTask reports whether the caller may ask for a task.
func (v *view) ownsTask(id string) bool {
	if v.caller == nil || v.caller.Principal == "" {
		return true
	}
	all := &v.host.ownedTasks
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Contains(all.ids[v.caller.Principal], ownedTask{v.entry.Name, id})
}

// began notes that the caller has begun a task.
func (v *view) began(id string) {
	if v.caller == nil || v.caller.Principal == "" || id == "" || len(id) > maxTaskID {
		return
	}
	all := &v.host.ownedTasks
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.ids == nil {
		all.ids = make(map[string][]ownedTask)
	}
	own := all.ids[v.caller.Principal]
	if len(own) == maxOwnedTasks {
		own = slices.Delete(own, 0, 1)
	}
	all.ids[v.caller.Principal] = append(own, ownedTask{v.entry.Name, id})
}

// taskBegun returns the id of the task that a result of a call names, or "".
func taskBegun(result []byte) (id string) {
	r := strictjson.Read(result).Unbounded()
	for key := range r.Object() {
		switch string(key) {
		case "taskId":
			id = unquoted(r.Raw())
		case "task":
			if r.Kind() == '{' {
				id = taskBegun(r.Raw())
			}
		}
	}
	return id
}
