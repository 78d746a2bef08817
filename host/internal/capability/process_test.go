//go:build unix

package capability

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

func TestProcessEchoes(t *testing.T) {
	table := newTestTable(t, patient(helper("echo")))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	s.Write([]byte("hello"), false)
	s.Write([]byte("\n"), true)
	s.Flush()
	r.untilLast()
	wantOrder(t, r, "opened data end exit")
	if string(r.data) != "hello\n" || r.code != 0 || r.detail != "exit status 0" {
		t.Errorf("got %q, %d, %q", r.data, r.code, r.detail)
	}
}

func TestProcessCarriesEveryByteInOrder(t *testing.T) {
	table := newTestTable(t, patient(helper("echo")))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []byte
	for range 400 {
		for range 1 + rnd.IntN(3) {
			piece := make([]byte, rnd.IntN([]int{10, 3000, 100_000}[rnd.IntN(3)]))
			for i := range piece {
				piece[i] = byte(rnd.Uint32())
			}
			want = append(want, piece...)
			s.Write(piece, false)
		}
		s.Flush()
	}
	s.Write(nil, true)
	s.Flush()
	r.untilLast()
	if !bytes.Equal(r.data, want) {
		t.Fatalf("%d bytes came back, %d were sent, or they differ", len(r.data), len(want))
	}
	if s.Queued() != 0 {
		t.Errorf("Queued is %d at the end", s.Queued())
	}
}

func TestProcessThatCrashes(t *testing.T) {
	table := newTestTable(t, patient(helper("crash")))
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	r.untilLast()
	wantOrder(t, r, "opened end exit")
	if r.code != 3 || r.detail != "exit status 3" {
		t.Errorf("exit %d, %q", r.code, r.detail)
	}
	if got := string(table.Stderr()); got != "no such table: users\n" {
		t.Errorf("stderr was %q when Exit was heard", got)
	}
}

func TestProcessThatIsKilledByASignal(t *testing.T) {
	table := newTestTable(t, patient(helper("killself")))
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	r.untilLast()
	if r.code != -1 || r.detail != "signal: killed" {
		t.Errorf("exit %d, %q", r.code, r.detail)
	}
}

func TestCloseEndsAProcessByItsStdin(t *testing.T) {
	leash := newLeash(t)
	table := newTestTable(t, patient(helper("echo", leash.env())))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	conn := leash.catch()
	r.untilWord("opened")
	s.Close()
	s.Close()
	dies(t, conn)
	closeTable(t, table)
	wantOrder(t, r, "opened")
}

func TestCloseStillSendsWhatWasQueued(t *testing.T) {
	var stderr tailWriter
	c := patient(Grant{Name: "main", To: Process{Command: "/bin/sh", Args: []string{"-c", "cat >&2"}}})
	c.Stderr = &stderr
	table := newTestTable(t, c)
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	r.untilWord("opened")
	want := bytes.Repeat([]byte("0123456789abcdef"), 256<<10/16)
	s.Write(want, false)
	s.Close()
	closeTable(t, table)
	if got := table.Stderr(); !bytes.HasSuffix(want, got) || len(got) != tailSize {
		t.Errorf("%d bytes of the last write arrived", len(got))
	}
}

func TestCloseTerminatesAProcessThatIgnoresItsStdin(t *testing.T) {
	c := patient(helper("polite"))
	c.Grace.Stdin = time.Millisecond
	table := newTestTable(t, c)
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	r.untilData(len("ready"))
	closeTable(t, table)
	if got := string(table.Stderr()); got != "told to end" {
		t.Errorf("stderr is %q: it was not told by TERM", got)
	}
}

func TestCloseKillsAProcessThatIgnoresEverything(t *testing.T) {
	leash := newLeash(t)
	table := newTestTable(t, quick(helper("stubborn", leash.env())))
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	conn := leash.catch()
	r.untilData(len("ready"))
	closeTable(t, table)
	dies(t, conn)
}

func TestAnEndedContextCutsTheGracesShort(t *testing.T) {
	leash := newLeash(t)
	c := patient(helper("stubborn", leash.env()))
	table := NewTable(c)
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	conn := leash.catch()
	r.untilData(len("ready"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := table.Close(ctx); err != nil {
		t.Error(err)
	}
	dies(t, conn)
}

func TestGrandchildrenDieAfterACleanExit(t *testing.T) {
	leash := newLeash(t)
	table := newTestTable(t, quick(helper("parent", leash.env())))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	first, second := leash.catch(), leash.catch()
	s.Write([]byte("\n"), false)
	s.Flush()
	r.untilLast()
	if !r.heard("end") || r.detail != "exit status 0" {
		t.Errorf("the sink heard %q, exit is %q", r.order(), r.detail)
	}
	dies(t, first)
	dies(t, second)
}

// A leader that is over does not cut off those who still speak for it.
func TestGrandchildrenFinishWhatTheySay(t *testing.T) {
	for _, mode := range []string{"parentOut", "parentErr"} {
		t.Run(mode, func(t *testing.T) {
			leash := newLeash(t)
			table := newTestTable(t, patient(helper(mode, leash.env())))
			r := newRecorder()
			s := open(t, table, abi.OpenProcess, r)
			leader, grandchild := leash.catch(), leash.catch()
			s.Write([]byte("\n"), false)
			s.Flush()
			dies(t, leader)
			for _, b := range []byte(strings.Repeat(".", 500) + "!") {
				if _, err := grandchild.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
				if _, err := grandchild.Read(make([]byte, 1)); err != nil {
					t.Fatalf("it was killed before it had spoken: %v", err)
				}
			}
			r.untilLast()
			if said := string(r.data) + string(table.Stderr()); said != "last words" {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// A pipe that is broken because the process is over does not hide how that came,
// even if it took long until somebody noticed, or others still speak for it.
func TestAnExitTellsMoreThanABrokenPipe(t *testing.T) {
	leash := newLeash(t)
	table := newTestTable(t, patient(helper("parentOut", leash.env())))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	leader, grandchild := leash.catch(), leash.catch()
	s.Write([]byte("\n"), false)
	s.Flush()
	dies(t, leader)
	s.(*handle).fail(abi.Reset, errors.New("broken pipe"))
	grandchild.Write([]byte("!"))
	r.untilLast()
	if r.err != nil || r.detail != "exit status 0" {
		t.Errorf("exit is %q, %v", r.detail, r.err)
	}
	if leftByItself(nil) {
		t.Error("something is known of what others have reaped")
	}
}

func TestGrandchildrenDieWithClose(t *testing.T) {
	leash := newLeash(t)
	table := newTestTable(t, patient(helper("parent", leash.env())))
	open(t, table, abi.OpenProcess, newRecorder())
	first, second := leash.catch(), leash.catch()
	closeTable(t, table)
	dies(t, first)
	dies(t, second)
}

// Nobody can kill a process that left the group, but it does not hold up the
// exit of the one that did not, neither by its silence nor by its noise.
func TestAnEscapedProcessDoesNotHoldUpExit(t *testing.T) {
	for _, mode := range []string{"escape", "escapeY"} {
		t.Run(mode, func(t *testing.T) {
			leash := newLeash(t)
			table := newTestTable(t, quick(helper(mode, leash.env())))
			r := newRecorder()
			s := open(t, table, abi.OpenProcess, r)
			leash.catch()
			leash.catch()
			s.Write([]byte("\n"), false)
			s.Flush()
			r.untilLast()
			if !strings.HasSuffix(r.order(), "end exit") {
				t.Errorf("the sink heard %q", r.order())
			}
		})
	}
}

func TestNothingIsLostWhenTheReceiverIsSlowerThanTheGrace(t *testing.T) {
	leash := newLeash(t)
	c := quick(helper("burst", leash.env()))
	c.Grace.Exit = time.Nanosecond
	table := newTestTable(t, c)
	r := newRecorder()
	r.holdAt = "data"
	s := open(t, table, abi.OpenProcess, r)
	conn := leash.catch()
	r.until(func() bool { return r.inCall && r.heard("opened") })
	s.Write([]byte("\n"), false)
	s.Flush()
	dies(t, conn)
	<-s.(*handle).out.shut // the process is buried, and its stdout cut
	close(r.hold)
	r.untilLast()
	if want := len("first") + 60<<10; len(r.data) != want {
		t.Errorf("%d bytes arrived of %d", len(r.data), want)
	}
}

func TestAServerThatStopsReadingIsGivenUp(t *testing.T) {
	leash := newLeash(t)
	c := patient(helper("deaf", leash.env()))
	c.Limits.Stall = 50 * time.Millisecond
	table := newTestTable(t, c)
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	conn := leash.catch()
	r.untilData(len("ready"))
	s.Write(make([]byte, 4<<20), false)
	s.Flush()
	r.untilLast()
	wantOrder(t, r, "opened data end error")
	if r.status != abi.Stalled || r.err.Error() != "server has not read its stdin for 50ms" {
		t.Errorf("error %v, %v", r.status, r.err)
	}
	dies(t, conn)
}

func TestReadingGoesOnWhileWritingIsStuck(t *testing.T) {
	c := patient(Grant{Name: "main", To: Process{Command: "/bin/sh", Args: []string{"-c", "yes | head -c 3000000; read x; exec cat >/dev/null"}}})
	table := newTestTable(t, c)
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	s.Write(bytes.Repeat([]byte("x\n"), 2<<20), true)
	s.Flush()
	r.untilLast()
	if len(r.data) != 3_000_000 {
		t.Errorf("%d bytes arrived", len(r.data))
	}
}

func TestDrainedIsHeardOnceTheQueueIsLow(t *testing.T) {
	table := newTestTable(t, patient(helper("echo")))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	r.untilWord("opened")
	low := s.(*handle).Limits().LowWater
	s.Write(make([]byte, 8<<20), false)
	s.Flush()
	if s.Queued() <= low {
		t.Skip("the system took eight megabytes at once")
	}
	r.until(func() bool { return r.drained > 0 })
	if s.Queued() > low {
		t.Errorf("Queued is %d after Drained", s.Queued())
	}
	s.Write(nil, true)
	s.Flush()
	r.untilLast()
	if r.drained != 1 {
		t.Errorf("Drained was heard %d times", r.drained)
	}
}

func TestAServerThatClosesItsStdinAndStays(t *testing.T) {
	c := patient(helper("hangup"))
	c.Grace.Exit = time.Millisecond
	table := newTestTable(t, c)
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	r.untilData(len("ready"))
	s.Write([]byte("anybody there?"), false)
	s.Flush()
	r.untilLast()
	wantOrder(t, r, "opened data end error")
	if r.status != abi.Reset || !strings.HasPrefix(r.err.Error(), "server stopped reading its stdin") {
		t.Errorf("error %v, %v", r.status, r.err)
	}
	if s.Queued() != 0 {
		t.Errorf("Queued is %d", s.Queued())
	}
}

func TestEndOfStdoutIsNotTheEndOfTheProcess(t *testing.T) {
	table := newTestTable(t, patient(helper("mute")))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	r.untilWord("end")
	wantOrder(t, r, "opened end")
	s.Write(nil, true)
	s.Flush()
	r.untilLast()
	wantOrder(t, r, "opened end exit")
}

func TestAFloodOfStderrStopsNobody(t *testing.T) {
	c := patient(helper("flood"))
	c.Stderr = new(tailWriter)
	table := newTestTable(t, c)
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	r.untilData(len("done"))
	if got := len(table.Stderr()); got != tailSize {
		t.Errorf("%d bytes of stderr are kept", got)
	}
}

func TestCloseOfAServerThatNeverStopsTalking(t *testing.T) {
	table := newTestTable(t, quick(helper("endless")))
	r := newRecorder()
	s := open(t, table, abi.OpenProcess, r)
	r.untilData(1 << 20)
	s.Close()
	closeTable(t, table)
	if r.heard("end") || r.heard("exit") {
		t.Errorf("the sink heard %q after Close", r.order())
	}
}

func TestCloseDuringTheStart(t *testing.T) {
	for range 50 {
		table := NewTable(patient(helper("echo")))
		s := open(t, table, abi.OpenProcess, newRecorder())
		s.Write([]byte("hello"), false)
		s.Close()
		closeTable(t, table)
		closeTable(t, table)
	}
}

func TestStartErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, dir)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode fs.FileMode) string {
		if err := os.WriteFile(dir+"/"+name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	plain := write("plain", "#!/bin/sh\n", 0o644)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	garbage := write("garbage", "\x00\x01", 0o755)
	tests := []struct {
		name   string
		p      Process
		status abi.Status
		want   string
	}{
		{"empty", Process{}, abi.Unreachable, "the command is empty"},
		{"known name", Process{Command: "npx", Env: []string{"PATH=" + dir}}, abi.NotFound, `command "npx" not found in PATH; is Node.js installed?`},
		{"name", Process{Command: "frobnicate"}, abi.NotFound, `command "frobnicate" not found in PATH; install it, or give its full path`},
		{"path", Process{Command: dir + "/none"}, abi.NotFound, `there is no ` + dir + `/none`},
		{"relative path", Process{Command: "./none", Dir: dir}, abi.NotFound, `there is no ` + dir + `/none`},
		{"not executable", Process{Command: plain}, abi.Unreachable, "does it need chmod +x?"},
		{"interpreter", Process{Command: lost}, abi.NotFound, "is the interpreter installed"},
		{"garbage", Process{Command: garbage}, abi.Unreachable, "built for another system"},
		{"no dir", Process{Command: "sh", Dir: dir + "/none"}, abi.NotFound, "working directory"},
		{"file for dir", Process{Command: "sh", Dir: plain}, abi.Unreachable, "it is a file"},
		{"NUL", Process{Command: "sh", Args: []string{"a\x00b"}}, abi.Unreachable, "NUL"},
		{"relative PATH", Process{Command: "lost", Dir: dir, Env: []string{"PATH=" + relative + "::."}}, abi.NotFound, "not found in PATH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := newTestTable(t, patient(Grant{Name: "main", To: tt.p}))
			r := newRecorder()
			open(t, table, abi.OpenProcess, r)
			r.untilLast()
			wantOrder(t, r, "error")
			if r.status != tt.status || !strings.Contains(r.err.Error(), tt.want) || !strings.HasPrefix(r.err.Error(), "start process: ") {
				t.Errorf("got %v, %v; want %v, …%s", r.status, r.err, tt.status, tt.want)
			}
		})
	}
}

func TestAPathIsTakenFromTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/server", []byte("#!/bin/sh\npwd\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	table := newTestTable(t, patient(Grant{Name: "main", To: Process{Command: "./server", Dir: dir}}))
	r := newRecorder()
	open(t, table, abi.OpenProcess, r)
	r.untilLast()
	if string(r.data) != dir+"\n" {
		t.Errorf("it ran in %q (%v)", r.data, errors.Join(r.err))
	}
}
