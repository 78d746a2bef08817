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

// hostProcess is a process with a host of its own, which shares the vault and the
// cache with others. It calls a tool when it is told to.
type hostProcess struct {
	hostSetup
	cmd   *exec.Cmd
	to    io.WriteCloser
	from  *bufio.Reader
	ended bool
}

// hostSetup is what a hostProcess starts with.
type hostSetup struct{ Name, URL, Cache, Vault string }

const hostSetupVariable = "WHARF_TEST_SETUP"

// What a hostProcess says of a call. Any other line is an error.
const (
	fair      = "fair"
	lockedOut = "locked out: " // a person has to sign in
	gone      = ""             // it was killed
)

func init() { servers["hostProcess"] = serveAsHost }

// serveAsHost is the process. It connects, and calls for each line that it reads.
func serveAsHost() {
	var b hostSetup
	if err := json.Unmarshal([]byte(os.Getenv(hostSetupVariable)), &b); err != nil {
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

// newHostProcess starts a hostProcess, who is greeted later.
func newHostProcess(t testing.TB, b hostSetup) *hostProcess {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	s := &hostProcess{hostSetup: b, cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), serverVariable+"=hostProcess", hostSetupVariable+"="+string(text))
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

// greet waits until the hostProcess has connected.
func (s *hostProcess) greet(t testing.TB) {
	t.Helper()
	if said := s.hear(); said != fair {
		t.Fatalf("%s connects: %q", s.Name, said)
	}
}

// tell has the hostProcess call. One who is dead does not hear it.
func (s *hostProcess) tell() { _, _ = io.WriteString(s.to, "call\n") }

// hear returns what the hostProcess says next.
func (s *hostProcess) hear() string {
	line, err := s.from.ReadString('\n')
	if err != nil {
		return gone
	}
	return strings.TrimSuffix(line, "\n")
}

// kill ends the hostProcess without a warning.
func (s *hostProcess) kill() { _ = s.cmd.Process.Kill() }

// bury returns when nothing is left of a hostProcess who was killed: its locks are
// open then.
func (s *hostProcess) bury() {
	s.ended = true
	_, _ = io.Copy(io.Discard, s.from)
	_ = s.cmd.Wait() // says how it ended
}

// leave lets the hostProcess close its host.
func (s *hostProcess) leave() error {
	if s.ended {
		return nil
	}
	s.ended = true
	_ = s.to.Close()
	return s.cmd.Wait()
}
