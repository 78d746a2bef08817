package pluginbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
)

// Toolchain is the toolchain that plugins are built with. Another toolchain gives other
// bytes for the same source.
const Toolchain = "go1.26.8"

// goTimeout bounds one go command, which may compile the standard library or fetch a
// toolchain on a slow machine.
const goTimeout = 15 * time.Minute

// CompileError is source that does not compile.
type CompileError struct {
	Output string // of the compiler, lines that end in newlines
}

func (e *CompileError) Error() string { return "it does not compile" }

// ToolchainError is the error for a toolchain that is not available.
type ToolchainError struct {
	Want   string // as $GOTOOLCHAIN has it
	Reason string
}

func (e *ToolchainError) Error() string {
	return fmt.Sprintf("the toolchain %s is not available: %s", e.Want, e.Reason)
}

// gocmd runs the go command in a folder, with one toolchain.
type gocmd struct{ dir, toolchain string }

// flags make a module the same on every machine: without paths, dates or ids. environ clears
// GOFLAGS, which could add to them.
var flags = []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="}

// environ returns the user's environment, with fixed values for the variables that a build must
// not depend on.
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

// version returns the version of the toolchain. The go command fetches a pinned toolchain if it
// has to. An old go command cannot, and reports its own version.
func (g gocmd) version(ctx context.Context) (string, error) {
	out, err := g.run(ctx, "version")
	if err != nil {
		return "", err
	}
	if out.Code != 0 {
		return "", &ToolchainError{g.toolchain, strings.ReplaceAll(out.Stderr, "\n", "; ")}
	}
	words := strings.Fields(string(out.Stdout)) // go version go1.26.8 linux/amd64
	if len(words) < 3 {
		return "", &ToolchainError{g.toolchain, fmt.Sprintf("`go version` says %q", bytes.TrimSpace(out.Stdout))}
	}
	if version := words[2]; !strings.HasPrefix(g.toolchain, "go") || version == g.toolchain {
		return version, nil
	}
	return "", &ToolchainError{g.toolchain, "the go command is " + words[2] + ", and cannot fetch another"}
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

// lacksSums reports whether the module of the folder has no go.sum. The first build of a new
// module may write it.
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

// compilerOutput returns the output of `go build -json`. The compiler's is on stdout, one piece
// a line. The errors of the go command itself are on stderr, of which only the last lines are
// kept.
func compilerOutput(out *process.Output) string {
	var said strings.Builder
	for line := range bytes.Lines(out.Stdout) {
		var event struct{ Output string }
		if json.Unmarshal(line, &event) == nil {
			said.WriteString(event.Output)
		}
	}
	if out.Stderr != "" {
		said.WriteString(out.Stderr + "\n")
	}
	return said.String()
}
