package process

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"golang.org/x/sys/unix"
)

// A kernel without pidfds makes the watch wait in another way.
func TestWatchWithoutAPidfd(t *testing.T) {
	cmd, err := helper("crash").To.(Process).command()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := watch{fd: -1}
	over := make(chan struct{})
	w.whenOver(cmd, func() { close(over) })
	<-over
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("the process was reaped: %v", err)
	}
	cmd.Wait()
	w.close()
	if cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v", cmd.ProcessState)
	}
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	l, listening := listenUnix(t)
	missing := capability.Grant{Name: "main", To: Process{Command: "/no/such/program"}}
	refused := capability.Grant{Name: "main", To: stream.Address{Network: "unix", Addr: "/no/such/socket"}}
	broken := capability.Grant{Name: "main", To: Process{Command: os.Args[0], Dir: "/no/such/dir"}}
	cycle := func() {
		for _, g := range []capability.Grant{helper("echo"), helper("crash"), missing, broken, listening, refused} {
			table, r := capability.NewTable(captest.Patient(g)), captest.NewRecorder()
			captest.Open(t, table, g.To.Kind(), r)
			if a, ok := g.To.(stream.Address); ok && a == listening.To {
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
			}
			r.Until(func() bool { return r.Anything() })
			captest.CloseTable(t, table)
		}
	}
	cycle() // the poller and the like are made once
	before := openFiles(t)
	for range 20 {
		cycle()
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, before it were %d", after, before)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

// BenchmarkRoundTrip sends messages to a real child, which sends them back.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(captest.SizeName(size), func(b *testing.B) {
			table := capability.NewTable(capability.Config{Grants: []capability.Grant{helper("cat")}})
			sink := &echoSink{want: size + 1, back: make(chan struct{}, 1)}
			s, _, err := table.Open(abi.OpenProcess, captest.Request("main", 0), sink)
			if err != nil {
				b.Fatal(err)
			}
			body, newline := make([]byte, size), []byte("\n")
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				s.Write(body, false)
				s.Write(newline, false)
				s.Flush()
				<-sink.back
			}
			b.StopTimer()
			captest.CloseTable(b, table)
		})
	}
}

// BenchmarkRawRoundTrip is the floor of BenchmarkRoundTrip: the same child, and
// system calls that block.
func BenchmarkRawRoundTrip(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(captest.SizeName(size), func(b *testing.B) {
			cmd, err := helper("cat").To.(Process).command()
			if err != nil {
				b.Fatal(err)
			}
			var in, out [2]int
			if err := errors.Join(syscall.Pipe2(in[:], syscall.O_CLOEXEC), syscall.Pipe2(out[:], syscall.O_CLOEXEC)); err != nil {
				b.Fatal(err)
			}
			childIn, childOut := os.NewFile(uintptr(in[0]), "in"), os.NewFile(uintptr(out[1]), "out")
			cmd.Stdin, cmd.Stdout = childIn, childOut
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			childIn.Close()
			childOut.Close()
			unix.FcntlInt(uintptr(in[1]), unix.F_SETPIPE_SZ, stream.PipeMax)
			unix.FcntlInt(uintptr(out[0]), unix.F_SETPIPE_SZ, stream.PipeMax)
			body, buf := make([]byte, size+1), make([]byte, 64<<10)
			b.SetBytes(int64(size))
			for b.Loop() {
				syscall.Write(in[1], body)
				for got := 0; got < len(body); {
					n, _ := syscall.Read(out[0], buf)
					got += n
				}
			}
			syscall.Close(in[1])
			syscall.Close(out[0])
			cmd.Wait()
		})
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// echoSink tells a benchmark when as many bytes came back as it wrote.
type echoSink struct {
	quietSink
	want, got int
	back      chan struct{}
}

func (s *echoSink) Head(int, []abi.Pair, int64, []byte, bool) {}

func (s *echoSink) Data(p []byte, _ bool) {
	if s.got += len(p); s.got == s.want {
		s.got = 0
		s.back <- struct{}{}
	}
}

// quietSink hears everything and does nothing.
type quietSink struct{}

func (quietSink) Opened() {}

func (quietSink) Sealed([]byte) {}

func (quietSink) End() {}

func (quietSink) Exit(int, string, bool) {}

func (quietSink) Error(abi.Status, error) {}

func (quietSink) Drained() {}

// An exit says whether the process has read anything: one that left before did not leave
// because of what it was sent.
func TestUnread(t *testing.T) {
	for name, c := range map[string]struct {
		mode, sent string
		want       bool
	}{
		"left before":           {"killself", "hello\n", true},
		"was sent nothing":      {"killself", "", true},
		"read all":              {"burst", "h", false},
		"read the first of all": {"burst", "hello\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			table := captest.NewTable(t, captest.Patient(helper(c.mode)))
			r := captest.NewRecorder()
			s := captest.Open(t, table, abi.OpenProcess, r)
			s.Write([]byte(c.sent), false)
			s.Flush()
			r.UntilLast()
			if r.Unread != c.want {
				t.Errorf("unread is %v", r.Unread)
			}
		})
	}
}
