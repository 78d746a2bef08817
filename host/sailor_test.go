package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/plugins"
)

// sailor is a process with a host of its own, which shares the vault and the
// cache with others. It calls a tool when it is told to.
type sailor struct {
	berth
	cmd   *exec.Cmd
	to    io.WriteCloser
	from  *bufio.Reader
	ended bool
}

// berth is what a sailor starts with.
type berth struct{ Name, URL, Cache, Vault string }

const berthVariable = "WHARF_TEST_BERTH"

// What a sailor says of a call. Any other line is an error.
const (
	fair      = "fair"
	lockedOut = "locked out: " // somebody has to sign in
	gone      = ""             // it was killed
)

func init() { servers["sailor"] = sail }

// sail is the process. It connects, and calls for each line that it reads.
func sail() {
	var b berth
	if err := json.Unmarshal([]byte(os.Getenv(berthVariable)), &b); err != nil {
		panic(err)
	}
	ctx := context.Background()
	h, err := host.New(ctx, host.Config{
		Plugins: plugins.Builtin(), CacheDir: b.Cache, VaultDir: b.Vault, OneShot: true, Timeout: 2 * time.Minute, StartTimeout: -1,
	})
	if err != nil {
		panic(err)
	}
	s, err := h.Connect(ctx, stormy(b.URL, b.Name))
	fmt.Println(verdict(err))
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		_, err := s.CallTool(ctx, "echo", map[string]any{"message": "ahoy"})
		fmt.Println(verdict(err))
	}
	if err := h.Close(); err != nil {
		panic(err)
	}
}

func verdict(err error) string {
	switch {
	case err == nil:
		return fair
	case errors.Is(err, host.ErrAuthRequired):
		return strings.ReplaceAll(lockedOut+err.Error(), "\n", " ")
	}
	return strings.ReplaceAll("error: "+err.Error(), "\n", " ")
}

// newSailor starts a sailor, who is greeted later.
func newSailor(t testing.TB, b berth) *sailor {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	s := &sailor{berth: b, cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), serverVariable+"=sailor", berthVariable+"="+string(text))
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		s.from = bufio.NewReader(out)
		s.to, err = s.cmd.StdinPipe()
	}
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.leave(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	})
	return s
}

// greet waits until the sailor has connected.
func (s *sailor) greet(t testing.TB) {
	t.Helper()
	if said := s.hear(); said != fair {
		t.Fatalf("%s connects: %q", s.Name, said)
	}
}

// tell has the sailor call. One who is dead does not hear it.
func (s *sailor) tell() { _, _ = io.WriteString(s.to, "call\n") }

// hear returns what the sailor says next.
func (s *sailor) hear() string {
	line, err := s.from.ReadString('\n')
	if err != nil {
		return gone
	}
	return strings.TrimSuffix(line, "\n")
}

// kill ends the sailor without a warning.
func (s *sailor) kill() { _ = s.cmd.Process.Kill() }

// bury returns when nothing is left of a sailor who was killed: its locks are
// open then.
func (s *sailor) bury() {
	s.ended = true
	_, _ = io.Copy(io.Discard, s.from)
	_ = s.cmd.Wait() // says how it ended
}

// leave lets the sailor close its host.
func (s *sailor) leave() error {
	if s.ended {
		return nil
	}
	s.ended = true
	_ = s.to.Close()
	return s.cmd.Wait()
}
