//go:build unix

package process

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	captest.RunHelper()
	goleak.VerifyTestMain(m)
}

func init() { maps.Copy(captest.Helpers, serverModes) }

var serverModes = map[string]func(){
	"echo":     func() { io.Copy(os.Stdout, os.Stdin) },
	"cat":      cat,
	"env":      func() { fmt.Print(strings.Join(os.Environ(), "\n")) },
	"killself": func() { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Print("ready")
		select {}
	},
	"polite": func() {
		terms := make(chan os.Signal, 1)
		signal.Notify(terms, syscall.SIGTERM)
		fmt.Print("ready")
		<-terms
		fmt.Fprint(os.Stderr, "told to end")
	},
	"deaf":  func() { fmt.Print("ready"); select {} },
	"flood": func() { flood(os.Stderr, 20<<20); fmt.Print("done"); io.Copy(io.Discard, os.Stdin) },
	"endless": func() {
		for line := bytes.Repeat([]byte("y\n"), 8<<10); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return
			}
		}
	},
	"parent":    func() { spawn("deaf", false); awaitLine() },
	"called":    func() { spawn("deaf", false); <-captest.Called },
	"escape":    func() { spawn("deaf", true); awaitLine() },
	"escapeY":   func() { spawn("endless", true); awaitLine() },
	"burst":     func() { fmt.Print("first"); awaitLine(); os.Stdout.Write(make([]byte, burst)) },
	"parentOut": func() { spawn("lastOut", false); awaitLine() },
	"parentErr": func() { spawn("lastErr", false); awaitLine() },
	"lastOut":   func() { os.Stderr.Close(); <-captest.Called; fmt.Print("last words") },
	"lastErr":   func() { os.Stdout.Close(); <-captest.Called; fmt.Fprint(os.Stderr, "last words") },
	"hangup":    func() { os.Stdin.Close(); fmt.Print("ready"); select {} },
	"mute":      func() { os.Stdout.Close(); io.Copy(io.Discard, os.Stdin) },
}

// burst is how many bytes fit in a pipe, with some before them, on a system that is short of pages for pipes.
const burst = 3 << 10

// cat is echo without a buffer of io.Copy's and without the poller.
func cat() {
	buf := make([]byte, 64<<10)
	for {
		n, err := syscall.Read(0, buf)
		if n <= 0 || err != nil {
			return
		}
		syscall.Write(1, buf[:n])
	}
}

func flood(w io.Writer, n int) {
	for block := make([]byte, 64<<10); n > 0; n -= len(block) {
		w.Write(block)
	}
}

// awaitLine returns when the test writes something.
func awaitLine() { os.Stdin.Read(make([]byte, 1)) }

// spawn starts a helper that holds our pipes.
func spawn(mode string, newSession bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), captest.HelperEnv+"="+mode)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: newSession}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// helper is the grant of a server of the given mode.
func helper(mode string, env ...string) capability.Grant {
	return capability.Grant{Name: "main", To: Process{
		Command: os.Args[0],
		Env:     append([]string{captest.HelperEnv + "=" + mode, "GORACE=atexit_sleep_ms=0"}, env...),
	}}
}

// dies returns when the helper behind conn is dead.
func dies(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Fatal("a helper spoke on its leash")
	}
}

// quick has graces that let no end take long.
func quick(grants ...capability.Grant) capability.Config {
	return capability.Config{
		Grants: grants,
		Grace:  capability.Grace{Stdin: 20 * time.Millisecond, Term: 20 * time.Millisecond, Exit: 20 * time.Millisecond, Kill: 20 * time.Millisecond},
		Limits: capability.Limits{Stall: time.Hour},
	}
}
