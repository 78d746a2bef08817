// Package startup compares whole commands: `wharf call demo echo` with a minimal
// program on the official Go SDK that makes the same call to the same server.
// Both start the server, connect, call, print and end.
package startup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Times are the durations of one command, one for each run.
type Times struct {
	Wall []time.Duration `json:"wall"`
	CPU  []time.Duration `json:"cpu"` // of the command and its server
}

// Result holds the times of both commands.
type Result struct {
	Wharf   Times         `json:"wharf"`
	Minimal Times         `json:"minimal"`
	Behind  time.Duration `json:"behind"` // the median of how much longer wharf took in a pair
}

// Pairs builds both programs in dir and runs them in turn, that many times.
// Wharf's first run, which compiles its plugin, does not count.
func Pairs(ctx context.Context, dir string, count int) (Result, error) {
	wharf, err := Wharf(ctx, dir)
	if err != nil {
		return Result{}, err
	}
	here, err := folder(ctx, "github.com/wharf-mcp/wharf/cmd/compare")
	if err != nil {
		return Result{}, err
	}
	minimal, err := build(ctx, dir, here, "./minimal")
	if err != nil {
		return Result{}, err
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return Result{}, err
	}
	calls := []call{
		{"wharf", []string{wharf, "call", "demo", "echo", "message=hello"}, home},
		{"minimal", []string{minimal, wharf, "demo-server"}, home},
	}
	return alternate(ctx, calls, count)
}

// Wharf builds wharf in dir and returns its path.
func Wharf(ctx context.Context, dir string) (string, error) {
	root, err := folder(ctx, "github.com/wharf-mcp/wharf")
	if err != nil {
		return "", err
	}
	return build(ctx, dir, root, "./cmd/wharf")
}

// folder returns the folder of a module of this build.
func folder(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w; run this program in its own folder", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds a program with the dependencies of its module, and returns the program's
// path.
func build(ctx context.Context, dir, root, program string) (string, error) {
	out := filepath.Join(dir, filepath.Base(program))
	command := exec.CommandContext(ctx, "go", "build", "-o", out, program)
	command.Dir = root
	if message, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, bytes.TrimSpace(message))
	}
	return out, nil
}

func alternate(ctx context.Context, calls []call, count int) (Result, error) {
	var times [2]Times
	var behind []time.Duration
	for i := range count + 1 {
		for _, n := range []int{i % 2, 1 - i%2} {
			if err := calls[n].run(ctx, &times[n]); err != nil {
				return Result{}, err
			}
		}
		if i == 0 { // the caches are warm now
			times = [2]Times{}
			continue
		}
		behind = append(behind, times[0].Wall[i-1]-times[1].Wall[i-1])
	}
	return Result{Wharf: times[0], Minimal: times[1], Behind: Median(behind)}, nil
}

// call is a command that must say hello.
type call struct {
	name    string
	command []string
	home    string // where its caches and settings are
}

func (c call) run(ctx context.Context, times *Times) error {
	command := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	command.Env = append(os.Environ(), "HOME="+c.home, "XDG_CACHE_HOME="+c.home, "XDG_CONFIG_HOME="+c.home)
	start := time.Now()
	out, err := command.Output()
	wall := time.Since(start)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.command, " "), err, lastWords(err))
	}
	if !bytes.Contains(out, []byte("hello")) {
		return fmt.Errorf("%s: printed %q, expected hello in it", c.name, out)
	}
	times.Wall = append(times.Wall, wall)
	times.CPU = append(times.CPU, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	return nil
}

// lastWords returns the stderr of a command that failed.
func lastWords(err error) []byte {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil
	}
	return bytes.TrimSpace(exit.Stderr)
}

// Median returns the median of the values, or 0 if there are none.
func Median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}
