package host_test

import (
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/plugins"
)

// A guest whose process is killed is followed by one that goes on with its session,
// in a process of its own.
func TestResumeOfAKilledWorker(t *testing.T) {
	v := connectResumable(t, plugins.Builtin()["http"](), func(c *host.Config, _ *host.Server) {
		c.Files["http"] = config.Plugin{Name: "http", File: c.Files["http"].File, Isolation: config.IsolationProcess}
		c.Worker, c.Reconnect = workerCommand(t), brisk
	})
	say(t, v.session) // a guest has one event at a time: it has saved the last one that it told of
	for _, pid := range workers(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	<-v.resumableServer.parted
	v.resumableServer.tell("two")
	v.listens("1")
	v.hears("two")
	say(t, v.session)
	v.handshakes(1, 0)
	v.oneSession()
	if n := v.resumes(); n != 1 {
		t.Errorf("%d guests were given a state", n)
	}
}
