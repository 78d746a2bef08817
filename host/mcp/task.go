package mcp

import "encoding/json"

// Task is work that a server goes on with after it has answered. In revision 2025-11-25 it does
// so because the client asked for that (2025-11-25/basic/utilities/tasks). In the modern era the
// server chooses to, by [ExtensionTasks].
//
// The eras spell two of the durations differently; here both are in milliseconds. TTL is nil for
// a task that is kept without end.
type Task struct {
	ID            string
	Status        TaskStatus
	StatusMessage string
	CreatedAt     string // ISO 8601, as is the next
	LastUpdatedAt string
	TTL           *int64
	PollInterval  int64 // 0 if the server does not tell

	// Result is the outcome of a modern task: with TaskCompleted the result of the request, with
	// TaskFailed a JSON-RPC error. A legacy server sends it in the answer to MethodTaskResult.
	Result json.RawMessage
	Error  json.RawMessage

	Raw json.RawMessage // the whole object
}

// TaskStatus is the state of a task.
type TaskStatus string

// The states of a task. The last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Final reports whether the state is the last one of a task.
func (s TaskStatus) Final() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// wireTask is a task as either era spells it.
type wireTask struct {
	ID            string          `json:"taskId"`
	Status        TaskStatus      `json:"status"`
	StatusMessage string          `json:"statusMessage,omitempty"`
	CreatedAt     string          `json:"createdAt,omitempty"`
	LastUpdatedAt string          `json:"lastUpdatedAt,omitempty"`
	TTL           *int64          `json:"ttl,omitempty"`
	TTLMs         *int64          `json:"ttlMs,omitempty"`
	Poll          int64           `json:"pollInterval,omitempty"`
	PollMs        int64           `json:"pollIntervalMs,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
	Error         json.RawMessage `json:"error,omitempty"`
}

// MarshalJSON writes Raw if it is set, and otherwise the fields, with the durations as the
// modern era spells them.
func (t Task) MarshalJSON() ([]byte, error) {
	return writeWhole(t.Raw, wireTask{
		ID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: t.CreatedAt,
		LastUpdatedAt: t.LastUpdatedAt, TTLMs: t.TTL, PollMs: t.PollInterval, Result: t.Result, Error: t.Error,
	})
}

// UnmarshalJSON reads a task of either era and keeps the whole of it in Raw.
func (t *Task) UnmarshalJSON(object []byte) error {
	var w wireTask
	raw, err := readWhole(object, "", &w)
	if err != nil {
		return err
	}
	*t = Task{
		ID: w.ID, Status: w.Status, StatusMessage: w.StatusMessage, CreatedAt: w.CreatedAt, LastUpdatedAt: w.LastUpdatedAt,
		TTL: w.TTL, PollInterval: max(w.Poll, w.PollMs), Result: w.Result, Error: w.Error, Raw: raw,
	}
	if w.TTLMs != nil {
		t.TTL = w.TTLMs
	}
	return nil
}
