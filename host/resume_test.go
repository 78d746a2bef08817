package host_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/plugins"
)

// resumeTrial is a session with a resumableServer, whose plugin lies in a file and traps when a
// call is cancelled.
type resumeTrial struct {
	*testing.T
	resumableServer *resumableServer
	host            *host.Host
	session         *host.Session
	entry           host.Server
	file            string
	heard           chan string // gets what the server tells
	trace           *traceText
	reconnect       config.Reconnect
}

// traceText is the trace of a host, as text.
type traceText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *traceText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *traceText) Close() error { return nil }

func (l *traceText) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// resumes counts the guests that were given what another had saved.
func (v *resumeTrial) resumes() int { return v.trace.count("event(RESUME") }

// connectResumable connects by a plugin that lies in a file. The session is one in which the
// server has told something, so that there is an event to go on from.
func connectResumable(t *testing.T, plugin []byte, change ...func(*host.Config, *host.Server)) *resumeTrial {
	t.Helper()
	v := &resumeTrial{
		T: t, resumableServer: newResumableServer(), heard: make(chan string, 16), trace: &traceText{},
		file: filepath.Join(t.TempDir(), "http.wasm"),
	}
	v.put(plugin)
	trace, err := trace.NewPrinter("abi", v.trace)
	if err != nil {
		t.Fatal(err)
	}
	c := host.Config{Files: pluginFile("http", v.file), Print: trace, Event: func(e host.Event) {
		if e.Method != "" {
			v.heard <- e.Method
		}
	}}
	v.entry = host.Server{Name: "resumableServer", URL: serve(t, v.resumableServer), Strategy: "http-only", Protocol: "legacy"}
	for _, f := range change {
		f(&c, &v.entry)
	}
	if c.Reconnect.Backoff == nil {
		c.Reconnect = onDemand
	}
	v.host, v.reconnect = newHost(t, c), c.Reconnect
	if err := v.host.Apply([]host.Server{v.entry}, c.Files, v.reconnect); err != nil {
		t.Fatal(err)
	}
	v.session = v.host.Session("resumableServer")
	if err := v.session.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.listens("")
	v.tells("one")
	return v
}

// put makes a plugin the one in the file.
func (v *resumeTrial) put(plugin []byte) {
	v.Helper()
	if err := errors.Join(os.WriteFile(v.file+".new", plugin, 0o600), os.Rename(v.file+".new", v.file)); err != nil {
		v.Fatal(err)
	}
}

// listens waits for a listener, who wants to go on after that event.
func (v *resumeTrial) listens(last string) {
	v.Helper()
	if got := <-v.resumableServer.listening; got != last {
		v.Errorf("it listens after event %q, want %q", got, last)
	}
}

// tells has the server tell something, and waits until it is heard.
func (v *resumeTrial) tells(text string) {
	v.Helper()
	v.resumableServer.tell(text)
	v.hears(text)
}

func (v *resumeTrial) hears(text string) {
	v.Helper()
	if got := <-v.heard; got != text {
		v.Errorf("heard %q, want %q", got, text)
	}
}

// wreck has the guest trap, and waits until the listening has ended. The call that it
// takes is one that its caller has left.
func (v *resumeTrial) wreck() {
	v.Helper()
	ctx, cancel := context.WithCancel(v.Context())
	over := make(chan error)
	go func() {
		_, err := v.session.CallTool(ctx, "mute", nil)
		over <- err
	}()
	<-v.resumableServer.called
	cancel()
	if err := <-over; !host.MaybeSent(err) {
		v.Errorf("a call in flight ended with %v", err)
	}
	<-v.resumableServer.parted
}

// handshakes wants so many, and so many guests that were told to end what they began.
func (v *resumeTrial) handshakes(greetings, farewells int) {
	v.Helper()
	if n := v.resumableServer.count("initialize"); n != greetings {
		v.Errorf("%d handshakes, want %d", n, greetings)
	}
	if n := v.trace.count("event(CLOSE"); n != farewells {
		v.Errorf("%d guests were told to end their session, want %d", n, farewells)
	}
}

// oneSession wants all messages but the first to be of one session, and each id to
// come once.
func (v *resumeTrial) oneSession() {
	v.Helper()
	all, _ := v.resumableServer.since(0)
	ids := make(map[string]bool)
	for _, a := range all {
		if a.method != "initialize" && (a.session != "s1" || a.version != "2025-11-25") {
			v.Errorf("%s %s is of session %q and version %q", a.verb, a.method, a.session, a.version)
		}
		if a.id != "" && ids[a.id] {
			v.Errorf("%s has the id %s, which was used before", a.method, a.id)
		}
		ids[a.id] = true
	}
}

// trapping returns the shipped plugin, but for a trap when a call is cancelled and for
// what it does about RESUME.
func trapping(resume ...byte) []byte {
	on := map[abi.Kind][]byte{abi.EventCancel: traps}
	if resume != nil {
		on[abi.EventResume] = resume
	}
	return rigged(plugins.Builtin()["http"](), on)
}

// newer is a plugin in another version: with a section that is not read.
func newer(plugin []byte) []byte { return append(bytes.Clone(plugin), 0, 2, 1, 'x') }

// A guest that traps between two calls is replaced by one that goes on with its
// session: there is no second handshake, and what the server told meanwhile is heard,
// also by a host that makes no call. What it was told before it knows.
func TestResume(t *testing.T) {
	v := connectResumable(t, trapping(), func(c *host.Config, _ *host.Server) { c.Reconnect = brisk })
	if err := v.session.SetLevel(t.Context(), mcp.LevelWarning); err != nil {
		t.Fatal(err)
	}
	v.wreck()
	v.resumableServer.tell("two")
	v.listens("1")
	v.hears("two")
	say(t, v.session)
	v.tells("three")
	v.handshakes(1, 0)
	if n := v.resumableServer.count("logging/setLevel"); n != 1 {
		t.Errorf("the level was set %d times", n)
	}
	v.oneSession()
	if n := v.resumes(); n != 1 {
		t.Errorf("%d guests were given a state", n)
	}
	if i := v.session.Info(); i.Server.Name != "resumableServer" || i.Protocol != "2025-11-25" || i.Transport != "http" {
		t.Errorf("after it the session knows %+v", i)
	}
	if err := v.session.Close(); err != nil {
		t.Error(err)
	}
	v.handshakes(1, 1)
}

// A server that has forgotten the session, in whatever words it says so, gets a fresh
// handshake, and the call that comes then its answer, once.
func TestResumeOfAForgottenSession(t *testing.T) {
	for _, unknown := range []int{404, 400} {
		v := connectResumable(t, trapping())
		v.wreck()
		v.resumableServer.unknown = unknown
		v.resumableServer.forget()
		say(t, v.session)
		v.handshakes(2, map[int]int{404: 0, 400: 1}[unknown])
		v.listens("")
		if n := v.resumes(); n != 1 {
			t.Errorf("%d guests were given a state", n)
		}
		if n := v.resumableServer.count("tools/call"); n != 2 {
			t.Errorf("%d calls arrived", n)
		}
	}
}

// A plugin that is replaced, by a reload, leaves its session to the new one, as often
// as that happens, and whether or not anything was saved in between; and a call in
// flight is answered before. A recording of that has no lost connection.
func TestResumeByANewPlugin(t *testing.T) {
	kept := &traceText{}
	recorder := trace.NewRecorder(kept)
	v := connectResumable(t, plugins.Builtin()["http"](), func(c *host.Config, _ *host.Server) { c.Trace = recorder })
	next := newer(plugins.Builtin()["http"]())
	for range 2 {
		v.put(next)
		next = newer(next)
		done := make(chan error, 1)
		go func() {
			_, err := v.session.CallTool(t.Context(), "gate", nil)
			done <- err
		}()
		<-v.resumableServer.called
		if err := v.host.Apply([]host.Server{v.entry}, pluginFile("http", v.file), v.reconnect); err != nil {
			t.Error(err)
		}
		v.resumableServer.let <- struct{}{}
		if err := <-done; err != nil {
			t.Errorf("the call in flight ended with %v", err)
		}
		<-v.resumableServer.parted
		v.listens("1")
	}
	say(t, v.session)
	v.tells("two")
	v.handshakes(1, 0)
	v.oneSession()
	if n := v.resumes(); n != 2 {
		t.Errorf("%d guests were given a state", n)
	}
	if err := errors.Join(v.host.Close(), recorder.Close()); err != nil {
		t.Error(err)
	}
	if lost, closed := kept.count(`"kind":"lost"`), kept.count(`"kind":"closed"`); lost != 0 || closed != 3 {
		t.Errorf("%d connections were lost, and %d closed", lost, closed)
	}
}

// Where what signs in is another as well, the session is not left to anybody: the server
// is told that it is over.
func TestNewProviderEndsTheSession(t *testing.T) {
	v := connectResumable(t, plugins.Builtin()["http"]())
	v.put(newer(plugins.Builtin()["http"]()))
	files := pluginFile("http", v.file)
	files["oauth"] = config.Plugin{Name: "oauth", Discover: true}
	if err := v.host.Apply([]host.Server{v.entry}, files, v.reconnect); err != nil {
		t.Error(err)
	}
	<-v.resumableServer.parted
	v.listens("")
	v.handshakes(2, 1)
}

// What was saved is not given to anybody where something about it is another, or
// where its user wished for an end. Then the first word to the server is a handshake.
func TestNotResumed(t *testing.T) {
	reload := func(change func(*host.Server)) func(*resumeTrial) {
		return func(v *resumeTrial) {
			change(&v.entry)
			if err := v.session.Reload(v.entry); err != nil {
				v.Error(err)
			}
		}
	}
	for name, turn := range map[string]func(*resumeTrial){
		"the same entry by hand": reload(func(*host.Server) {}),
		"other headers":          reload(func(s *host.Server) { s.Headers = map[string]string{"X-Key": "1"} }),
		"another timeout":        reload(func(s *host.Server) { s.Timeout = 1 << 40 }),
		"another account":        reload(func(s *host.Server) { s.Auth = config.Auth{Provider: config.AuthNone} }),
		"signed out":             func(v *resumeTrial) { v.host.Logout(v.Context(), v.entry) },
		"signed in":              func(v *resumeTrial) { v.host.Login(v.Context(), v.entry) },
		"disabled":               func(v *resumeTrial) { v.session.Disable(); v.session.Enable() },
	} {
		t.Run(name, func(t *testing.T) {
			v := connectResumable(t, trapping())
			v.wreck()
			_, before := v.resumableServer.since(0)
			turn(v)
			say(t, v.session)
			after, _ := v.resumableServer.since(before)
			if len(after) == 0 || after[0].method != "initialize" || v.resumes() != 0 {
				t.Errorf("%d guests were given a state; the server saw %+v", v.resumes(), after)
			}
			for _, a := range after {
				if a.session == "s1" {
					t.Errorf("%s %s is of the session before", a.verb, a.method)
				}
			}
		})
	}
}

// A plugin that says it cannot go on leaves nothing, although it has saved.
func TestGivingUpIsNotResumed(t *testing.T) {
	v := connectResumable(t, rigged(plugins.Builtin()["http"](), map[abi.Kind][]byte{abi.EventCancel: refuses}))
	v.wreck()
	say(t, v.session)
	v.handshakes(2, 0)
	if n := v.resumes(); n != 0 {
		t.Errorf("%d guests were given a state", n)
	}
}

// A guest that traps on what it is given, or that says it does not understand it, is
// followed by one that is given nothing. One that makes nothing of it and says nothing
// either is found out by the server.
func TestResumeThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		resume    []byte
		farewells int
	}{"traps": {traps, 0}, "refuses": {refuses, 0}, "ignores": {ignores, 1}} {
		t.Run(name, func(t *testing.T) {
			v := connectResumable(t, trapping(c.resume...))
			v.wreck()
			say(t, v.session)
			say(t, v.session)
			v.listens("")
			v.handshakes(2, c.farewells)
			if n := v.resumes(); n != 1 {
				t.Errorf("%d guests were given a state", n)
			}
		})
	}
}

// A guest that saved nothing before an accident leaves nothing: it may have tripped
// over what it was given.
func TestResumeOnce(t *testing.T) {
	v := connectResumable(t, trapping())
	for range 2 {
		v.wreck()
		say(t, v.session)
		<-v.resumableServer.listening
	}
	v.handshakes(2, 0)
	if n := v.resumes(); n != 1 {
		t.Errorf("%d guests were given a state", n)
	}
}

// What one plugin has saved is given to no other, whatever name the entry knows it by.
func TestResumeByAnotherPlugin(t *testing.T) {
	v := connectResumable(t, trapping())
	v.put(plugins.Builtin()["sse"]())
	v.wreck()
	_, before := v.resumableServer.since(0)
	if err := v.session.Ready(t.Context()); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("connected over a transport that the server has not: %v", err)
	}
	after, _ := v.resumableServer.since(before)
	for _, a := range after {
		if a.session != "" {
			t.Errorf("%s is of session %s", a.verb, a.session)
		}
	}
	if n := v.resumes(); n != 0 || len(after) == 0 {
		t.Errorf("%d guests were given a state; the server saw %+v", n, after)
	}
}

// The shipped plugin makes nothing of a state in which there is only garbage in place of
// the session.
func TestResumeFromGarbage(t *testing.T) {
	garbler := bytes.ReplaceAll(trapping(), []byte("session "), []byte("\xff\x00%s\r\n: "))
	if bytes.Equal(garbler, trapping()) {
		t.Fatal("the plugin saves its session in other words")
	}
	v := connectResumable(t, garbler)
	v.put(newer(plugins.Builtin()["http"]()))
	v.wreck()
	say(t, v.session)
	v.listens("")
	v.tells("two")
	v.handshakes(2, 1)
	if n := v.resumes(); n != 1 {
		t.Errorf("%d guests were given a state", n)
	}
}
