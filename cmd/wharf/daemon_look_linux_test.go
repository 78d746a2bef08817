package main

import (
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
)

// A program that asks for the state of the daemon is no client, so it does not put off the end of the daemon: it is
// answered even when no client is taken any more.
func TestALookIsNoUseOfTheDaemon(t *testing.T) {
	over := make(chan struct{})
	d := &daemonRun{app: new(app)}
	d.present = daemon.Await(time.Nanosecond, func() { close(over) })
	<-over
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for want, answered := range map[daemon.Want]bool{daemon.Status: true, daemon.Stay: false} {
		ours, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go d.serve(t.Context(), theirs)
		io.WriteString(ours, `wharf-daemon {"want":"`+string(want)+`"}`+"\n")
		answer, err := io.ReadAll(ours)
		ours.Close()
		if err != nil || len(answer) > 0 != answered {
			t.Errorf("%s: the answer is %q, %v", want, answer, err)
		}
	}
}
