package exampletest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A Command is the program wharf with one configuration file.
type Command struct {
	dir     string
	program string
}

// NewCommand returns the program with a configuration. It adds the plugins in files,
// which are paths by name.
func NewCommand(t testing.TB, configuration string, files map[string]string) *Command {
	t.Helper()
	c := &Command{dir: t.TempDir(), program: testenv.Program(t, "github.com/wharf-mcp/wharf/cmd/wharf")}
	for name, file := range files {
		configuration += "\n[plugins." + name + "]\nfile = '" + file + "'\n"
	}
	if err := os.WriteFile(c.file(), []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Command) file() string { return filepath.Join(c.dir, "wharf.toml") }

// Run runs the program and returns what it printed and its exit code.
func (c *Command) Run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(c.program, append(args, "--config", c.file())...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+c.dir)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if failed := cmd.Run(); failed != nil && !errors.As(failed, &exit) {
		t.Fatal(failed)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// Carries checks that `wharf tools` and `wharf call` succeed with a server that has the
// tool echo of the reference servers.
func (c *Command) Carries(t testing.TB, server string) {
	t.Helper()
	for want, args := range map[string][]string{
		`"name":"echo"`:       {"tools", server, "--json"},
		`"text":"Echo: ahoy"`: {"call", server, "echo", "message=ahoy", "--json"},
	} {
		stdout, stderr, code := c.Run(t, args...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("wharf %v: exit code %d, want %s: %s%s", args, code, want, stdout, stderr)
		}
	}
}

// Unauthorized checks that a call fails because one side does not accept the other: stderr
// contains want, and the exit code is that of a missing sign-in.
func (c *Command) Unauthorized(t testing.TB, server, want string) {
	t.Helper()
	const needed = 3
	_, stderr, code := c.Run(t, "tools", server)
	if code != needed || !strings.Contains(stderr, want) {
		t.Errorf("wharf tools %s: exit code %d, want %d and %q: %s", server, code, needed, want, stderr)
	}
}
