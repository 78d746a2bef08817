//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

func TestProcessEchoes(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("echo")))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	s.Write([]byte("hello"), false)
	s.Write([]byte("\n"), true)
	s.Flush()
	r.UntilLast()
	captest.WantOrder(t, r, "opened data end exit")
	if string(r.Bytes) != "hello\n" || r.ExitCode != 0 || r.ExitDetail != "exit status 0" {
		t.Errorf("got %q, %d, %q", r.Bytes, r.ExitCode, r.ExitDetail)
	}
}

func TestProcessCarriesEveryByteInOrder(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("echo")))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
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
	r.UntilLast()
	if !bytes.Equal(r.Bytes, want) {
		t.Fatalf("%d bytes came back, %d were sent, or they differ", len(r.Bytes), len(want))
	}
	if s.Queued() != 0 {
		t.Errorf("Queued is %d at the end", s.Queued())
	}
}

func TestProcessThatCrashes(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("crash")))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	r.UntilLast()
	captest.WantOrder(t, r, "opened end exit")
	if r.ExitCode != 3 || r.ExitDetail != "exit status 3" {
		t.Errorf("exit %d, %q", r.ExitCode, r.ExitDetail)
	}
	if got := string(table.Stderr()); got != "no such table: users\n" {
		t.Errorf("stderr was %q when Exit was heard", got)
	}
}

func TestProcessThatIsKilledByASignal(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("killself")))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	r.UntilLast()
	if r.ExitCode != -1 || r.ExitDetail != "signal: killed" {
		t.Errorf("exit %d, %q", r.ExitCode, r.ExitDetail)
	}
}

func TestCloseEndsAProcessByItsStdin(t *testing.T) {
	leash := captest.NewLeash(t)
	table := captest.NewTable(t, captest.Patient(helper("echo", leash.Env())))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	conn := leash.Catch()
	r.UntilWord("opened")
	s.Close()
	s.Close()
	dies(t, conn)
	captest.CloseTable(t, table)
	captest.WantOrder(t, r, "opened")
}

func TestCloseStillSendsWhatWasQueued(t *testing.T) {
	var stderr textWriter
	c := captest.Patient(capability.Grant{Name: "main", To: Process{Command: "/bin/sh", Args: []string{"-c", "cat >&2"}}})
	c.Stderr = &stderr
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.UntilWord("opened")
	want := bytes.Repeat([]byte("0123456789abcdef"), 256<<10/16)
	s.Write(want, false)
	s.Close()
	captest.CloseTable(t, table)
	if got := table.Stderr(); !bytes.HasSuffix(want, got) || len(got) != lastStderr {
		t.Errorf("%d bytes of the last write arrived", len(got))
	}
}

func TestCloseTerminatesAProcessThatIgnoresItsStdin(t *testing.T) {
	c := captest.Patient(helper("polite"))
	c.Grace.Stdin = time.Millisecond
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	r.UntilData(len("ready"))
	captest.CloseTable(t, table)
	if got := string(table.Stderr()); got != "told to end" {
		t.Errorf("stderr is %q: it was not told by TERM", got)
	}
}

func TestCloseKillsAProcessThatIgnoresEverything(t *testing.T) {
	leash := captest.NewLeash(t)
	table := captest.NewTable(t, quick(helper("stubborn", leash.Env())))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	conn := leash.Catch()
	r.UntilData(len("ready"))
	captest.CloseTable(t, table)
	dies(t, conn)
}

func TestAnEndedContextCutsTheGracesShort(t *testing.T) {
	leash := captest.NewLeash(t)
	c := captest.Patient(helper("stubborn", leash.Env()))
	table := capability.NewTable(c)
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	conn := leash.Catch()
	r.UntilData(len("ready"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := table.Close(ctx); err != nil {
		t.Error(err)
	}
	dies(t, conn)
}

func TestGrandchildrenDieAfterACleanExit(t *testing.T) {
	leash := captest.NewLeash(t)
	table := captest.NewTable(t, quick(helper("parent", leash.Env())))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	first, second := leash.Catch(), leash.Catch()
	s.Write([]byte("\n"), false)
	s.Flush()
	r.UntilLast()
	if !r.Heard("end") || r.ExitDetail != "exit status 0" {
		t.Errorf("the sink heard %q, exit is %q", r.Order(), r.ExitDetail)
	}
	dies(t, first)
	dies(t, second)
}

// A leader that is over does not cut off those who still speak for it.
func TestGrandchildrenFinishWhatTheySay(t *testing.T) {
	for _, mode := range []string{"parentOut", "parentErr"} {
		t.Run(mode, func(t *testing.T) {
			leash := captest.NewLeash(t)
			table := captest.NewTable(t, captest.Patient(helper(mode, leash.Env())))
			r := captest.NewRecorder()
			s := captest.Open(t, table, abi.OpenProcess, r)
			leader, grandchild := leash.Catch(), leash.Catch()
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
			r.UntilLast()
			if said := string(r.Bytes) + string(table.Stderr()); said != "last words" {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// A pipe that is broken because the process is over does not hide how that came,
// even if it took long until it was noticed, or others still speak for it.
func TestAnExitTellsMoreThanABrokenPipe(t *testing.T) {
	leash := captest.NewLeash(t)
	table := captest.NewTable(t, captest.Patient(helper("parentOut", leash.Env())))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	leader, grandchild := leash.Catch(), leash.Catch()
	s.Write([]byte("\n"), false)
	s.Flush()
	dies(t, leader)
	s.(*stream.Duplex).Fail(abi.Reset, errors.New("broken pipe"))
	grandchild.Write([]byte("!"))
	r.UntilLast()
	if r.Err != nil || r.ExitDetail != "exit status 0" {
		t.Errorf("exit is %q, %v", r.ExitDetail, r.Err)
	}
	if leftByItself(nil) {
		t.Error("something is known of what others have reaped")
	}
}

func TestGrandchildrenDieWithClose(t *testing.T) {
	leash := captest.NewLeash(t)
	table := captest.NewTable(t, captest.Patient(helper("parent", leash.Env())))
	captest.Open(t, table, abi.OpenProcess, captest.NewRecorder())
	first, second := leash.Catch(), leash.Catch()
	captest.CloseTable(t, table)
	dies(t, first)
	dies(t, second)
}

// A process that left the group is not killed, but it does not hold up the
// exit of the one that did not, neither by its silence nor by its noise.
func TestAnEscapedProcessDoesNotHoldUpExit(t *testing.T) {
	for _, mode := range []string{"escape", "escapeY"} {
		t.Run(mode, func(t *testing.T) {
			leash := captest.NewLeash(t)
			table := captest.NewTable(t, quick(helper(mode, leash.Env())))
			r := captest.NewRecorder()
			s := captest.Open(t, table, abi.OpenProcess, r)
			leash.Catch()
			leash.Catch()
			s.Write([]byte("\n"), false)
			s.Flush()
			r.UntilLast()
			if !strings.HasSuffix(r.Order(), "end exit") {
				t.Errorf("the sink heard %q", r.Order())
			}
		})
	}
}

func TestNothingIsLostWhenTheReceiverIsSlowerThanTheGrace(t *testing.T) {
	leash := captest.NewLeash(t)
	c := quick(helper("burst", leash.Env()))
	c.Grace.Exit = time.Nanosecond
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	r.HoldAt = "data"
	s := captest.Open(t, table, abi.OpenProcess, r)
	conn := leash.Catch()
	r.Until(func() bool { return r.InCall && r.Heard("opened") })
	s.Write([]byte("\n"), false)
	s.Flush()
	dies(t, conn)
	<-s.(*stream.Duplex).WritingEnded() // the process is buried, and its stdout cut
	close(r.Release)
	r.UntilLast()
	if want := len("first") + burst; len(r.Bytes) != want {
		t.Errorf("%d bytes arrived of %d", len(r.Bytes), want)
	}
}

func TestAServerThatStopsReadingIsGivenUp(t *testing.T) {
	leash := captest.NewLeash(t)
	c := captest.Patient(helper("deaf", leash.Env()))
	c.Limits.Stall = 50 * time.Millisecond
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	conn := leash.Catch()
	r.UntilData(len("ready"))
	s.Write(make([]byte, 4<<20), false)
	s.Flush()
	r.UntilLast()
	captest.WantOrder(t, r, "opened data end error")
	if r.Status != abi.Stalled || r.Err.Error() != "server has not read its stdin for 50ms" {
		t.Errorf("error %v, %v", r.Status, r.Err)
	}
	dies(t, conn)
}

func TestReadingGoesOnWhileWritingIsStuck(t *testing.T) {
	c := captest.Patient(capability.Grant{Name: "main", To: Process{Command: "/bin/sh", Args: []string{"-c", "yes | head -c 3000000; read x; exec cat >/dev/null"}}})
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	s.Write(bytes.Repeat([]byte("x\n"), 2<<20), true)
	s.Flush()
	r.UntilLast()
	if len(r.Bytes) != 3_000_000 {
		t.Errorf("%d bytes arrived", len(r.Bytes))
	}
}

func TestDrainedIsHeardOnceTheQueueIsLow(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("echo")))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.UntilWord("opened")
	low := s.(*stream.Duplex).Limits().LowWater
	s.Write(make([]byte, 8<<20), false)
	s.Flush()
	if s.Queued() <= low {
		t.Skip("the system took eight megabytes at once")
	}
	r.Until(func() bool { return r.DrainedCalls > 0 })
	if s.Queued() > low {
		t.Errorf("Queued is %d after Drained", s.Queued())
	}
	s.Write(nil, true)
	s.Flush()
	r.UntilLast()
	if r.DrainedCalls != 1 {
		t.Errorf("Drained was heard %d times", r.DrainedCalls)
	}
}

func TestAServerThatClosesItsStdinAndStays(t *testing.T) {
	c := captest.Patient(helper("hangup"))
	c.Grace.Exit = time.Millisecond
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.UntilData(len("ready"))
	s.Write([]byte("are you there?"), false)
	s.Flush()
	r.UntilLast()
	captest.WantOrder(t, r, "opened data end error")
	if r.Status != abi.Reset || !strings.HasPrefix(r.Err.Error(), "server stopped reading its stdin") {
		t.Errorf("error %v, %v", r.Status, r.Err)
	}
	if s.Queued() != 0 {
		t.Errorf("Queued is %d", s.Queued())
	}
}

func TestEndOfStdoutIsNotTheEndOfTheProcess(t *testing.T) {
	table := captest.NewTable(t, captest.Patient(helper("mute")))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.UntilWord("end")
	captest.WantOrder(t, r, "opened end")
	s.Write(nil, true)
	s.Flush()
	r.UntilLast()
	captest.WantOrder(t, r, "opened end exit")
}

func TestAFloodOfStderrStopsNothing(t *testing.T) {
	c := captest.Patient(helper("flood"))
	c.Stderr = new(textWriter)
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	r.UntilData(len("done"))
	if got := len(table.Stderr()); got != lastStderr {
		t.Errorf("%d bytes of stderr are kept", got)
	}
}

func TestCloseOfAServerThatNeverStopsTalking(t *testing.T) {
	table := captest.NewTable(t, quick(helper("endless")))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenProcess, r)
	r.UntilData(1 << 20)
	s.Close()
	captest.CloseTable(t, table)
	if r.Heard("end") || r.Heard("exit") {
		t.Errorf("the sink heard %q after Close", r.Order())
	}
}

func TestCloseDuringTheStart(t *testing.T) {
	for range 50 {
		table := capability.NewTable(captest.Patient(helper("echo")))
		s := captest.Open(t, table, abi.OpenProcess, captest.NewRecorder())
		s.Write([]byte("hello"), false)
		s.Close()
		captest.CloseTable(t, table)
		captest.CloseTable(t, table)
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
		{"no dir", Process{Command: "sh", Dir: dir + "/none"}, abi.NotFound, "make it, or correct dir in its entry"},
		{"file for dir", Process{Command: "sh", Dir: plain}, abi.Unreachable, "it is a file"},
		{"NUL", Process{Command: "sh", Args: []string{"a\x00b"}}, abi.Unreachable, "NUL"},
		{"relative PATH", Process{Command: "lost", Dir: dir, Env: []string{"PATH=" + relative + "::."}}, abi.NotFound, "not found in PATH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: tt.p}))
			r := captest.NewRecorder()
			captest.Open(t, table, abi.OpenProcess, r)
			r.UntilLast()
			captest.WantOrder(t, r, "error")
			if r.Status != tt.status || !strings.Contains(r.Err.Error(), tt.want) || !strings.HasPrefix(r.Err.Error(), "start process: ") {
				t.Errorf("got %v, %v; want %v, …%s", r.Status, r.Err, tt.status, tt.want)
			}
		})
	}
}

func TestAPathIsTakenFromTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/server", []byte("#!/bin/sh\npwd\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	table := captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: Process{Command: "./server", Dir: dir}}))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	r.UntilLast()
	if string(r.Bytes) != dir+"\n" {
		t.Errorf("it ran in %q (%v)", r.Bytes, errors.Join(r.Err))
	}
}

// lastStderr is how much of the stderr of its processes a table keeps.
const lastStderr = 64 << 10

type textWriter struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *textWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}
