package control

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// dialTasks connects to a server of 2025-11-25 whose tool "dig" runs as a task. The task works until it
// is cancelled, or until finish has a value. polled gets one for each look at it.
func dialTasks(polled chan<- struct{}, finish <-chan struct{}) func(context.Context) (io.ReadWriteCloser, error) {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := testenv.NewDuplex()
		go func() {
			defer theirs.Close()
			status := "working"
			for in := bufio.NewScanner(theirs); in.Scan(); {
				var m message
				if json.Unmarshal(in.Bytes(), &m); m.ID == nil {
					continue
				}
				if m.Method == "tasks/cancel" {
					status = "cancelled"
				}
				select {
				case <-finish:
					status = "completed"
				default:
				}
				task := fmt.Sprintf(`{"taskId":"t1","status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null,"pollInterval":1}`, status)
				result := map[string]string{
					"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"tasks","version":"1"}}`,
					"tools/list": `{"tools":[{"name":"dig","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`,
					"tools/call": `{"task":` + task + `}`, "tasks/list": `{"tasks":[` + task + `]}`, "tasks/get": task, "tasks/cancel": task,
					"tasks/result": `{"content":[{"type":"text","text":"a bone"}]}`,
				}[m.Method]
				if m.Method == "tasks/get" {
					select {
					case polled <- struct{}{}:
					default:
					}
				}
				fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			}
		}()
		return ours, nil
	}
}

// A task goes on when the editor that began it has left, or ends its wait.
func TestTasks(t *testing.T) {
	polled, finish := make(chan struct{}), make(chan struct{}, 1)
	s := newScene(t, func(_ *Control, c *host.Config) { c.Streams["digger"] = dialTasks(polled, finish) })
	s.control.Open(s.host, Configuration{
		Plugins: s.config.Files, Reconnect: s.config.Reconnect,
		Servers: []host.Server{{Name: "digger", Transport: "socket", Address: "memory:digger", Protocol: "legacy"}},
	})
	first := s.ready(`{}`)
	first.wantHas(first.call("tasks/start", `{"server":"digger","name":"dig","arguments":{},"ttl":60000}`), `"taskId":"t1"`, `"status":"working"`)
	first.stream.Close()
	<-first.ended

	c := s.ready(`{}`)
	c.wantHas(c.call("tasks/list", `{"server":"digger"}`), `{"tasks":[{"taskId":"t1"`)
	id := c.begin("tasks/result", `{"server":"digger","id":"t1"}`)
	<-polled
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id))
	if m := c.answer(id); m.Error == nil || m.Error.Code != CodeCancelled {
		t.Errorf("%+v", m)
	}
	c.wantHas(c.call("tasks/get", `{"server":"digger","id":"t1"}`), `"status":"working"`)
	finish <- struct{}{}
	c.wantHas(c.call("tasks/result", `{"server":"digger","id":"t1"}`), "a bone")
	c.call("tasks/cancel", `{"server":"digger","id":"t1"}`)
	c.wantHas(c.call("request", `{"server":"digger","method":"tasks/get","params":{"taskId":"t1"}}`), `"status":"cancelled"`)
}
