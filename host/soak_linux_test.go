package host_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// soaking is what make soak asks for.
var soaking = flag.Duration("soak", 0, "let a host with 50 servers and hostile neighbours work for so long")

// websocketPackage is an example of a transport, in Go.
const websocketPackage = "../examples/transport-websocket"

// soakServers are the servers of a soak, without those that want a sign-in. The
// network is that of their serverProxy; "" is stdio.
var soakServers = []struct {
	name, kind, network string
	count               int // in a long soak; one in a short one
	edit                func(e *host.Server, b *serverProxy)
}{
	{"stdio", "log server", "", 8, func(*host.Server, *serverProxy) {}},
	{"old-stdio", "old log server", "", 6, func(*host.Server, *serverProxy) {}},
	{"isolated", "log server", "", 4, func(e *host.Server, _ *serverProxy) { e.Transport = "isolated" }},
	{"http", "log server over TCP", "tcp", 8, func(*host.Server, *serverProxy) {}},
	{"old-http", "old log server over TCP", "tcp", 6, func(*host.Server, *serverProxy) {}},
	{"sse", "sse server", "tcp", 4, func(*host.Server, *serverProxy) {}},
	{"unix", "socket server", "unix", 4, func(e *host.Server, b *serverProxy) {
		e.Transport, e.URL, e.Address = "socket", "", "unix:"+b.listener.Addr().String()
	}},
	{"memory", "socket server", "tcp", 4, func(e *host.Server, _ *serverProxy) {
		e.Transport, e.URL, e.Address = "socket", "", "memory:"+e.Name
	}},
	{"websocket", "websocket server", "tcp", 4, func(e *host.Server, b *serverProxy) {
		e.Transport, e.URL = "websocket", "ws"+strings.TrimPrefix(b.url, "http")
	}},
}

// soakSize is how many servers a soak has, and what it does in each round.
type soakSize struct {
	each, guarded  int // servers of a row of soakServers at most, and servers that want a sign-in
	crew, calls    int // callers of each server, and calls of all of them
	losses         map[loss]int
	attacks, lapse int // hostile modules, and as many misdeeds; rounds from one sign-in to the next
}

var (
	shortSoak = soakSize{1, 1, 2, 200, map[loss]int{loseServer: 2, loseSocket: 2}, 3, 2}
	longSoak  = soakSize{8, 2, 2, 2000, map[loss]int{loseServer: 8, loseSocket: 8}, 16, 5}
)

// shortRounds is how long a soak is at least.
const shortRounds = 2

// soak is a lossTrial in rounds. Callers and disturbances work during a round; what is
// kept and open is counted between rounds.
type soak struct {
	soakSize
	lossTrial
	host      *host.Host
	entries   []host.Server
	files     map[string]config.Plugin
	socket    []byte // the module that is replaced
	all       []attack
	address   string // of a server for hostile modules
	bad       string // the url of a hostile server
	issuers   []*issuer
	temp      string // where temporary files go
	samples   []sample
	tally     struct{ losses, reloads, refreshes, logins, attacks, misdeeds int } // each with one writer
	reconnect config.Reconnect
}

// TestSoak has one host work with servers of all transports, while servers, workers
// and connections are lost, entries and a plugin change, tokens expire, and hostile
// modules and servers come and go. Each call ends once, what the host keeps does not
// grow, and nothing is left of it in the end.
func TestSoak(t *testing.T) {
	s := &soak{soakSize: shortSoak, all: corpus()}
	s.marker, s.how = "WHARF_TEST_VOYAGE="+t.TempDir(), make([]outcome, 100_000)
	cache := testenv.CodeDir()
	if *soaking > 0 {
		s.soakSize, cache = longSoak, filepath.Join(t.TempDir(), "cache")
		s.how = make([]outcome, 20_000*int(1+*soaking/time.Second))
		clear(s.how) // so that all of it is resident from the beginning
	}
	websocket := testenv.Plugin(t, websocketPackage)
	s.temp = t.TempDir()
	t.Setenv("TMPDIR", s.temp)
	others, files := goleak.IgnoreCurrent(), openFiles(t)
	t.Run("rounds", func(t *testing.T) {
		s.setUp(t, websocket, cache)
		least, began := shortRounds, time.Now()
		if testenv.Long() {
			least *= 2
		}
		for n := 1; !t.Failed() && (n <= least || time.Since(began) < *soaking); n++ {
			s.round(t, n)
		}
		took := time.Since(began)
		ends := s.end(t, s.host)
		t.Logf("%d servers, %d rounds, %v: calls %v, %+v", len(s.entries), len(s.samples), took.Round(time.Second), ends, s.tally)
		for f, figure := range figures {
			t.Logf("%-20s %s", figure.name, s.curve(f))
		}
		if *soaking > 0 {
			for _, grown := range leaks(s.samples) {
				t.Error(grown)
			}
			s.write(t, took, ends)
		}
	})
	if err := leftBehind(others); err != nil {
		t.Error(err)
	}
	if left := openFiles(t); len(left) > len(files) {
		t.Errorf("open are %q, before there were %q", left, files)
	}
	if left := s.processes(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left := filesIn(t, s.temp); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
}

// setUp starts the servers that are not started by the host, and the host.
func (s *soak) setUp(t *testing.T, websocket, cache string) {
	streams := map[string]func(context.Context) (io.ReadWriteCloser, error){}
	for _, b := range soakServers {
		for n := range min(b.count, s.each) {
			server, entry := s.lossTrial.prepare(t, b.kind, b.network)
			entry.Name = fmt.Sprintf("%s-%d", b.name, n)
			b.edit(&entry, server.serverProxy)
			streams[entry.Name] = func(ctx context.Context) (io.ReadWriteCloser, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", server.serverProxy.listener.Addr().String())
			}
			s.servers, s.entries = append(s.servers, server), append(s.entries, entry)
		}
	}
	for n := range s.guarded {
		i := newIssuer(t)
		entry := stormy(i.url, "soak")
		entry.Name = fmt.Sprintf("guarded-%d", n)
		s.issuers, s.entries = append(s.issuers, i), append(s.entries, entry)
	}
	answers := map[string]answer{}
	for name, m := range misdeeds {
		answers[name] = m.answer
	}
	s.bad, s.address = serve(t, &site{tools: answers}), listen(t, "unix")
	s.socket = readModule(t, socketFile)
	s.files = corpusFiles(t, s.all)
	maps.Copy(s.files, pluginFile("websocket", websocket))
	maps.Copy(s.files, pluginFile("socket", filepath.Join(t.TempDir(), "socket.wasm")))
	s.files["isolated"] = config.Plugin{Name: "isolated", File: "../plugins/stdio/stdio.wasm", Isolation: config.IsolationProcess}
	soon := []time.Duration{time.Millisecond}
	s.reconnect = config.Reconnect{Backoff: soon, Slow: soon[0], SlowMax: soon[0], Failures: -1}
	s.host = newHost(t, host.Config{
		Files: s.files, CacheDir: cache, VaultDir: vaultDir(t), Worker: workerCommand(t), Streams: streams, Person: &signin.Person{OpenURL: visit},
		Timeout: 2 * time.Minute, StartTimeout: time.Minute, // of a busy machine
		Reconnect: s.reconnect,
	})
	s.apply(t, 0, s.entries)
	for n, server := range s.servers {
		server.Session = s.host.Session(s.entries[n].Name)
	}
}

// round has the crews call while the host is disturbed, and counts what there is when
// each server has answered again.
func (s *soak) round(t *testing.T, n int) {
	s.lossSchedule = newLossSchedule(s.calls, s.losses)
	s.loseWorker(t, n)
	var all sync.WaitGroup
	s.start(t, &all, s.crew)
	for _, disturb := range []func(*testing.T, int){s.reload, s.signIn, s.strike, s.misbehave} {
		all.Go(func() { disturb(t, n) })
	}
	all.Wait()
	s.tally.losses += s.total
	for _, server := range s.servers {
		for !t.Failed() && s.call(t, server) != done {
		}
	}
	s.samples = append(s.samples, s.measure(t))
}

// loseWorker kills a process that runs a plugin. Between rounds no worker compiles, and
// killing one that does would refuse a plugin.
func (s *soak) loseWorker(t *testing.T, n int) {
	if running := workers(t); len(running) > 0 && syscall.Kill(running[n%len(running)], syscall.SIGKILL) == nil {
		s.tally.losses++
	}
}

// reload changes entries of each kind, adds or drops one, and replaces a plugin.
func (s *soak) reload(t *testing.T, n int) {
	entries := slices.Clone(s.entries)
	for i := n % 4; i < len(entries); i += 4 {
		e := &entries[i]
		switch {
		case e.Command != "":
			e.Env = maps.Clone(e.Env)
			e.Env["ROUND"] = strconv.Itoa(n)
		case e.Auth.Provider == config.AuthNone:
			e.Headers = map[string]string{"X-Round": strconv.Itoa(n)}
		}
	}
	if n%2 == 0 {
		extra := server("sdk")
		extra.Name = "extra"
		s.mark(extra)
		entries = append(entries, extra)
	}
	s.apply(t, n, entries)
	if extra := s.host.Session("extra"); extra != nil {
		say(t, extra)
	}
	s.entries = entries[:len(s.entries)]
}

// apply has the host use these entries, and a version of the plugin that it has not
// seen before.
func (s *soak) apply(t *testing.T, version int, entries []host.Server) {
	other := section(0, code(named("version"), num(int32(version))))
	replaceFile(t, s.files["socket"].File, slices.Concat(s.socket, other))
	if err := s.host.Apply(entries, s.files, s.reconnect); err != nil {
		t.Error(err)
	}
	s.tally.reloads++
}

// signIn has the tokens of the guarded servers expire, and now and then a person sign
// in anew. A refresh token is redeemed once for all calls that wait for it.
func (s *soak) signIn(t *testing.T, n int) {
	for i, issuer := range s.issuers {
		entry := stormy(issuer.url, "soak")
		entry.Name = fmt.Sprintf("guarded-%d", i)
		session := s.host.Session(entry.Name)
		if n%s.lapse == 0 {
			if err := s.host.Login(t.Context(), entry); err != nil {
				t.Error(err)
			}
			s.tally.logins++
		}
		say(t, session)
		issuer.read()
		issuer.expire()
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { say(t, session) })
		}
		calls.Wait()
		if l := issuer.read(); len(l.redeemed) != 1 || len(l.reused) != 0 {
			t.Errorf("%s: redeemed %d times, reused by %q", entry.Name, len(l.redeemed), l.reused)
		}
		s.tally.refreshes++
	}
}

// strike connects over hostile modules, in turn. Each ends as it should.
func (s *soak) strike(t *testing.T, n int) {
	for i := range s.attacks {
		at := (n*s.attacks + i) % len(s.all)
		a := s.all[at]
		if err := strike(t.Context(), s.host, hostileEntry(at, a, s.address)); !a.ends.known(err) {
			t.Errorf("%s: ended with %v, want %s", a.name, err, a.ends.kind)
		}
		s.tally.attacks++
	}
}

// misbehave calls hostile servers, over HTTP and stdio. How those calls end is for
// other tests to say.
func (s *soak) misbehave(t *testing.T, n int) {
	names := slices.Sorted(maps.Keys(misdeeds))
	for i := range s.attacks {
		s.callHostile(t, host.Server{Name: "bad site", URL: s.bad, Protocol: "2026-07-28"}, names[(n*s.attacks+i)%len(names)])
	}
	kind := []string{"exits", "silent", "deaf", "shy", "endless", "modern"}[n%6]
	entry := server(kind)
	s.mark(entry)
	s.callHostile(t, entry, "dies")
}

// callHostile connects, calls and does not wait long.
func (s *soak) callHostile(t *testing.T, entry host.Server, tool string) {
	s.tally.misdeeds++
	ctx, cancel := context.WithTimeout(t.Context(), 10*short)
	defer cancel()
	bad, err := s.host.Connect(ctx, entry)
	if err != nil {
		return
	}
	ctx, cancel = context.WithTimeout(t.Context(), short)
	defer cancel()
	bad.CallTool(ctx, tool, nil)
	bad.Close()
}

// processes are those of servers and workers.
func (s *soak) processes(t *testing.T) []int {
	return append(processesWith(t, s.marker), workers(t)...)
}

// filesIn are the files below a folder.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return names
}
