package host_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// ending is how an attack has to end: what people call it, and how it is known.
type ending struct {
	kind  string
	known func(err error) bool
}

var trapNames = map[wasm.TrapKind]string{
	wasm.TrapFuel: "out of fuel", wasm.TrapDepth: "out of stack", wasm.TrapMemory: "out of memory's bounds", wasm.TrapTable: "no such table entry",
	wasm.TrapDivide: "bad division", wasm.TrapUnreachable: "gave up", wasm.TrapExit: "exited", wasm.TrapHost: "lied to the host",
}

// trapped is the end of a guest that the sandbox or a host call stopped.
func trapped(kind wasm.TrapKind) ending {
	return ending{"trap: " + trapNames[kind], func(err error) bool {
		var trap *wasm.Trap
		return errors.As(err, &trap) && trap.Kind == kind && isPlugins(err)
	}}
}

// broke is the end of a guest with a *host.PluginError that says words.
func broke(words string) ending {
	return ending{"plugin error", func(err error) bool { return isPlugins(err) && strings.Contains(err.Error(), words) }}
}

// gaveUp is the end of a guest that returned the status a host call gave it: the
// attack had no effect.
func gaveUp(s abi.Status) ending {
	e := broke("the plugin gave up: " + s.String())
	e.kind = "no effect: " + s.String()
	return e
}

// turnedAway is the end of a module that was looked at and not loaded.
func turnedAway(words string) ending {
	return ending{"refused", func(err error) bool {
		return errors.Is(err, host.ErrPluginRefused) && strings.Contains(err.Error(), words)
	}}
}

// unreadable is the end of a module that could not even be looked at.
func unreadable(words string) ending {
	e := turnedAway(words)
	e.kind = "unreadable"
	return e
}

// notRead is the end of a file that is not even read.
func notRead(words string) ending {
	return ending{"unreadable", func(err error) bool {
		return errors.Is(err, host.ErrConfig) && strings.Contains(err.Error(), words)
	}}
}

func isPlugins(err error) bool {
	var broken *host.PluginError
	return errors.As(err, &broken) && errors.Is(err, host.ErrUnreachable)
}

// calls is how many calls of the honest session each attack has to bear at least.
const calls = 10

// TestHostileCorpus lets a host load and run every module of the corpus, one after
// the other. Each ends as its row says, and loses its own connection alone: a
// session with an honest server answers all the while, and after it. Nothing is
// timed but for HOSTILE.md: what ends a module is its budget.
func TestHostileCorpus(t *testing.T) {
	all := corpus()
	h := newFleetHost(t, all)
	honest := connect(t, h, server("modern"))
	address := listen(t, "unix")
	measured := make([]cost, len(all))
	for n, a := range all {
		if n%5 != 0 && !testenv.Long() && !*chart {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			over := make(chan error, 1)
			entry := hostileEntry(n, a, address)
			peak, begun := heapPeak(), time.Now()
			go func() {
				err := strike(t.Context(), h, entry)
				measured[n].time = time.Since(begun)
				over <- err
			}()
			answered, err := meanwhile(t, honest, over)
			measured[n].heap = peak()
			if !a.ends.known(err) {
				t.Errorf("ended with %v, want %s", err, a.ends.kind)
			}
			t.Logf("%s after %v and %.1f MB, %d honest calls meanwhile: %v", a.ends.kind, measured[n].time.Round(10*time.Microsecond),
				float64(measured[n].heap)/1e6, answered, err)
		})
	}
	say(t, honest)
	if *chart && !t.Failed() {
		writeChart(t, all, measured)
	}
}

// cost is what an attack took until it was over.
type cost struct {
	time time.Duration
	heap uint64 // bytes by which the heap grew at most
}

func hostileName(n int) string { return fmt.Sprintf("ship-%d", n) }

// newFleetHost returns a host that has the corpus for its plugins, and a cache that
// no other test sees. They have all the time to be compiled in: none of them ends by
// the clock.
func newFleetHost(t *testing.T, all []attack) *host.Host {
	t.Helper()
	h, err := host.New(t.Context(), host.Config{
		Plugins: plugins.Builtin(), Files: corpusFiles(t, all), CacheDir: filepath.Join(t.TempDir(), "cache"), OneShot: true, Reconnect: onDemand, StartTimeout: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// corpusFiles writes the modules of attacks to a folder of the test.
func corpusFiles(t *testing.T, all []attack) map[string]config.Plugin {
	t.Helper()
	dir, files := t.TempDir(), map[string]config.Plugin{}
	for n, a := range all {
		file := filepath.Join(dir, hostileName(n)+".wasm")
		if err := os.WriteFile(file, a.module(), 0o600); err != nil {
			t.Fatal(err)
		}
		files[hostileName(n)] = config.Plugin{Name: hostileName(n), File: file}
	}
	return files
}

// hostileEntry is an entry that is carried by the n-th attack of the corpus.
func hostileEntry(n int, a attack, address string) host.Server {
	entry := host.Server{Name: "bad", Transport: hostileName(n), Address: address, Protocol: cmp.Or(a.era, "2026-07-28")}
	if a.url != "" {
		entry.Address, entry.URL = "", a.url
	}
	return entry
}

// strike connects over a hostile plugin, calls if that can be done, and returns how
// it ended.
func strike(ctx context.Context, h *host.Host, entry host.Server) error {
	s, err := h.Connect(ctx, entry)
	if err == nil {
		_, err = s.CallTool(ctx, "echo", nil)
		s.Close()
	}
	return err
}

// meanwhile has the honest session answer until the attack is over, and no less
// than a number of times.
func meanwhile(t *testing.T, honest *host.Session, over <-chan error) (answered int, err error) {
	t.Helper()
	for ended := false; !ended || answered < calls; answered++ {
		say(t, honest)
		select {
		case err = <-over:
			ended = true
		default:
		}
	}
	return answered, err
}

// TestHostileCorpusKeepsToItsFuel strikes with each module that ends by its fuel,
// against host calls that do nothing, and reads what it took: all of the budget, and
// past it no more than the one thing that was too much.
func TestHostileCorpusKeepsToItsFuel(t *testing.T) {
	const heaviest = 16 << 20 // units: the longest thing that is paid for at once, memory.fill of all there is
	surface := guest.ABI()
	for i := range surface.Imports {
		surface.Imports[i].Func = func(_ *wasm.Instance, stack []uint64) {
			if len(stack) > 0 {
				stack[0] = 0
			}
		}
	}
	e, err := wasm.NewEngine(t.Context(), wasm.Config{ABI: surface})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, a := range corpus() {
		if a.limit != eventBudget {
			continue
		}
		m, err := e.Load(t.Context(), a.name, a.module())
		if err != nil {
			t.Fatal(err)
		}
		in, err := m.Instantiate(t.Context(), wasm.InstanceConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for kind := range a.guest.on {
			_, err = in.Export(abi.ExportEvent).Call(wasm.EventBudget, uint32(kind), 0, 0, 0)
		}
		var trap *wasm.Trap
		if past := in.Used() - wasm.EventBudget; !errors.As(err, &trap) || trap.Kind != wasm.TrapFuel || past < 0 || past > heaviest {
			t.Errorf("%s: %v after %d units", a.name, err, in.Used())
		}
		in.Close()
	}
}
