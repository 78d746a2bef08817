package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		c := &console{to: &screen}
		a := &app{stdio: stdio{err: c, errTTY: true}}

		a.busy("being fast")()
		if screen.Len() > 0 {
			t.Errorf("what is fast was shown: %q", screen.String())
		}

		done := a.busy("being\x1bslow")
		time.Sleep(busyAfter + busyEvery/2) // of the bubble's clock
		synctest.Wait()
		a.hear(host.Event{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"progress":2,"total":5,"message":"\u001b"}`)})
		time.Sleep(busyEvery)
		synctest.Wait()
		c.Write([]byte("[server] a line\n"))
		done()
		want := clearLine + "⠋ being\\x1bslow …" + clearLine + "⠙ being\\x1bslow … 2/5 \\x1b" + clearLine + "[server] a line\n"
		if screen.String() != want {
			t.Errorf("screen %q, want %q", screen.String(), want)
		}
		time.Sleep(10 * busyEvery)
		if screen.String() != want {
			t.Errorf("it goes on: %q", screen.String())
		}
	})
}

func TestBusyIsSilentForPrograms(t *testing.T) {
	var stderr strings.Builder
	a := &app{stdio: stdio{err: &stderr}}
	a.busy("anything")()
	if stderr.Len() > 0 {
		t.Errorf("stderr %q", stderr.String())
	}
}

func TestWarnings(t *testing.T) {
	var stderr strings.Builder
	a := &app{stdio: stdio{err: &stderr}}
	a.hear(host.Event{Server: "files", Warning: "a line that is no message: \x1b"})
	a.hear(host.Event{Server: "files", Method: mcp.NotificationProgress})
	if want := "warning: files: a line that is no message: \\x1b\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", stderr.String(), want)
	}
}
