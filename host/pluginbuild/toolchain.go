package pluginbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"strings"
)

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

// version returns the version of the toolchain. The go command fetches a pinned one if
// it has to; an old go command cannot, and reports its own version.
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

// compilerOutput returns the output of `go build -json`: that of the compiler, which is
// on stdout, one piece a line, and the errors of the go command itself, which are on
// stderr. Of stderr only the last lines are kept.
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
