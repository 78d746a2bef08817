//go:build unix

package capability

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// helperEnv makes the test binary a server of the mode that it names.
const helperEnv = "CAPABILITY_TEST_HELPER"

// leashEnv names a unix socket that a helper connects to when it starts. A test
// sees on its end when the helper is dead, and an escaped helper ends with it.
const leashEnv = "CAPABILITY_TEST_LEASH"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperEnv); mode != "" {
		if path := os.Getenv(leashEnv); path != "" {
			leashTo(path)
		}
		helpers[mode]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var helpers = map[string]func(){
	"echo": func() { io.Copy(os.Stdout, os.Stdin) },
	"cat":  cat,
	"env":  func() { fmt.Print(strings.Join(os.Environ(), "\n")) },
	"crash": func() {
		fmt.Fprintln(os.Stderr, "no such table: users")
		os.Exit(3)
	},
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
	"called":    func() { spawn("deaf", false); <-called },
	"escape":    func() { spawn("deaf", true); awaitLine() },
	"escapeY":   func() { spawn("endless", true); awaitLine() },
	"burst":     func() { fmt.Print("first"); awaitLine(); os.Stdout.Write(make([]byte, 60<<10)) },
	"parentOut": func() { spawn("lastOut", false); awaitLine() },
	"parentErr": func() { spawn("lastErr", false); awaitLine() },
	"lastOut":   func() { os.Stderr.Close(); <-called; fmt.Print("last words") },
	"lastErr":   func() { os.Stdout.Close(); <-called; fmt.Fprint(os.Stderr, "last words") },
	"hangup":    func() { os.Stdin.Close(); fmt.Print("ready"); select {} },
	"mute":      func() { os.Stdout.Close(); io.Copy(io.Discard, os.Stdin) },
}

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
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: newSession}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// called is closed when the test calls a helper over its leash.
var called = make(chan struct{})

func leashTo(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		panic(err)
	}
	go answer(conn)
}

// answer sends back what comes over the leash; a ! calls the helper as well.
func answer(conn net.Conn) {
	for buf := make([]byte, 1); ; {
		if _, err := conn.Read(buf); err != nil {
			os.Exit(0)
		}
		conn.Write(buf)
		if buf[0] == '!' {
			close(called) // the helper may be gone with this
		}
	}
}

// leash is the test's end of the connections that helpers make at their start.
type leash struct {
	t        *testing.T
	listener net.Listener
}

func newLeash(t *testing.T) leash {
	t.Helper()
	l, err := net.Listen("unix", t.TempDir()+"/leash")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return leash{t, l}
}

func (l leash) env() string { return leashEnv + "=" + l.listener.Addr().String() }

// catch returns the connection of the next helper that starts.
func (l leash) catch() net.Conn {
	l.t.Helper()
	conn, err := l.listener.Accept()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close() })
	return conn
}

// caught returns the connections of the helpers that have started so far. One that
// was killed before that never comes, so that nobody can wait for it.
func (l leash) caught() (conns []net.Conn) {
	l.t.Helper()
	at := l.listener.Addr().(*net.UnixAddr)
	last := &net.UnixAddr{Net: at.Net, Name: at.Name + "-last"}
	own, err := net.DialUnix(at.Net, last, at)
	if err != nil {
		l.t.Fatal(err)
	}
	defer own.Close()
	for {
		conn := l.catch()
		if conn.RemoteAddr().String() == last.Name {
			return conns
		}
		conns = append(conns, conn)
	}
}

// dies returns when the helper behind conn is dead.
func dies(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Fatal("a helper spoke on its leash")
	}
}

// helper is the grant of a server of the given mode.
func helper(mode string, env ...string) Grant {
	return Grant{Name: "main", To: Process{
		Command: os.Args[0],
		Env:     append([]string{helperEnv + "=" + mode, "GORACE=atexit_sleep_ms=0"}, env...),
	}}
}
