//go:build unix

package capability

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

func TestOpenNeedsAGrant(t *testing.T) {
	process := helper("echo")
	address := Grant{Name: "other", To: Address{Network: "unix", Addr: "/run/x"}}
	tests := []struct {
		name   string
		grants []Grant
		kind   abi.OpenKind
		grant  string
		want   string
	}{
		{"nothing", nil, abi.OpenStream, "main", `open stream "main": not granted (nothing is); a server entry grants it with address = "unix:/path/to/socket"`},
		{"other kind", []Grant{process}, abi.OpenStream, "main", `open stream "main": not granted (only process "main"); a server entry grants it with address = "unix:/path/to/socket"`},
		{"other name", []Grant{process, address}, abi.OpenProcess, "other", `open process "other": not granted (only process "main", stream "other"); a server entry grants it with command = "program"`},
		{"no name", []Grant{process}, abi.OpenProcess, "", `open process "": not granted (only process "main"); a server entry grants it with command = "program"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := newTestTable(t, patient(tt.grants...))
			s, status, err := table.Open(tt.kind, request(tt.grant, 0), nil)
			if s != nil || status != abi.Denied || err.Error() != tt.want {
				t.Errorf("got %v, %v, %v", s, status, err)
			}
			var denial *Denial
			if !errors.As(err, &denial) || denial.Kind != tt.kind || denial.Key() == "" {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func TestOpenOfWhatThisHostDoesNotHave(t *testing.T) {
	table := newTestTable(t, patient(helper("echo")))
	for _, kind := range []abi.OpenKind{0, 99} {
		if s, status, err := table.Open(kind, request("main", 0), nil); s != nil || status != abi.Unavailable || err == nil {
			t.Errorf("kind %v: %v, %v, %v", kind, s, status, err)
		}
	}
	if s, status, err := table.Open(abi.OpenProcess, request("main", abi.Upgrade), nil); s != nil || status != abi.Malformed || err == nil {
		t.Errorf("upgrade of a process: %v, %v, %v", s, status, err)
	}
}

func wantLimit(t *testing.T, table *Table, kind abi.OpenKind, want string) {
	t.Helper()
	s, status, err := table.Open(kind, request("main", 0), newRecorder())
	if s != nil || status != abi.LimitReached || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, %v, %v; want …%s", s, status, err, want)
	}
}

func TestAGrantHasOneProcessAtATime(t *testing.T) {
	table := newTestTable(t, patient(helper("echo")))
	s := open(t, table, abi.OpenProcess, newRecorder())
	wantLimit(t, table, abi.OpenProcess, "still running")
	s.Close()
	r := newRecorder()
	s = open(t, table, abi.OpenProcess, r)
	r.untilWord("opened")
	s.Write(nil, true)
	s.Flush()
	r.untilLast()
	open(t, table, abi.OpenProcess, newRecorder())
}

func TestTheNextProcessWaitsForTheLastToEnd(t *testing.T) {
	leash := newLeash(t)
	c := quick(helper("stubborn", leash.env()))
	table := newTestTable(t, c)
	first := newRecorder()
	s := open(t, table, abi.OpenProcess, first)
	old := leash.catch()
	first.untilData(len("ready"))
	s.Close()
	skipped := open(t, table, abi.OpenProcess, newRecorder())
	skipped.Close()
	second := newRecorder()
	open(t, table, abi.OpenProcess, second)
	second.untilWord("opened")
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
	*recorder
	reopen func()
}

func (r reopener) Exit(code int, detail string) {
	r.reopen()
	r.recorder.Exit(code, detail)
}

func TestAProcessCanBeStartedAgainFromItsExit(t *testing.T) {
	table := newTestTable(t, patient(helper("crash")))
	second := newRecorder()
	first := reopener{newRecorder(), func() { open(t, table, abi.OpenProcess, second) }}
	open(t, table, abi.OpenProcess, first)
	first.untilLast()
	second.untilLast()
	wantOrder(t, second, "opened end exit")
}

func TestHandlesAreBounded(t *testing.T) {
	_, grant := listen(t, "unix")
	c := patient(grant)
	c.Limits.Handles = 3
	table := newTestTable(t, c)
	for range 3 {
		open(t, table, abi.OpenStream, newRecorder())
	}
	wantLimit(t, table, abi.OpenStream, "3 handles are open")
}

func TestOpensAreRated(t *testing.T) {
	_, grant := listen(t, "unix")
	c := patient(grant)
	c.Limits.Burst, c.Limits.Refill = 2, time.Hour
	table := newTestTable(t, c)
	for range 2 {
		open(t, table, abi.OpenStream, newRecorder())
	}
	wantLimit(t, table, abi.OpenStream, "too many opens: one each 1h0m0s")
}

func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := rateLimiter{burst: 3, refill: time.Second}
		takes := func(want int) {
			t.Helper()
			n := 0
			for a.allow(time.Now()) {
				n++
			}
			if n != want {
				t.Errorf("%d opens at once, want %d", n, want)
			}
		}
		takes(3)
		time.Sleep(999 * time.Millisecond)
		takes(0)
		time.Sleep(time.Millisecond)
		takes(1)
		time.Sleep(2500 * time.Millisecond)
		takes(2)
		time.Sleep(500 * time.Millisecond)
		takes(1)
		time.Sleep(24 * time.Hour)
		takes(3)
	})
}

func TestNothingOpensAfterClose(t *testing.T) {
	table := newTestTable(t, patient(helper("echo")))
	closeTable(t, table)
	if s, status, err := table.Open(abi.OpenProcess, request("main", 0), nil); s != nil || status != abi.Closed || err == nil {
		t.Errorf("got %v, %v, %v", s, status, err)
	}
}

func TestCloseReportsWhatDoesNotEnd(t *testing.T) {
	table := NewTable(quick(helper("echo")))
	r := newRecorder()
	r.holdAt = "opened"
	open(t, table, abi.OpenProcess, r)
	r.until(func() bool { return r.inCall })
	err := table.Close(context.Background())
	if err == nil || err.Error() != `close: still not over: process "main"` {
		t.Errorf("close: %v", err)
	}
	close(r.hold)
	closeTable(t, table)
}

// What was killed is waited for, however late we get to know of its end.
func TestCloseWaitsForWhatItKilled(t *testing.T) {
	c := quick(helper("stubborn"))
	c.Grace.Exit, c.Grace.Kill = time.Nanosecond, time.Hour
	table := NewTable(c)
	r := newRecorder()
	r.holdAt = "opened"
	s := open(t, table, abi.OpenProcess, r)
	r.until(func() bool { return r.inCall })
	closed := make(chan error)
	go func() { closed <- table.Close(context.Background()) }()
	<-s.(*handle).Forced() // the graces are over
	close(r.hold)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestStreamsOfEndedHandlesAreHarmless(t *testing.T) {
	table := newTestTable(t, patient(helper("crash")))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	r.untilLast()
	s.Write([]byte("hello"), false)
	s.Flush()
	if s.Queued() != 0 {
		t.Errorf("Queued is %d", s.Queued())
	}
	s.Close()
	s.Close()
	wantOrder(t, r, "opened end exit")
}
