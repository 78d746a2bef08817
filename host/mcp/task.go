package mcp

import "encoding/json"

// Task is work that a server goes on with after it has answered: in the
// revision 2025-11-25 because the client asked for that
// (2025-11-25/basic/utilities/tasks), in the modern era because the server chose
// to, by [ExtensionTasks].
//
// The eras spell two of the durations differently; both come out here, in
// milliseconds. TTL is nil for a task that is kept without end.
type Task struct {
	ID            string
	Status        TaskStatus
	StatusMessage string
	CreatedAt     string // ISO 8601, as is the next
	LastUpdatedAt string
	TTL           *int64
	PollInterval  int64 // 0 where the server has no wish

	// Result is the outcome, in the modern era: with TaskCompleted the result of the request,
	// with TaskFailed a JSON-RPC error. A legacy server tells it in the answer to
	// MethodTaskResult.
	Result json.RawMessage
	Error  json.RawMessage

	Raw json.RawMessage // the whole object
}

// TaskStatus is where a task is.
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

// MarshalJSON writes Raw where it is set, and otherwise the fields, durations as
// in the modern era.
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
