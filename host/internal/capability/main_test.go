//go:build unix

package capability

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
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

// quick has graces that let no end take long.
func quick(grants ...Grant) Config {
	return Config{
		Grants: grants,
		Grace:  Grace{Stdin: 20 * time.Millisecond, Term: 20 * time.Millisecond, Exit: 20 * time.Millisecond, Kill: 20 * time.Millisecond},
		Limits: Limits{Stall: time.Hour},
	}
}

// patient has graces that a test does not live to see the end of.
func patient(grants ...Grant) Config {
	return Config{
		Grants: grants,
		Grace:  Grace{Stdin: time.Hour, Term: time.Hour, Exit: time.Hour, Kill: time.Hour},
		Limits: Limits{Stall: time.Hour},
	}
}

func newTestTable(t testing.TB, c Config) *Table {
	t.Helper()
	table := NewTable(c)
	t.Cleanup(func() { closeTable(t, table) })
	return table
}

// closeTable closes a table and waits until nothing is left of it. On a busy
// machine a table with quick graces may report that it took longer than they.
func closeTable(t testing.TB, table *Table) {
	t.Helper()
	err := table.Close(context.Background())
	if err != nil && table.grace.total() > time.Minute {
		t.Error(err)
	}
	<-table.empty
	table.teed.Wait()
}

// open opens the grant main, and fails the test if it is refused.
func open(t *testing.T, table *Table, kind abi.OpenKind, sink hostio.Sink) hostio.Stream {
	t.Helper()
	s, status, err := table.Open(kind, request("main", abi.Essential), sink)
	if err != nil || status != abi.OK {
		t.Fatalf("open: %v, %v", status, err)
	}
	return s
}

func request(grant string, flags uint32) *abi.OpenRequest {
	return &abi.OpenRequest{Grant: grant, Flags: flags}
}

// recorder is a hostio.Sink that writes down what it hears. The order is kept as
// words: opened, data, end, exit, error.
type recorder struct {
	mu      sync.Mutex
	changed sync.Cond
	inCall  bool
	words   []string
	data    []byte
	code    int
	detail  string
	status  abi.Status
	err     error
	drained int
	head    int           // the status of the response
	headers []abi.Pair    // of the response
	length  int64         // what its head announces
	last    bool          // said with a head or data
	holdAt  string        // the call that waits
	hold    chan struct{} // until this is closed
}

func newRecorder() *recorder {
	r := &recorder{hold: make(chan struct{})}
	r.changed.L = &r.mu
	return r
}

func (r *recorder) hear(word string, note func()) {
	r.enter(word)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inCall = false
	if note != nil {
		note()
	}
	if word != "data" || len(r.words) == 0 || r.words[len(r.words)-1] != "data" {
		r.words = append(r.words, word)
	}
	r.changed.Broadcast()
}

func (r *recorder) enter(word string) {
	r.mu.Lock()
	if r.inCall {
		panic("two calls of one sink at a time")
	}
	r.inCall = true
	r.changed.Broadcast()
	r.mu.Unlock()
	if word == r.holdAt {
		<-r.hold
	}
}

func (r *recorder) Opened() { r.hear("opened", nil) }
func (r *recorder) Sealed(blob []byte) {
	r.hear("sealed", func() { r.data = append(r.data, blob...) })
}
func (r *recorder) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	r.hear("head", func() {
		r.head, r.headers, r.length, r.last = status, headers, length, last
		r.data = append(r.data, body...)
	})
}
func (r *recorder) Data(p []byte, last bool) {
	r.hear("data", func() {
		r.data, r.last = append(r.data, p...), last
	})
}
func (r *recorder) End()     { r.hear("end", nil) }
func (r *recorder) Drained() { r.hear("drained", func() { r.drained++ }) }
func (r *recorder) Exit(code int, detail string) {
	r.hear("exit", func() { r.code, r.detail = code, detail })
}
func (r *recorder) Error(status abi.Status, err error) {
	r.hear("error", func() { r.status, r.err = status, err })
}

// until waits for a condition, which may look at the recorder.
func (r *recorder) until(ok func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ok() {
		r.changed.Wait()
	}
}

// untilWord waits until the sink has heard word.
func (r *recorder) untilWord(word string) { r.until(func() bool { return r.heard(word) }) }

// untilData waits until the data is as long as n.
func (r *recorder) untilData(n int) { r.until(func() bool { return len(r.data) >= n }) }

// untilLast waits until the sink has heard its last call.
func (r *recorder) untilLast() {
	r.until(func() bool { return r.heard("exit") || r.heard("error") })
}

func (r *recorder) heard(word string) bool {
	for _, w := range r.words {
		if w == word {
			return true
		}
	}
	return false
}

// order is what was heard, in words.
func (r *recorder) order() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.words, " ")
}

func wantOrder(t *testing.T, r *recorder, want string) {
	t.Helper()
	if got := r.order(); got != want {
		t.Errorf("the sink heard %q, want %q (error: %v)", got, want, r.err)
	}
}
