package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	authabi "github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// Options say what a replay compares, and how it runs. The zero value compares a plugin's
// effects on the world, and neither its logs nor its ways of reading payloads.
type Options struct {
	Logs  bool // also compare what the plugin logs
	Reads bool // also compare how it reads payloads

	CacheDir    string // for compiled plugins; "" for no cache
	Interpreted bool   // run without native code, and without CacheDir

	// Worker is the command that compiles the plugin, as in the configuration of a host.
	// Without it this process compiles the plugin, within low limits.
	Worker []string
}

// Run replays the connections of a recording with plugin as their transport, without any server.
// It reports where the plugin behaves differently. Connections of plugins with another name are
// left out. A recording that cannot be replayed is a [*FileError]; a plugin that cannot be run
// is an error of kind host.ErrPluginRefused.
func Run(ctx context.Context, recording io.Reader, plugin []byte, o Options) (*Report, error) {
	if wasm.HasExport(plugin, authabi.ExportStep) {
		return nil, hosterr.Errorf(hosterr.ErrPluginRefused, "wharf plugin test --recording FILE runs the sign-ins of a recording",
			"it is an auth provider, and this runs transports")
	}
	r := &replay{ctx: ctx, options: o, openings: make(map[int]*opening), players: make(map[int]*player), names: make(map[string]bool), tally: make(tally)}
	defer r.close()
	if err := r.load(plugin); err != nil {
		return nil, err
	}
	if err := r.read(jsonl.NewLines(recording, maxLine)); err != nil {
		return nil, err
	}
	return r.result()
}

// replay is one call of [Run].
type replay struct {
	ctx      context.Context
	options  Options
	compiler worker.Compiler
	engine   *wasm.Engine // nil before load
	module   *wasm.Module
	report   Report
	tally    tally
	openings map[int]*opening // of connections without an event so far
	players  map[int]*player  // of the others; nil once ended, and where another plugin ran
	names    map[string]bool  // of all plugins in the recording
	ended    bool             // the last line was read
	other    bool             // a recorded plugin had another file
}

// maxPlayers bounds how many connections are open at once, since each has an instance.
const maxPlayers = 512

// load compiles the plugin, and asks it for its name.
func (r *replay) load(binary []byte) error {
	m, err := r.compile(binary)
	if err != nil {
		return r.failed(err)
	}
	r.module = m
	p, err := newPlayer(r.ctx, m, &opening{})
	if err != nil {
		return r.failed(err)
	}
	defer p.close()
	if err := p.run(&step{kind: abi.EventDescribe}); err != nil {
		return r.failed(err)
	}
	if p.trap != nil {
		return refused(fmt.Errorf("DESCRIBE: %w", p.trap))
	}
	name, ok := manifestName(p.manifest)
	if !ok {
		return refused(errors.New("it does not answer DESCRIBE with a manifest"))
	}
	r.report.Plugin, r.report.SHA256 = name, m.Hash()
	return nil
}

// compile makes the engine and the module that runs on it.
func (r *replay) compile(binary []byte) (m *wasm.Module, err error) {
	const name = "plugin"
	c := wasm.Config{Interpreted: r.options.Interpreted, ABI: surface()}
	if !c.Interpreted {
		r.compiler = worker.Compiler{Command: r.options.Worker, Cache: worker.CodeCacheIn(r.options.CacheDir)}
		r.engine, m, err = r.compiler.Module(r.ctx, name, binary, c)
		return m, err
	}
	if r.engine, err = wasm.NewEngine(r.ctx, c); err != nil {
		return nil, err
	}
	return r.engine.Load(r.ctx, name, binary)
}

// failed returns the error for a plugin that did not start: the cause of the context if that has
// ended, and otherwise a refusal.
func (r *replay) failed(err error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return refused(err)
}

func refused(err error) error {
	return &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: &guest.PluginError{Plugin: "to replay", Op: "load", Err: err}}
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

func (r *replay) read(in *jsonl.Lines) error {
	for {
		o, err := next(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err == nil {
			err = r.line(o)
		}
		if wrong := (*FileError)(nil); errors.As(err, &wrong) && wrong.Line == 0 && in.Number > 1 {
			wrong.Line = in.Number
		}
		if err != nil {
			return err
		}
	}
}

func (r *replay) line(o *line) error {
	switch n := o.connection; o.kind {
	case kindConnection:
		if _, again := r.players[n]; again || r.openings[n] != nil || len(r.openings) > maxPlayers {
			return &FileError{Err: fmt.Errorf("connection %d begins where it cannot", n)}
		}
		r.openings[n] = o.opening
	case kindEvent:
		p, known := r.players[n]
		if !known { // it is the first event
			var err error
			if p, err = r.begin(n, o.step); err != nil {
				return err
			}
			r.players[n] = p
		}
		if p != nil {
			return p.run(o.step)
		}
	case kindCut:
		r.report.Incomplete = true
	case kindEnded:
		if p := r.players[n]; p != nil {
			p.close()
			r.players[n] = nil // the number is not used again
		}
	case kindEnd:
		r.ended = true
	}
	return nil
}

// begin starts the guest of a connection before its first event, or returns nil if another
// plugin was recorded.
func (r *replay) begin(connection int, first *step) (*player, error) {
	o := r.openings[connection]
	if o == nil || first.kind != abi.EventDescribe {
		return nil, &FileError{Err: fmt.Errorf("an event of connection %d, which has not begun", connection)}
	}
	delete(r.openings, connection)
	name := ""
	for _, c := range first.calls {
		if c.describes() {
			name, _ = manifestName(c.bytes)
		}
	}
	r.names[name] = true
	if name != r.report.Plugin {
		r.report.Others++
		return nil, nil
	}
	running := 0
	for _, p := range r.players {
		if p != nil {
			running++
		}
	}
	if running >= maxPlayers {
		return nil, &FileError{Err: fmt.Errorf("more than %d connections at once", maxPlayers)}
	}
	p, err := newPlayer(r.ctx, r.module, o)
	if err != nil {
		return nil, r.failed(err)
	}
	r.report.Connections++
	r.other = r.other || o.sha256 != r.report.SHA256
	p.connection, p.options, p.report, p.tally = connection, r.options, &r.report, r.tally
	return p, nil
}

// result completes the report.
func (r *replay) result() (*Report, error) {
	if r.report.Connections == 0 {
		have := "no connections at all"
		if len(r.names) > 0 {
			have = "those of " + strings.Join(slices.Sorted(maps.Keys(r.names)), ", ")
		}
		return nil, &FileError{Err: fmt.Errorf("it has no connections of plugin %s, but %s", r.report.Plugin, have)}
	}
	out := r.report
	out.Differences = r.tally.summaries()
	out.Same = len(out.Differences) == 0
	out.SameFile = !r.other
	out.Incomplete = out.Incomplete || !r.ended
	return &out, nil
}
