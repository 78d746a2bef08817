package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/plugins"
)

// The test binary is also a worker, honest or not, where its first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		if work := workers[os.Args[2]]; work != nil {
			if err := work(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
		if c, ok := cheats[strings.TrimPrefix(os.Args[2], cheating)]; ok && strings.HasPrefix(os.Args[2], cheating) {
			c.play()
		}
		frauds[os.Args[2]].play()
	}
	goleak.VerifyTestMain(m)
}

const honest = "honest"

// workers are those that are no frauds.
var workers = map[string]func() error{honest: func() error { return Serve(os.Stdin, os.Stdout) }}

// program is a plugin in workers that are honest, or frauds of a kind.
func program(t testing.TB, binary []byte, kind string) *Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Program{Binary: binary, Command: []string{self, "worker", kind}, Cache: codeCache, Hash: wasm.Hash(binary)}
}

// cache is shared by the tests, and outlives them.
var codeCache = NewCodeCache(filepath.Join(os.TempDir(), fmt.Sprintf("wharf-worker-cache-%d", os.Getuid())))

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const smallFile = "../../../examples/transport-socket-c/socket.wasm"

// start starts a guest apart.
func start(p *Program) (*guest.Instance, error) {
	return guest.New(context.Background(), guest.Config{Plugin: "pigeon", Remote: p})
}

// A worker is gone when its guest is, with all that it had.
func TestNothingIsLeft(t *testing.T) {
	p := program(t, read(t, smallFile), honest)
	run := func() {
		inst, err := start(p)
		if err != nil {
			t.Fatal(err)
		}
		if inst.Manifest().Name != "socket-c" || inst.Pages() == 0 || inst.Used() == 0 {
			t.Errorf("it says %+v, %d pages, %d units", inst.Manifest(), inst.Pages(), inst.Used())
		}
		inst.Close(context.Background())
	}
	run() // which opens what stays open
	before := descriptors(t)
	for range 5 {
		run()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are open, and were %d", after, before)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// A worker whose guest has no connection yet is found out by the first that it gets.
func TestKilledBeforeItIsUsed(t *testing.T) {
	m, err := program(t, read(t, smallFile), honest).Start(t.Context(), guest.Callbacks{MemoryPages: 256, Stderr: io.Discard, Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	worker := m.(*executor)
	worker.pipe.Kill()
	<-worker.exited
	for range 2 {
		_, err = m.Run(wasm.EventBudget, guest.Event{Kind: abi.EventDescribe})
		if err == nil || !strings.Contains(err.Error(), "its worker process was killed by signal 9") {
			t.Errorf("an event of a dead worker ended with %v", err)
		}
	}
}

// The callback Lost hears of the end of a process, unless the executor was closed.
func TestLost(t *testing.T) {
	lost := make(chan error, 1)
	berth := guest.Callbacks{MemoryPages: 256, Stderr: io.Discard, Lost: func(err error) { lost <- err }}
	p := program(t, read(t, smallFile), honest)
	for _, killed := range []bool{true, false} {
		m, err := p.Start(t.Context(), berth)
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			m.(*executor).pipe.Kill()
			if err := <-lost; err.Error() != "its worker process was killed by signal 9" {
				t.Errorf("lost: %v", err)
			}
		}
		m.Close()
	}
	select {
	case err := <-lost:
		t.Errorf("an executor that was closed was lost: %v", err)
	default:
	}
}

// A caller that does not wait gets no worker.
func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := program(t, nil, "silent at the start")
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := guest.New(ctx, guest.Config{Plugin: "pigeon", Remote: p})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestNoSuchProgram(t *testing.T) {
	_, err := start(&Program{Command: []string{"/no/such/program"}})
	if err == nil || !strings.Contains(err.Error(), "plugin pigeon: start: start its worker process") {
		t.Errorf("ended with %v", err)
	}
}

// A file that is no plugin is refused in the words of the worker.
func TestRefusal(t *testing.T) {
	_, err := start(program(t, []byte("no module"), honest))
	if !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), "plugin pigeon: start: ") {
		t.Errorf("ended with %v", err)
	}
}

// A sealed payload stays here: of the event that has it, only the length crosses.
func TestSealedPayloadStays(t *testing.T) {
	var sent bytes.Buffer
	m, _ := listen(nil, &sent, guest.Callbacks{})
	m.Run(wasm.EventBudget, guest.Event{Kind: abi.EventOpened, Handle: 1, Arg: abi.Sealed, Size: 17})
	var e event
	f := reader(&sent)
	if _, body, err := f.next(); err != nil || e.decode(body) != nil || !e.sealed() || e.Size != 17 || len(e.Payload) != 0 {
		t.Errorf("sent %+v, %v", e, err)
	}
}

// The clock and the randomness of a guest are those that it is given.
func TestSources(t *testing.T) {
	var asked []string
	now := func() time.Time { asked = append(asked, "time"); return time.Unix(1_700_000_000, 0) }
	p := program(t, plugins.Builtin()["sse"](), honest) // whose runtime, of Go, wants time and randomness
	p.EventTimeout = time.Hour                          // it is compiled first, which the race detector makes long
	inst, err := guest.New(t.Context(), guest.Config{Plugin: "pigeon", Remote: p, Now: now, Random: zeros{&asked}})
	if err != nil {
		t.Fatal(err)
	}
	inst.Close(context.Background())
	for _, want := range []string{"time", "randomness"} {
		if !strings.Contains(strings.Join(asked, " "), want) {
			t.Errorf("the guest did not ask for %s: %v", want, asked)
		}
	}
}

type zeros struct{ asked *[]string }

func (z zeros) Read(p []byte) (int, error) {
	*z.asked = append(*z.asked, "randomness")
	clear(p)
	return len(p), nil
}
