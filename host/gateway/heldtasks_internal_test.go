package gateway

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// A task is held until it has ended, or, if the server keeps it for a time, until that is over or a client has its
// outcome; and never longer than a day, which is the most here.
func TestHeldTasks(t *testing.T) {
	const working = `"taskId":"t","status":"working"`
	type step struct{ method, params, result string }
	began := func(more string) step { return step{mcp.MethodCallTool, `{}`, `{"task":{` + working + more + `}}`} }
	for name, tt := range map[string]struct {
		steps []step
		sees  string // the state that the server tells without a client
		held  time.Duration
	}{
		"runs":               {[]step{began("")}, "", 24 * time.Hour},
		"has ended":          {[]step{began("")}, "completed", 0},
		"is kept":            {[]step{began(`,"ttl":60000`)}, "completed", time.Minute},
		"is kept long":       {[]step{began(`,"ttl":360000000`)}, "", 24 * time.Hour},
		"no longer kept":     {[]step{began(`,"ttl":60000`)}, "", time.Minute},
		"its result is got":  {[]step{began(`,"ttl":60000`), {mcp.MethodTaskResult, `{"taskId":"t"}`, `{}`}}, "", 0},
		"is looked at":       {[]step{began(`,"ttl":60000`), {mcp.MethodGetTask, `{}`, `{"taskId":"t","status":"completed"}`}}, "", time.Minute},
		"modern":             {[]step{{mcp.MethodCallTool, `{}`, `{"resultType":"task",` + working + `,"ttlMs":1000}`}}, "", time.Second},
		"modern, and is got": {[]step{{mcp.MethodCallTool, `{}`, `{"resultType":"task",` + working + `}`}, {mcp.MethodGetTask, `{}`, `{"taskId":"t","status":"completed","result":{}}`}}, "", 0},
		"cancelled":          {[]step{began(`,"ttl":60000`), {mcp.MethodCancelTask, `{}`, `{"taskId":"t","status":"cancelled"}`}}, "", 0},
		"no task":            {[]step{{mcp.MethodCallTool, `{}`, `{"content":[]}`}, {mcp.MethodListTools, `{}`, `{"taskId":"t"}`}}, "", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := heldTasks{most: 24 * time.Hour}
			for _, s := range tt.steps {
				h.note(s.method, json.RawMessage(s.params), json.RawMessage(s.result))
			}
			if tt.sees != "" {
				h.see(&mcp.Task{ID: "t", Status: mcp.TaskStatus(tt.sees)})
			}
			if time.Sleep(max(0, tt.held-time.Millisecond)); h.any() != (tt.held > 0) {
				t.Errorf("%s: held is %v before %v", name, h.any(), tt.held)
			}
			if time.Sleep(time.Millisecond); h.any() {
				t.Errorf("%s: held after %v", name, tt.held)
			}
		})
	}
}
