//go:build unix

package process

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

func TestOpenNeedsAGrant(t *testing.T) {
	process := helper("echo")
	address := capability.Grant{Name: "other", To: stream.Address{Network: "unix", Addr: "/run/x"}}
	tests := []struct {
		name   string
		grants []capability.Grant
		kind   abi.OpenKind
		grant  string
		want   string
	}{
		{"nothing", nil, abi.OpenStream, "main", `open stream "main": not granted (nothing is); a server entry grants it with address = "unix:/path/to/socket"`},
		{"other kind", []capability.Grant{process}, abi.OpenStream, "main", `open stream "main": not granted (only process "main"); a server entry grants it with address = "unix:/path/to/socket"`},
		{"other name", []capability.Grant{process, address}, abi.OpenProcess, "other", `open process "other": not granted (only process "main", stream "other"); a server entry grants it with command = "program"`},
		{"no name", []capability.Grant{process}, abi.OpenProcess, "", `open process "": not granted (only process "main"); a server entry grants it with command = "program"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := captest.NewTable(t, captest.Patient(tt.grants...))
			s, status, err := table.Open(tt.kind, captest.Request(tt.grant, 0), nil)
			if s != nil || status != abi.Denied || err.Error() != tt.want {
				t.Errorf("got %v, %v, %v", s, status, err)
			}
			var denial *capability.Denial
			if !errors.As(err, &denial) || denial.Kind != tt.kind || denial.Key() == "" {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func TestOpenOfWhatThisHostDoesNotHave(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("echo")))
	for _, kind := range []abi.OpenKind{0, 99} {
		if s, status, err := table.Open(kind, captest.Request("main", 0), nil); s != nil || status != abi.Unavailable || err == nil {
			t.Errorf("kind %v: %v, %v, %v", kind, s, status, err)
		}
	}
	if s, status, err := table.Open(abi.OpenProcess, captest.Request("main", abi.Upgrade), nil); s != nil || status != abi.Malformed || err == nil {
		t.Errorf("upgrade of a process: %v, %v, %v", s, status, err)
	}
}

func wantLimit(t *testing.T, table *capability.Table, kind abi.OpenKind, want string) {
	t.Helper()
	s, status, err := table.Open(kind, captest.Request("main", 0), captest.NewRecorder())
	if s != nil || status != abi.LimitReached || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, %v, %v; want …%s", s, status, err, want)
	}
}

func TestAGrantHasOneProcessAtATime(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("echo")))
	s := captest.Open(t, table, abi.OpenProcess, captest.NewRecorder())
	wantLimit(t, table, abi.OpenProcess, "still running")
	s.Close()
	r := captest.NewRecorder()
	s = captest.Open(t, table, abi.OpenProcess, r)
	r.UntilWord("opened")
	s.Write(nil, true)
	s.Flush()
	r.UntilLast()
	captest.Open(t, table, abi.OpenProcess, captest.NewRecorder())
}

func TestTheNextProcessWaitsForTheLastToEnd(t *testing.T) {
	leash := captest.NewLeash(t)
	c := quick(helper("stubborn", leash.Env()))
	table := captest.NewTable(t, c)
	first := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, first)
	old := leash.Catch()
	first.UntilData(len("ready"))
	s.Close()
	skipped := captest.Open(t, table, abi.OpenProcess, captest.NewRecorder())
	skipped.Close()
	second := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, second)
	second.UntilWord("opened")
	if !isDead(t, old) {
		t.Error("two processes of one grant ran at a time")
	}
}

// isDead reports whether the helper behind conn is dead at this moment.
func isDead(t *testing.T, conn net.Conn) (dead bool) {
	t.Helper()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Read(func(fd uintptr) bool {
		n, err := syscall.Read(int(fd), make([]byte, 1))
		dead = n == 0 && err == nil
		return true
	})
	return dead
}

// reopener opens the grant again as soon as it hears that the process is over.
type reopener struct {
	*captest.Recorder
	reopen func()
}

func (r reopener) Exit(code int, detail string, unread bool) {
	r.reopen()
	r.Recorder.Exit(code, detail, unread)
}

func TestAProcessCanBeStartedAgainFromItsExit(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("crash")))
	second := captest.NewRecorder()
	first := reopener{captest.NewRecorder(), func() { captest.Open(t, table, abi.OpenProcess, second) }}
	captest.Open(t, table, abi.OpenProcess, first)
	first.UntilLast()
	second.UntilLast()
	captest.WantOrder(t, second, "opened end exit")
}

func TestHandlesAreBounded(t *testing.T) {
	_, grant := listenUnix(t)
	c := captest.Patient(grant)
	c.Limits.Handles = 3
	table := captest.NewTable(t, c)
	for range 3 {
		captest.Open(t, table, abi.OpenStream, captest.NewRecorder())
	}
	wantLimit(t, table, abi.OpenStream, "3 handles are open")
}

func TestOpensAreRated(t *testing.T) {
	_, grant := listenUnix(t)
	c := captest.Patient(grant)
	c.Limits.Burst, c.Limits.Refill = 2, time.Hour
	table := captest.NewTable(t, c)
	for range 2 {
		captest.Open(t, table, abi.OpenStream, captest.NewRecorder())
	}
	wantLimit(t, table, abi.OpenStream, "too many opens: one each 1h0m0s")
}

func TestNothingOpensAfterClose(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("echo")))
	captest.CloseTable(t, table)
	if s, status, err := table.Open(abi.OpenProcess, captest.Request("main", 0), nil); s != nil || status != abi.Closed || err == nil {
		t.Errorf("got %v, %v, %v", s, status, err)
	}
}

func TestCloseReportsWhatDoesNotEnd(t *testing.T) {
	table := capability.NewTable(quick(helper("echo")))
	r := captest.NewRecorder()
	r.HoldAt = "opened"
	captest.Open(t, table, abi.OpenProcess, r)
	r.Until(func() bool { return r.InCall })
	err := table.Close(context.Background())
	if err == nil || err.Error() != `close: still not over: process "main"` {
		t.Errorf("close: %v", err)
	}
	close(r.Release)
	captest.CloseTable(t, table)
}

// What was killed is waited for, however late we get to know of its end.
func TestCloseWaitsForWhatItKilled(t *testing.T) {
	c := quick(helper("stubborn"))
	c.Grace.Exit, c.Grace.Kill = time.Nanosecond, time.Hour
	table := capability.NewTable(c)
	r := captest.NewRecorder()
	r.HoldAt = "opened"
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.Until(func() bool { return r.InCall })
	closed := make(chan error)
	go func() { closed <- table.Close(context.Background()) }()
	<-s.(*stream.Duplex).Forced() // the graces are over
	close(r.Release)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestStreamsOfEndedHandlesAreHarmless(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("crash")))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.UntilLast()
	s.Write([]byte("hello"), false)
	s.Flush()
	if s.Queued() != 0 {
		t.Errorf("Queued is %d", s.Queued())
	}
	s.Close()
	s.Close()
	captest.WantOrder(t, r, "opened end exit")
}

func listenUnix(t *testing.T) (net.Listener, capability.Grant) {
	t.Helper()
	l, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, capability.Grant{Name: "main", To: stream.Address{Network: "unix", Addr: l.Addr().String()}}
}
