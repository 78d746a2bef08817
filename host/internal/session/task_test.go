package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// inOrder acts differently on each message; the last act stays.
func inOrder(acts ...act) act {
	n := 0
	return func(p *process, m message) {
		a := acts[min(n, len(acts)-1)]
		n++
		a(p, m)
	}
}

const taskSeed = `{"resultType":"task","taskId":"7","status":"working","ttlMs":null,"pollIntervalMs":5000}`

// state is an answer to tasks/get.
func state(status, more string) act {
	return answer(`{"resultType":"complete","taskId":"7","status":"` + status + `","pollIntervalMs":5000` + more + `}`)
}

func TestModernTask(t *testing.T) {
	const input = `,"inputRequests":{"a":{"method":"roots/list"}}`
	tests := []struct {
		name string
		gets []act
		want string // the text of the result, or of the error
		took time.Duration
	}{
		{"completed", []act{state("working", ""), state("completed", `,"result":`+echoResult)}, "hi", 10 * time.Second},
		{"asks", []act{state("input_required", input), state("input_required", input), state("completed", `,"result":`+echoResult)}, "hi", 15 * time.Second},
		{"failed", []act{state("failed", `,"error":{"code":-32000,"message":"no luck"}`)}, "MCP error -32000: no luck", 5 * time.Second},
		{"failed without a word", []act{state("failed", ``)}, "MCP error -32603: the task failed", 5 * time.Second},
		{"cancelled", []act{state("cancelled", ``)}, "the server cancelled the task", 5 * time.Second},
		{"forgotten", []act{refuse(-32602, "no such task", "")}, "-32602: no such task", 5 * time.Second},
		{"no result", []act{state("completed", ``)}, "completed, and no result", 5 * time.Second},
		{"another", []act{answer(`{"taskId":"8","status":"working"}`)}, "asked for task", 5 * time.Second},
		{"no task", []act{answer(`{}`)}, "without taskId", 5 * time.Second},
		{"asks for an unknown method", []act{state("input_required", `,"inputRequests":{"a":{"method":"x"}}`)}, "this client does not answer", 5 * time.Second},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(newServer().with("tools/call", answer(taskSeed)).with("tasks/get", inOrder(test.gets...)).with("tasks/update", answer(`{}`)))
			s := d.open(func(c *setup) {
				c.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
			})
			began := time.Now()
			text, err := call(t, s)
			if err != nil {
				text = err.Error()
			}
			if took := time.Since(began); !strings.Contains(text, test.want) || took != test.took {
				t.Errorf("%s: %q after %v", test.name, text, took)
			}
			updates := d.process(0).find("tasks/update")
			if asks := test.name == "asks"; asks && (len(updates) != 1 ||
				!strings.HasPrefix(string(updates[0].Params), `{"taskId":"7","inputResponses":{"a":{"roots":[]}}`)) {
				t.Errorf("%s: sent %s", test.name, updates)
			}
		})
	}
}

// TestTaskOfTheWrongRequest holds that only calls of tools have tasks.
func TestTaskOfTheWrongRequest(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(able(mcp.Modern, everything).with("prompts/get", answer(taskSeed))).open()
		if _, err := s.GetPrompt(t.Context(), "p", nil); !errors.Is(err, ErrInvalidResult) {
			t.Error(err)
		}
	})
}

const taskTools = `{"tools":[{"name":"echo","execution":{"taskSupport":"required"}},{"name":"plain","execution":{"taskSupport":"optional"}}]}`

const taskCapabilities = `{"tools":{},"tasks":{"requests":{"tools":{"call":{}}},"cancel":{}}}`

// taskOnly refuses a call that does not ask for a task.
func taskOnly(p *process, m message) {
	if member(m.Params, "task") == nil {
		refuse(mcp.CodeMethodNotFound, "run it as a task", "")(p, m)
		return
	}
	answer(`{"task":{"taskId":"7","status":"working","pollInterval":2000}}`)(p, m)
}

func TestLegacyTask(t *testing.T) {
	script := able(mcp.Legacy, taskCapabilities).with("tools/call", taskOnly).with("tools/list", answer(taskTools)).
		with("tasks/get", inOrder(state("working", ""), state("input_required", ""))).
		with("tasks/result", after(time.Hour, answer(echoResult)))
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(script)
		s := d.open(func(c *setup) { c.Timeout = time.Minute })
		if text, err := call(t, s); err != nil || text != "hi" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := s.CallTool(t.Context(), "plain", nil); codeOf(err) != mcp.CodeMethodNotFound {
			t.Error(err) // it was not asked to be a task
		}
		if n := len(d.process(0).find("tools/list")); n != 1 {
			t.Errorf("asked %d times for the tools", n)
		}
		var raw json.RawMessage
		if err := s.Call(t.Context(), "tools/call", map[string]any{"name": "echo"}, &raw); err != nil || string(raw) != echoResult {
			t.Errorf("%s, %v", raw, err)
		}
	})
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var no *rpc.Error
		d := launcher(able(mcp.Legacy, `{"tools":{}}`).with("tools/call", taskOnly))
		if _, err := call(t, d.open()); !errors.As(err, &no) || len(d.process(0).find("tools/call")) != 1 {
			t.Errorf("a server without tasks: %v", err)
		}
	})
}

// TestLeftTask holds that a caller who leaves has the task cancelled.
func TestLeftTask(t *testing.T) {
	scripts := map[mcp.Era]server{
		mcp.Legacy: able(mcp.Legacy, taskCapabilities).with("tools/call", taskOnly).with("tools/list", answer(taskTools)),
		mcp.Modern: newServer().with("tools/call", answer(taskSeed)),
	}
	for era, script := range scripts {
		for _, cancelled := range []act{answer(`{}`), silent} {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(script.with("tasks/get", state("working", "")).with("tasks/cancel", cancelled))
				s := d.open()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := s.CallTool(ctx, "echo", nil)
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > time.Minute+goodbye {
					t.Errorf("%s: %v after %v", era, err, took)
				}
				if got := d.process(0).find("tasks/cancel"); len(got) != 1 || !strings.HasPrefix(string(got[0].Params), `{"taskId":"7"`) {
					t.Errorf("%s: %s", era, got)
				}
			})
		}
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(script.with("tasks/get", answer(`{"status":7}`)).with("tasks/cancel", answer(`{}`)))
			if _, err := call(t, d.open()); !errors.Is(err, ErrInvalidResult) {
				t.Errorf("%s: %v", era, err)
			}
			if got := d.process(0).find("tasks/cancel"); len(got) != 0 {
				t.Errorf("%s: a task is cancelled whose caller waits: %s", era, got)
			}
		})
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(script.with("tasks/get", state("working", ""))).open()
			time.AfterFunc(time.Minute, func() { s.Close() })
			if _, err := call(t, s); !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", era, err)
			}
			synctest.Wait()
		})
	}
}

// TestTaskOfALostServer holds that a call which has begun a task counts as sent, though the server cannot be asked for
// the task.
func TestTaskOfALostServer(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(newServer().with("tools/call", both(answer(taskSeed), exit("done"))), newServer().with(probed, exit("gone"))).open()
		_, err := s.CallTool(t.Context(), "echo", nil)
		var call *rpc.CallError
		if err == nil || errors.Is(err, rpc.ErrNotSent) || !errors.As(err, &call) || call.Sent != rpc.MaybeSent || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%v, sent %v", err, call)
		}
	})
}

func TestAnnoyingTask(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		n := 0
		s := launcher(newServer().with("tools/call", answer(taskSeed)).with("tasks/update", answer(`{}`)).
			with("tasks/get", func(p *process, m message) {
				n++
				state("input_required", fmt.Sprintf(`,"inputRequests":{"%d":{"method":"roots/list"}}`, n))(p, m)
			})).open(func(c *setup) {
			c.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
		})
		if _, err := call(t, s); !errors.Is(err, ErrInputRequired) {
			t.Error(err)
		}
	})
}

// How often a task is asked for is the server's wish, within bounds.
func TestPausesBetweenPolls(t *testing.T) {
	for milliseconds, want := range map[int64]time.Duration{
		-5: usualPoll, 0: usualPoll, 1: shortestPoll, 100: shortestPoll, 101: 101 * time.Millisecond, 30000: longestPoll, 1 << 62: longestPoll,
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(newServer().with("tasks/get", state("working", ""))).open()
			began, w := time.Now(), s.watchTask("7")
			defer w.over()
			_, err := w.poll(t.Context(), &mcp.Task{ID: "7", PollInterval: milliseconds})
			if took := time.Since(began); took != want || err != nil {
				t.Errorf("%d ms: asked after %v, %v", milliseconds, took, err)
			}
		})
	}
}

// A task may need so many things, and not one more.
func TestMostAnswersOfATask(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("tasks/update", answer(`{}`)))
		s := d.open(func(c *setup) { c.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil } })
		answered := make(map[string]bool)
		for n := range maxRounds*mcp.MaxAsked - 1 {
			answered[fmt.Sprint(n)] = true
		}
		for n, key := range []string{"last", "last", "more"} {
			task := &mcp.Task{ID: "7", Raw: fmt.Appendf(nil, `{"inputRequests":{%q:{"method":"roots/list"}}}`, key)}
			if err := s.sendTaskInput(t.Context(), task, answered); errors.Is(err, ErrInputRequired) != (n == 2) || n < 2 && err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		if n := len(d.process(0).find("tasks/update")); n != 1 {
			t.Errorf("%d answers were sent", n)
		}
	})
}

// TestEarlierTasks looks for tasks that another session has begun.
func TestEarlierTasks(t *testing.T) {
	tasks := answer(`{"tasks":[{"taskId":"7","status":"working","x":1},{"taskId":"8"}]}`)
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, `{"tasks":{"list":{},"cancel":{}}}`).with("tasks/list", tasks).with("tasks/cancel", answer(`{}`)).
				with("tasks/get", inOrder(state("working", ""), state("completed", `,"result":`+echoResult))).
				with("tasks/result", answer(echoResult)))
			s := d.open()
			if list, err := s.ListTasks(t.Context()); err != nil || len(list) != 1 || list[0].ID != "7" {
				t.Errorf("%+v, %v", list, err)
			}
			if task, err := s.Task(t.Context(), "7"); err != nil || task.Status != mcp.TaskWorking {
				t.Errorf("%+v, %v", task, err)
			}
			if result, err := s.FinishTask(t.Context(), "7"); err != nil || result.Content[0].Text != "hi" {
				t.Errorf("%s: %+v, %v", era, result, err)
			}
			if asked := len(d.process(0).find("tasks/result")) == 1; asked != (era == mcp.Legacy) {
				t.Errorf("%s: the result was asked for: %v", era, asked)
			}
			if err := s.CancelTask(t.Context(), "7"); err != nil {
				t.Error(err)
			}
		})
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(able(era, `{}`).with("tasks/get", state("cancelled", `,"statusMessage":"too late"`)).with("tasks/result", refuse(-32603, "no result", ""))).open()
			_, err := s.FinishTask(t.Context(), "7")
			if codeOf(err) != mcp.CodeInternalError || !strings.HasSuffix(err.Error(), "the server cancelled the task: too late") {
				t.Errorf("%s: %v", era, err)
			}
		})
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(able(era, `{}`)).open()
			if _, err := s.ListTasks(t.Context()); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", era, err)
			}
			if _, err := s.FinishTask(t.Context(), "7"); codeOf(err) != mcp.CodeMethodNotFound {
				t.Errorf("%s: %v", era, err)
			}
		})
	}
}

// TestBegunTask begins a task, leaves it, and asks for it later.
func TestBegunTask(t *testing.T) {
	scripts := map[mcp.Era]server{
		mcp.Legacy: able(mcp.Legacy, taskCapabilities).with("tools/call", taskOnly).with("tools/list", answer(taskTools)),
		mcp.Modern: newServer().with("tools/call", answer(taskSeed)).with("tools/list", answer(taskTools)),
	}
	for era, script := range scripts {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(script.with("tasks/get", inOrder(state("working", ""), state("completed", `,"result":`+echoResult))).
				with("tasks/result", answer(echoResult)))
			s := d.open()
			for tool, ttl := range map[string]time.Duration{"echo": 90 * time.Second, "plain": 0} { // required and optional
				task, err := s.BeginTask(t.Context(), tool, map[string]any{"a": 1}, ttl)
				if err != nil || task.ID != "7" || task.Status != mcp.TaskWorking {
					t.Fatalf("%s: %+v, %v", era, task, err)
				}
				calls := d.process(0).find("tools/call")
				want := map[bool]string{true: `{"ttl":90000}`, false: `{}`}[ttl > 0]
				if got := string(member(calls[len(calls)-1].Params, "task")); era == mcp.Legacy && got != want || era == mcp.Modern && got != "" {
					t.Errorf("%s: asked for the task %s", era, got)
				}
			}
			if n := len(d.process(0).find("tasks/get")); n != 0 {
				t.Errorf("%s: asked %d times for a task that was left", era, n)
			}
			if result, err := s.FinishTask(t.Context(), "7"); err != nil || result.Content[0].Text != "hi" {
				t.Errorf("%s: %+v, %v", era, result, err)
			}
		})
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(newServer()).open() // which finishes the call at once
		task, err := s.BeginTask(t.Context(), "echo", nil, time.Second)
		if err != nil || task.ID != "" || task.Status != mcp.TaskCompleted || string(task.Result) != echoResult {
			t.Errorf("%+v, %v", task, err)
		}
	})
	for name, script := range map[string]server{
		"no tasks":          able(mcp.Legacy, `{"tools":{}}`),
		"no task of a tool": able(mcp.Legacy, taskCapabilities).with("tools/list", answer(`{"tools":[{"name":"echo"}]}`)),
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(script)
			if _, err := d.open().BeginTask(t.Context(), "echo", nil, 0); !errors.Is(err, ErrUnsupported) || len(d.process(0).find("tools/call")) != 0 {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestKeptTask holds that a caller with that option leaves a task to the server.
func TestKeptTask(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("tasks/get", state("working", "")).with("tasks/cancel", answer(`{}`)))
		ctx, cancel := context.WithTimeout(WithOptions(t.Context(), RequestOptions{KeepTask: true}), time.Minute)
		defer cancel()
		if _, err := d.open().FinishTask(ctx, "7"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if n := len(d.process(0).find("tasks/cancel")); n != 0 {
			t.Error("the task was cancelled")
		}
	})
}

// TestToldTask holds that a task is asked for as soon as the server tells of it, though not
// more often than a task may be asked for at all.
func TestToldTask(t *testing.T) {
	for _, method := range []string{"notifications/tasks/status", "notifications/tasks"} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(newServer().with("tasks/get", state("working", "")))
			s := d.open()
			began, w := time.Now(), s.watchTask("7")
			for _, about := range []string{`{"taskId":"8"}`, `{}`, `[]`, `{"taskId":"7","status":"completed"}`, `{"taskId":"7"}`} {
				time.AfterFunc(20*time.Millisecond, func() { note(d.process(0), method, about) })
			}
			for _, want := range []time.Duration{shortestPoll, shortestPoll + longestPoll} {
				if _, err := w.poll(t.Context(), &mcp.Task{ID: "7", PollInterval: longestPoll.Milliseconds()}); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != want {
					t.Errorf("%s: asked after %v, want %v", method, took, want)
				}
			}
			time.AfterFunc(time.Second, func() { note(d.process(0), method, `{"taskId":"7"}`) })
			began = time.Now()
			w.poll(t.Context(), &mcp.Task{ID: "7", PollInterval: 20_000})
			if took := time.Since(began); took != time.Second {
				t.Errorf("%s: asked after %v", method, took)
			}
			if w.over(); len(s.taskWaits.waiting) != 0 {
				t.Error("a watch that is over waits")
			}
		})
	}
}

// TestTaskStream has a server tell of a task on a stream: it is asked for when the server
// tells of it, and else hardly ever, and the stream ends with the task.
func TestTaskStream(t *testing.T) {
	script := able(mcp.Modern, `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`).with("tools/call", answer(taskSeed))
	tellTask := func(p *process) {
		streams := p.find("subscriptions/listen")
		note(p, "notifications/tasks", fmt.Sprintf(`{"_meta":{%q:%s},"taskId":"7","status":"completed"}`, mcp.MetaSubscriptionID, streams[0].ID))
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		done := false
		d := launcher(script.with("subscriptions/listen", listens).with("tasks/get", func(p *process, m message) {
			if done {
				state("completed", `,"result":`+echoResult)(p, m)
				return
			}
			state("working", "")(p, m)
		}))
		s := d.open()
		began := time.Now()
		time.AfterFunc(20*time.Second, func() { done = true; tellTask(d.process(0)) })
		if text, err := call(t, s); err != nil || text != "hi" || time.Since(began) != 20*time.Second {
			t.Errorf("%q, %v after %v", text, err, time.Since(began))
		}
		synctest.Wait()
		p := d.process(0)
		if gets := len(p.find("tasks/get")); gets != 2 { // when the stream began, and when the server told
			t.Errorf("asked %d times", gets)
		}
		streams := p.find("subscriptions/listen")
		if len(streams) != 1 || !strings.Contains(string(streams[0].Params), `"notifications":{"taskIds":["7"]}`) {
			t.Errorf("streams: %s", streams)
		}
		if len(p.find("notifications/cancelled")) != 1 || len(s.taskStreams) != 0 {
			t.Error("the stream has not ended")
		}
	})
	for name, listen := range map[string]act{
		"refuses": refuse(-32601, "no such method", ""),
		"agrees to none": func(p *process, m message) {
			note(p, "notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{%q:%s},"notifications":{}}`, mcp.MetaSubscriptionID, m.ID))
		},
		"does not answer": silent,
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			working := state("working", "")
			d := launcher(script.with("subscriptions/listen", listen).
				with("tasks/get", inOrder(working, working, working, working, working, working, working, state("completed", `,"result":`+echoResult))))
			s := d.open()
			began := time.Now()
			if text, err := call(t, s); err != nil || text != "hi" || time.Since(began) != 40*time.Second {
				t.Errorf("%s: %q, %v after %v", name, text, err, time.Since(began))
			}
			call(t, s)
			if n := len(d.process(0).find("subscriptions/listen")); n != 1 {
				t.Errorf("%s: asked for %d streams", name, n)
			}
		})
	}
}

// TestMostTaskStreams holds that a session keeps only so many streams for tasks open.
func TestMostTaskStreams(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(able(mcp.Modern, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`).with("subscriptions/listen", listens).
			with("tasks/get", func(p *process, m message) {
				answer(fmt.Sprintf(`{"taskId":%s,"status":"working"}`, member(m.Params, "taskId")))(p, m)
			}).with("tasks/cancel", answer(`{}`)))
		s := d.open()
		ctx, cancel := context.WithCancel(t.Context())
		for n := range 2 * maxTaskStreams {
			go s.FinishTask(ctx, fmt.Sprint(n))
		}
		time.Sleep(time.Minute)
		if n := len(d.process(0).find("subscriptions/listen")); n != maxTaskStreams {
			t.Errorf("%d streams", n)
		}
		cancel()
		synctest.Wait()
		if len(s.taskStreams) != 0 {
			t.Errorf("%d streams are left", len(s.taskStreams))
		}
	})
}
