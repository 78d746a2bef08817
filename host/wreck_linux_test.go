package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// wrecks is what make wreck asks for.
var wrecks = flag.Bool("wreck", false, "kill as many servers, guests and sockets as one should, which takes minutes")

// TestWreck kills servers, guests and sockets while many callers are at work. Each
// call ends once, with its own answer or with an error that is true: what was not
// sent was never run, what was answered was run once, and nothing was run twice. In
// the end nothing is left of all that.
func TestWreck(t *testing.T) {
	calls, each, losses := 1_000, 4, map[loss]int{loseServer: 8, loseGuest: 3, loseSocket: 3}
	switch {
	case *wrecks:
		calls, each, losses = 100_000, 8, map[loss]int{loseServer: 1000, loseGuest: 200, loseSocket: 100}
	case testenv.Long():
		calls, losses = 3_000, map[loss]int{loseServer: 24, loseGuest: 6, loseSocket: 6}
	}
	built := fragile(t)
	others, files := goleak.IgnoreCurrent(), openFiles(t)
	v := &lossTrial{marker: "WHARF_TEST_VOYAGE=" + t.TempDir(), lossSchedule: newLossSchedule(calls, losses), how: make([]outcome, 4*calls)}
	v.run(t, built, each)
	if err := leftBehind(others); err != nil {
		t.Error(err)
	}
	if left := openFiles(t); len(left) > len(files) {
		t.Errorf("open are %q, before there were %q", left, files)
	}
	if left := processesWith(t, v.marker); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// leftBehind is goleak.Find for goroutines that are not waited for, such as those of an
// idle HTTP connection that was closed: each look gives them half a second.
func leftBehind(others goleak.Option) (err error) {
	for range 20 {
		if err = goleak.Find(others); err == nil {
			return nil
		}
	}
	return err
}

// loss is what is lost.
type loss int

const (
	loseServer loss = iota // its process, by SIGKILL
	loseGuest              // the transport in its sandbox, by a trap
	loseSocket             // a connection, by a reset
)

func (l loss) String() string { return [...]string{"servers", "guests", "sockets"}[l] }

// lossSchedule is what is to be lost, in a random order, and when.
type lossSchedule struct {
	mu    sync.Mutex
	calls int // that there are to be
	ended int // so far
	due   []loss
	taken int // of those that were due and are not settled

	settled sync.Cond
	total   int // of what is to be lost
}

func newLossSchedule(calls int, losses map[loss]int) *lossSchedule {
	f := &lossSchedule{calls: calls}
	f.settled.L = &f.mu
	for what, n := range losses {
		f.due = append(f.due, slices.Repeat([]loss{what}, n)...)
	}
	rand.Shuffle(len(f.due), func(i, j int) { f.due[i], f.due[j] = f.due[j], f.due[i] })
	f.total = len(f.due)
	return f
}

// fulfilled reports whether there were all the calls and all the losses. It waits for
// the last losses: one that could not be dealt is due again, and not every caller has
// what is to be lost.
func (f *lossSchedule) fulfilled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.ended >= f.calls && len(f.due) == 0 && f.taken > 0 {
		f.settled.Wait()
	}
	return f.ended >= f.calls && len(f.due) == 0
}

// turn counts a call, and returns what is to be lost now, if anything is, which is to
// be settled. It spreads the losses evenly over the calls.
func (f *lossSchedule) turn() (what loss, early, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended++
	dealt := f.total - len(f.due)
	if len(f.due) == 0 || f.ended*f.total < f.calls*(dealt+1) {
		return 0, false, false
	}
	what, f.due = f.due[0], f.due[1:]
	f.taken++
	return what, dealt == f.total/5, true
}

// settle ends what turn began. What could not be lost is due again.
func (f *lossSchedule) settle(what loss, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.settled.Broadcast()
	f.taken--
	if !lost {
		f.due = append(f.due, what)
	}
}

// outcome is how a call ended.
type outcome byte

const (
	never outcome = iota // it was not made
	done
	notSent
	unknown // whether it was run
)

func (o outcome) String() string {
	return [...]string{"never made", "answered", "not sent", "unknown"}[o]
}

// lossTrial is servers that are lost while callers use them.
type lossTrial struct {
	*lossSchedule
	marker  string // in the environment of every process
	servers []*lostServer
	next    atomic.Int64 // number of a call
	how     []outcome    // calls ended, by their numbers
	early   atomic.Int64 // memory when a fifth of all was lost, in bytes
}

// lostServer is one server as its callers see it.
type lostServer struct {
	*host.Session
	log         string       // what its processes wrote down
	serverProxy *serverProxy // nil over stdio
	process     atomic.Int64 // that answered last; 0 since it was killed
}

// run is the whole lossTrial.
func (v *lossTrial) run(t *testing.T, built map[string]func() []byte, each int) {
	soon := []time.Duration{time.Millisecond}
	h := newHost(t, host.Config{
		Plugins:   built,
		Reconnect: config.Reconnect{Backoff: soon, Slow: soon[0], SlowMax: soon[0], Failures: -1},
	})
	for kind, overTCP := range logServers {
		v.servers = append(v.servers, v.connect(t, h, kind, overTCP))
	}
	began := time.Now()
	var callers sync.WaitGroup
	v.start(t, &callers, each)
	callers.Wait()
	took := time.Since(began)
	v.checkMemory(t)
	t.Logf("%v calls in %v, and %d losses", v.end(t, h), took.Round(time.Millisecond), v.total)
}

// start sets so many callers to work on each server.
func (v *lossTrial) start(t *testing.T, callers *sync.WaitGroup, each int) {
	for _, s := range v.servers {
		for range each {
			callers.Go(func() { v.work(t, s) })
		}
	}
}

// end closes the host and stops the servers, and returns what checkLogs counts.
func (v *lossTrial) end(t *testing.T, h *host.Host) map[string]int {
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	for _, s := range v.servers {
		if s.serverProxy != nil {
			s.serverProxy.close()
		}
	}
	return v.checkLogs(t)
}

// logServers are the servers of a lossTrial, and whether they are reached over TCP.
var logServers = map[string]bool{"log server": false, "old log server": false, "log server over TCP": true, "old log server over TCP": true}

// connect connects to a server of that kind.
func (v *lossTrial) connect(t *testing.T, h *host.Host, kind string, overTCP bool) *lostServer {
	t.Helper()
	network := ""
	if overTCP {
		network = "tcp"
	}
	s, entry := v.prepare(t, kind, network)
	s.Session = connect(t, h, entry)
	return s
}

// prepare returns a server of that kind, which is reached over a network or else over
// stdio, and its entry.
func (v *lossTrial) prepare(t *testing.T, kind, network string) (*lostServer, host.Server) {
	t.Helper()
	s := &lostServer{log: filepath.Join(t.TempDir(), "log")}
	entry := server(kind)
	if network != "" {
		s.serverProxy = newServerProxy(t, network, kind, s.log, v.marker)
		entry = host.Server{Name: kind, URL: s.serverProxy.url, Auth: config.Auth{Provider: config.AuthNone}}
	} else {
		v.mark(entry)
		entry.Env[logVariable] = s.log
	}
	return s, entry
}

// mark has the processes of an entry over stdio be counted as the lossTrial's.
func (v *lossTrial) mark(entry host.Server) {
	name, value, _ := strings.Cut(v.marker, "=")
	entry.Env[name] = value
}

// work is what one of a each does: it calls, and now and then it is the one who
// has to lose something.
func (v *lossTrial) work(t *testing.T, s *lostServer) {
	for !v.fulfilled() && !t.Failed() {
		v.call(t, s)
		what, early, ok := v.turn()
		if early {
			v.early.CompareAndSwap(0, savedLists(t))
		}
		if ok {
			v.settle(what, s.lose(t, what, v.marker))
		}
	}
}

// call makes the next call, and returns how it ended.
func (v *lossTrial) call(t *testing.T, s *lostServer) outcome {
	n := v.next.Add(1)
	if int(n) >= len(v.how) {
		_, err := s.ListTools(t.Context())
		t.Errorf("most calls fail, and listing the tools of %s ends with: %v", s.Name(), err)
		return never
	}
	v.how[n] = s.enter(t, n)
	return v.how[n]
}

// enter has the server write a number down.
func (s *lostServer) enter(t *testing.T, n int64) outcome {
	number := strconv.FormatInt(n, 10)
	r, err := s.CallTool(t.Context(), "enter", map[string]any{"message": number})
	switch {
	case errors.Is(err, host.ErrNotSent):
		return notSent
	case errors.Is(err, host.ErrTimeout):
		t.Errorf("%s: %v", s.Name(), err)
		fallthrough
	case err != nil:
		return unknown
	}
	told, process, _ := strings.Cut(r.Content[0].Text, " ")
	id, err := strconv.ParseInt(process, 10, 64)
	if err != nil || told != number {
		t.Errorf("%s: call %d was answered with %q", s.Name(), n, r.Content[0].Text)
	}
	s.process.Store(id)
	return done
}

// lose reports whether there was something of the kind to be lost.
func (s *lostServer) lose(t *testing.T, what loss, marker string) bool {
	switch what {
	case loseServer:
		id := int(s.process.Swap(0))
		return id != 0 && carries(id, marker) && syscall.Kill(id, syscall.SIGKILL) == nil
	case loseGuest:
		_, err := s.CallTool(t.Context(), "scuttle", nil)
		var broken *host.PluginError
		return errors.As(err, &broken)
	}
	return s.serverProxy != nil && s.serverProxy.cut()
}

// checkLogs holds what callers were told against what servers wrote down, and
// returns how many calls ended how.
func (v *lossTrial) checkLogs(t *testing.T) map[string]int {
	ran := make([]int, v.next.Load()+1)
	for _, s := range v.servers {
		text, err := os.ReadFile(s.log)
		if err != nil {
			t.Error(err)
		}
		for number := range strings.Lines(string(text)) {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				t.Errorf("%s wrote %q", s.Name(), number)
				continue
			}
			ran[n]++
		}
	}
	count := make(map[string]int)
	for n, how := range v.how[:min(int(v.next.Load())+1, len(v.how))] {
		if n == 0 {
			continue
		}
		count[how.String()]++
		if ran[n] > 1 || how == done && ran[n] != 1 || (how == notSent || how == never) && ran[n] != 0 {
			t.Errorf("call %d was %v and was run %d times", n, how, ran[n])
		}
	}
	return count
}

// checkMemory compares the memory of now with that of early on. It is said of the
// long lossTrial only: in a short one there is more noise than there could be loss.
func (v *lossTrial) checkMemory(t *testing.T) {
	if !*wrecks {
		return
	}
	const slack = 8 << 20
	early, now := v.early.Load(), savedLists(t)
	t.Logf("memory: %d MiB early, %d MiB in the end", early>>20, now>>20)
	if now-early > max(slack, early/10) {
		t.Errorf("memory grew from %d to %d MiB", early>>20, now>>20)
	}
}

// savedLists returns what is resident of this process, in bytes.
func savedLists(t *testing.T) int64 {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// openFiles returns what the descriptors of this process lead to.
func openFiles(t *testing.T) (to []string) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, err := os.Readlink(filepath.Join("/proc/self/fd", f.Name())); err == nil {
			to = append(to, name)
		}
	}
	return to
}

// processesWith returns the processes that have a variable in their environment.
func processesWith(t *testing.T, variable string) (ids []int) {
	t.Helper()
	all, err := fs.Glob(os.DirFS("/proc"), "[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if id, _ := strconv.Atoi(name); carries(id, variable) {
			ids = append(ids, id)
		}
	}
	return ids
}

func carries(process int, variable string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", process))
	return err == nil && bytes.Contains(environ, []byte(variable+"\x00"))
}

// fragile returns the plugins with transports that break at a call of scuttle,
// and are the shipped ones otherwise.
func fragile(t *testing.T) map[string]func() []byte {
	t.Helper()
	all := plugins.Builtin()
	for name, pkg := range map[string]string{"stdio": "../examples/transport-stdio", "http": "../examples/transport-http"} {
		module := buildFragile(t, filepath.FromSlash(pkg))
		all[name] = func() []byte { return module }
	}
	return all
}

const (
	registered = "&transport{}"
	scuttled   = `package main

import (
	"bytes"

	"github.com/wharf-mcp/wharf/sdk"
)

type fragile struct {
	*transport
	head []byte
}

func (f *fragile) Message(m sdk.Message) (sdk.Outcome, error) {
	if bytes.Contains(f.head[:m.Take(f.head)], []byte("\"scuttle\"")) {
		panic("scuttled")
	}
	return f.transport.Message(m)
}
`
)

// buildFragile builds a transport with other code in one place.
func buildFragile(t *testing.T, pkg string) []byte {
	t.Helper()
	pkg, err := filepath.Abs(pkg)
	if err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile(filepath.Join(pkg, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(main, []byte(registered)) {
		t.Fatalf("%s does not register %s", pkg, registered)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(pkg, "main.go"): write("main.go", bytes.Replace(main, []byte(registered),
			[]byte("&fragile{"+registered+", make([]byte, 512)}"), 1)),
		filepath.Join(pkg, "fragile.go"): write("fragile.go", []byte(scuttled)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "plugin.wasm")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w",
		"-overlay", write("overlay.json", overlay), "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	binary, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
