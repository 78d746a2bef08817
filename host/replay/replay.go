package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// Options are what a replay compares, and how it runs.
type Options struct {
	Logs  bool // what the plugin logs, too
	Reads bool // how it looks at payloads, too

	CacheDir    string // keeps the compiled plugin; "" is no cache
	Interpreted bool   // without native code, and then without CacheDir

	// Worker is what compiles the plugin, see [worker.Compiler]; nil compiles it here,
	// within low limits.
	Worker []string
}

// PluginError says that the plugin cannot be run at all.
type PluginError struct{ Err error }

func (e *PluginError) Error() string { return e.Err.Error() }
func (e *PluginError) Unwrap() error { return e.Err }

// Replay runs the connections of a recording with binary as their plugin, without
// any server, and says where it does something else. It runs those of a plugin that
// gives itself the same name. A recording that cannot be read is a [*FileError], and
// a plugin that cannot be run a [*PluginError].
func Replay(ctx context.Context, recording io.Reader, binary []byte, o Options) (*Report, error) {
	r := &replay{ctx: ctx, options: o, openings: make(map[int]*opening), players: make(map[int]*player), names: make(map[string]bool)}
	defer r.close()
	if err := r.load(binary); err != nil {
		return nil, err
	}
	if err := r.read(newEntries(recording)); err != nil {
		return nil, err
	}
	return r.result()
}

// replay is a recording that runs again.
type replay struct {
	ctx      context.Context
	options  Options
	compiler worker.Compiler
	engine   *wasm.Engine // nil before load
	module   *wasm.Module
	report   Report
	tally    tally
	openings map[int]*opening // connections without an event yet
	players  map[int]*player  // those that run; nil where another plugin did
	names    map[string]bool  // of all plugins
	ended    bool
	other    bool // the file differs from one that was recorded
}

// maxPlayers bounds how many connections are open at once: each is a guest.
const maxPlayers = 512

// load makes the plugin ready, and asks it for its name.
func (r *replay) load(binary []byte) error {
	m, err := r.compile(binary)
	if err != nil {
		return r.broken(err)
	}
	r.module = m
	p, err := newPlayer(r.ctx, m, &opening{})
	if err != nil {
		return r.broken(err)
	}
	defer p.close()
	if err := p.run(&step{kind: abi.EventDescribe}); err != nil {
		return r.broken(err)
	}
	if p.trap != nil {
		return &PluginError{fmt.Errorf("DESCRIBE: %w", p.trap)}
	}
	name, ok := manifestName(p.manifest)
	if !ok {
		return &PluginError{errors.New("it does not answer DESCRIBE with a manifest")}
	}
	r.report.Plugin, r.report.SHA256 = name, m.Hash()
	return nil
}

// compile makes the engine and the module that runs on it.
func (r *replay) compile(binary []byte) (m *wasm.Module, err error) {
	const name = "plugin"
	c := wasm.Config{Interpreted: r.options.Interpreted, ABI: surface()}
	if !c.Interpreted {
		r.compiler = worker.Compiler{Command: r.options.Worker, Chest: worker.ChestIn(r.options.CacheDir)}
		r.engine, m, err = r.compiler.Module(r.ctx, name, binary, c)
		return m, err
	}
	if r.engine, err = wasm.NewEngine(r.ctx, c); err != nil {
		return nil, err
	}
	return r.engine.Load(r.ctx, name, binary)
}

// broken tells a plugin that cannot run from somebody who does not wait for it.
func (r *replay) broken(err error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return &PluginError{err}
}

func manifestName(block []byte) (string, bool) {
	m, err := abi.DecodeManifest(block)
	return m.Name, err == nil && block != nil && m.Name != ""
}

func (r *replay) close() {
	for _, p := range r.players {
		if p != nil {
			p.close()
		}
	}
	if r.engine != nil {
		r.engine.Close()
	}
	r.compiler.Close()
}

func (r *replay) read(in *entries) error {
	for {
		en, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err == nil {
			err = r.entry(en)
		}
		if wrong := (*FileError)(nil); errors.As(err, &wrong) && wrong.Line == 0 && in.number > 1 {
			wrong.Line = in.number
		}
		if err != nil {
			return err
		}
	}
}

func (r *replay) entry(en *entry) error {
	switch n := en.connection; en.kind {
	case kindConnection:
		if _, again := r.players[n]; again || r.openings[n] != nil || len(r.openings) > maxPlayers {
			return &FileError{Err: fmt.Errorf("connection %d begins where it cannot", n)}
		}
		r.openings[n] = &en.opening
	case kindEvent:
		return r.event(&en.step)
	case kindCut:
		r.report.Incomplete = true
	case kindEnded:
		r.leave(n)
	case kindEnd:
		r.ended = true
	}
	return nil
}

// leave lets go of a connection, of which only the number stays.
func (r *replay) leave(n int) {
	if p := r.players[n]; p != nil {
		p.close()
		r.players[n] = nil
	}
}

// event runs an event, and before the first of a connection decides who has it.
func (r *replay) event(s *step) error {
	p, known := r.players[s.connection]
	if !known {
		var err error
		if p, err = r.begin(s); err != nil {
			return err
		}
		r.players[s.connection] = p
	}
	if p == nil {
		return nil
	}
	return p.run(s)
}

// begin starts the guest of a connection; there is none where its plugin was
// another.
func (r *replay) begin(s *step) (*player, error) {
	o := r.openings[s.connection]
	if o == nil || s.kind != abi.EventDescribe {
		return nil, &FileError{Err: fmt.Errorf("an event of connection %d, which has not begun", s.connection)}
	}
	delete(r.openings, s.connection)
	name := ""
	for _, c := range s.calls {
		if c.describes() {
			name, _ = manifestName(c.bytes)
		}
	}
	r.names[name] = true
	if name != r.report.Plugin {
		r.report.Others++
		return nil, nil
	}
	if r.running() >= maxPlayers {
		return nil, &FileError{Err: fmt.Errorf("more than %d connections at once", maxPlayers)}
	}
	p, err := newPlayer(r.ctx, r.module, o)
	if err != nil {
		return nil, r.broken(err)
	}
	r.report.Connections++
	r.other = r.other || o.sha256 != r.report.SHA256
	p.options, p.report, p.tally = r.options, &r.report, &r.tally
	return p, nil
}

func (r *replay) running() (n int) {
	for _, p := range r.players {
		if p != nil {
			n++
		}
	}
	return n
}

// result says how it went.
func (r *replay) result() (*Report, error) {
	if r.report.Connections == 0 {
		have := "no connections at all"
		if len(r.names) > 0 {
			have = "those of " + strings.Join(sortedKeys(r.names), ", ")
		}
		return nil, &FileError{Err: fmt.Errorf("it has no connections of plugin %s, but %s", r.report.Plugin, have)}
	}
	out := r.report
	out.First, out.Differences = r.tally.first, r.tally.summaries()
	out.Same = len(out.Differences) == 0
	out.SameFile = !r.other
	out.Incomplete = out.Incomplete || !r.ended
	return &out, nil
}

var _ guest.Observer = (*Take)(nil)
