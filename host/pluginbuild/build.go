package pluginbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Toolchain is the toolchain that plugins are built with. Another toolchain gives other
// bytes for the same source.
const Toolchain = "go1.26.8"

// goTimeout bounds one go command, which may compile the standard library or fetch a
// toolchain on a slow machine.
const goTimeout = 15 * time.Minute

// ErrNoGo is the error of a folder without Go source, whose files are built by
// something else.
var ErrNoGo = errors.New("there is no Go source in it")

// Options say what is built.
type Options struct {
	Dir       string // the package's folder; "" = the working folder
	File      string // the module that is written; "" = the folder's name and .wasm, in the folder
	Toolchain string // as $GOTOOLCHAIN has it; "" = [Toolchain], "local" = whichever Go is here
}

// Module is what was built.
type Module struct {
	File     string
	Size     int64
	SHA256   string // in lower-case hexadecimal
	Go       string // the toolchain that built it
	Segments int    // of data, after joining
	Joined   int    // segments before joining
}

// Build builds the package in a folder and writes the module. It starts the go
// command in that folder with the environment of this process, up to what makes a
// build depend on the machine. Source that does not compile is a [*CompileError],
// a toolchain that is not available a [*ToolchainError]; nothing is written then. A
// module that has no go.sum yet gets one.
func Build(ctx context.Context, o Options) (*Module, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if source, _ := filepath.Glob(filepath.Join(o.Dir, "*.go")); len(source) == 0 {
		return nil, fmt.Errorf("build %s: %w", o.Dir, ErrNoGo)
	}
	g := gocmd{dir: o.Dir, toolchain: o.Toolchain}
	version, err := g.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", o.Dir, err)
	}
	built, err := g.build(ctx)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", o.Dir, err)
	}
	m := &Module{File: o.File, Go: version}
	return m, m.write(built)
}

// complete fills in what was left out. The folder is there afterwards, and its
// path is absolute.
func (o Options) complete() (Options, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return o, err
	}
	if !info.IsDir() {
		return o, &fs.PathError{Op: "build", Path: dir, Err: errors.New("it is a file; expected the folder of a plugin")}
	}
	if o.File == "" {
		o.File = filepath.Join(o.Dir, filepath.Base(dir)+".wasm")
	}
	if o.Toolchain == "" {
		o.Toolchain = Toolchain
	}
	o.Dir = dir
	return o, nil
}

// write joins the segments of a module and writes it to its file.
func (m *Module) write(built []byte) (err error) {
	if built, m.Joined, m.Segments, err = Join(built); err != nil {
		return fmt.Errorf("what the go command built: %w", err)
	}
	sum := sha256.Sum256(built)
	m.SHA256, m.Size = hex.EncodeToString(sum[:]), int64(len(built))
	return os.WriteFile(m.File, built, 0o666)
}

// gocmd is the go command, for a folder and as one toolchain.
type gocmd struct{ dir, toolchain string }

// flags make a module the same on every machine: no paths, no dates, no ids. environ
// clears GOFLAGS, which could add to them.
var flags = []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="}

// environ is the user's environment, with fixed values for what a build must not depend
// on.
func (g gocmd) environ() []string {
	return append(os.Environ(), "GOTOOLCHAIN="+g.toolchain,
		"GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWASM=", "GOEXPERIMENT=")
}

func (g gocmd) run(ctx context.Context, args ...string) (*process.Output, error) {
	p := process.Process{Command: "go", Args: args, Env: g.environ(), Dir: g.dir}
	if _, err := p.Locate(); err != nil {
		return nil, &ToolchainError{Want: g.toolchain, Reason: err.Error()}
	}
	return p.RunWithin(ctx, goTimeout)
}

// build runs the compiler and returns the module.
func (g gocmd) build(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "wharf-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "plugin.wasm")
	args := append(flags[:len(flags):len(flags)], "-json", "-o", file)
	if g.lacksSums() {
		args = append(args, "-mod=mod")
	}
	out, err := g.run(ctx, append(args, ".")...)
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		return nil, &CompileError{Output: compilerOutput(out)}
	}
	return os.ReadFile(file)
}

// lacksSums reports whether the module of the folder has no go.sum: a new one,
// whose first build may write it.
func (g gocmd) lacksSums() bool {
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			_, err = os.Stat(filepath.Join(dir, "go.sum"))
			return errors.Is(err, fs.ErrNotExist)
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
