package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// A configuration that changes adds, drops and reloads what it is about, and
// nothing else: not a call in flight on another server.
func TestApply(t *testing.T) {
	gate := newGate()
	h := newHost(t, host.Config{Timeout: time.Hour, Reconnect: brisk})
	own := connect(t, h, server("modern"))
	kept := host.Server{Name: "kept", URL: serve(t, &site{tools: map[string]answer{"gate": gate.answer}})}
	changed, dropped := server("legacy"), server("modern")
	changed.Name, dropped.Name = "changed", "dropped"
	apply := func(files map[string]config.Plugin, servers ...host.Server) {
		t.Helper()
		if err := h.Apply(servers, files, brisk); err != nil {
			t.Error(err)
		}
	}
	apply(nil, kept, changed, dropped)
	if now := h.Session("kept").Status(); now.State != status.Disconnected {
		t.Errorf("started: %+v", now)
	}
	before := make(map[string]*host.Session)
	for _, name := range []string{"kept", "changed", "dropped"} {
		before[name] = h.Session(name)
		say(t, before[name])
	}
	gate.during(t, before["kept"], func() {
		changed.Env["NEW"] = "1"
		again := server("modern")
		again.Name = "changed"
		apply(nil, kept, again, server("sdk"))
		say(t, h.Session("changed"))
		say(t, h.Session("sdk"))
		say(t, own)
	})
	if h.Session("kept") != before["kept"] || h.Session("changed") != before["changed"] || h.Session("dropped") != nil {
		t.Error("sessions are others than before")
	}
	if now := before["changed"].Status(); now.Era != "modern" || now.Attempt != 1 {
		t.Errorf("the entry that changed is spoken to as before: %+v", now)
	}
	if _, err := before["dropped"].ListTools(t.Context()); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a server that was dropped: %v", err)
	}
	if err := h.Apply([]host.Server{kept, kept}, nil, brisk); !errors.Is(err, host.ErrConfig) || h.Session("sdk") == nil {
		t.Errorf("twice the same: %v", err)
	}
}

// A plugin that gets another file is taken from there by the servers that it
// carries.
func TestApplyPlugins(t *testing.T) {
	file := testenv.Plugin(t, socketPackage)
	entry := host.Server{Name: "loft", Transport: "pigeon", Address: listen(t, "tcp")}
	h := newHost(t, host.Config{Reconnect: brisk})
	if err := h.Apply([]host.Server{entry}, nil, brisk); err != nil {
		t.Error(err)
	}
	s := h.Session("loft")
	if err := s.Ready(t.Context()); !errors.Is(err, host.ErrUnknownTransport) {
		t.Error(err)
	}
	if err := h.Apply([]host.Server{entry}, pluginFile("pigeon", file), brisk); err != nil {
		t.Error(err)
	}
	say(t, s)
	pinned := map[string]config.Plugin{"pigeon": {Name: "pigeon", File: file, SHA256: hashOf(t, testenv.Plugin(t, hostilePackage))}}
	if err := h.Apply([]host.Server{entry}, pinned, brisk); err != nil {
		t.Error(err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, host.ErrDenied) {
		t.Error(err)
	}
}

// replaceFile puts a file in the place of the one that is there.
func replaceFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// edited is a module that does what another does, and has other bytes: there is
// another custom section at its end.
func edited(module []byte) []byte { return append(module[:len(module):len(module)], 0, 2, 1, 'x') }

// A plugin whose file is replaced carries the next connection, and those that it
// carries are made anew; a file that is no good changes nothing.
func TestApplyReplacedPlugin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pigeon.wasm")
	put := func(data []byte) { replaceFile(t, file, data) }
	good, err := os.ReadFile(testenv.Plugin(t, socketPackage))
	if err != nil {
		t.Fatal(err)
	}
	address, warned := listen(t, "tcp"), make(chan string, 64)
	h := newHost(t, host.Config{Reconnect: brisk, Event: func(e host.Event) { warned <- e.Warning }})
	entries := []host.Server{{Name: "loft", Transport: "pigeon", Address: address}}
	var since time.Time
	for what, step := range []struct {
		file  []byte
		again bool // it is connected anew
	}{
		{good, true},
		{[]byte("no plugin at all"), false},
		{edited(good), true},
	} {
		put(step.file)
		if err := h.Apply(entries, pluginFile("pigeon", file), brisk); err != nil {
			t.Error(err)
		}
		s := h.Session("loft")
		say(t, s)
		if now := s.Status(); !now.Since.Equal(since) != step.again {
			t.Errorf("%d: connected since %v, before since %v", what, now.Since, since)
		}
		since = s.Status().Since
	}
	if got := <-warned; !strings.Contains(got, "the new one is not used") {
		t.Errorf("warned: %s", got)
	}
}

// A provider whose file is replaced signs in anew, with the login that is saved; a
// file that is no good changes nothing, not even for servers that come later.
func TestApplyReplacedProvider(t *testing.T) {
	t.Parallel()
	file, good := filepath.Join(t.TempDir(), "oauth.wasm"), plugins.Builtin()["oauth"]()
	files := map[string]config.Plugin{"oauth": {Name: "oauth", File: file, Discover: true}}
	v, warned := &visitor{}, make(chan string, 64)
	h := newHost(t, host.Config{VaultDir: vaultDir(t), Person: &signin.Person{OpenURL: v.open}, Event: func(e host.Event) {
		if strings.HasPrefix(e.Warning, "plugin oauth: its file was replaced, and the new one is not used") {
			warned <- e.Warning
		}
	}})
	o := oauthtest.New(t.Cleanup)
	entries := []host.Server{newProtectedServer(t, o).entry("protectedServer")}
	other := newProtectedServer(t, o).entry("other")
	since := make(map[string]time.Time)
	for what, step := range []struct {
		file   []byte
		add    []host.Server
		refuse string // why the file is not used; "" is for one that is: what was connected is connected anew
	}{
		{good, nil, ""},
		{[]byte("no plugin at all"), []host.Server{other}, "is no auth provider"},
		{plugins.Builtin()["stdio"](), nil, "is no auth provider"},
		{edited(good), nil, ""},
		{good[:len(good)-1], nil, "are left"}, // in other words, which none that are said twice have
	} {
		replaceFile(t, file, step.file)
		entries = append(entries, step.add...)
		if err := h.Apply(entries, files, onDemand); err != nil {
			t.Error(err)
		}
		for _, entry := range entries {
			s := h.Session(entry.Name)
			say(t, s)
			before, known := since[entry.Name]
			if since[entry.Name] = s.Status().Since; known && since[entry.Name].Equal(before) == (step.refuse == "") {
				t.Errorf("%d: %s is connected since %v, before since %v", what, entry.Name, since[entry.Name], before)
			}
		}
		if step.refuse == "" {
			continue
		}
		if got := <-warned; !strings.Contains(got, step.refuse) { // one for each file, and in order
			t.Errorf("%d: warned: %s", what, got)
		}
	}
	stranger, err := os.ReadFile(testenv.Plugin(t, providerPackage))
	if err != nil {
		t.Fatal(err)
	}
	replaceFile(t, file, stranger) // which may not call whom it wants to
	if err := h.Apply(entries, files, onDemand); err != nil {
		t.Error(err)
	}
	if err := h.Session("protectedServer").Ready(t.Context()); err == nil || !strings.Contains(err.Error()+host.Hint(err), "sso.example") {
		t.Errorf("signed in by what was replaced: %v", err)
	}
	for _, entry := range entries {
		if pages := v.saw(entry.Name); len(pages) != 1 {
			t.Errorf("to sign in to %s, the person was shown %d pages", entry.Name, len(pages))
		}
	}
}

// A plugin that could not be loaded at first is taken when its file is good.
func TestApplyRepairedPlugin(t *testing.T) {
	good, err := os.ReadFile(testenv.Plugin(t, socketPackage))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pigeon.wasm")
	entries := []host.Server{{Name: "loft", Transport: "pigeon", Address: listen(t, "tcp")}}
	h := newHost(t, host.Config{})
	replaceFile(t, file, []byte("no plugin at all"))
	if err := h.Apply(entries, pluginFile("pigeon", file), onDemand); err != nil {
		t.Fatal(err)
	}
	s := h.Session("loft")
	if err := s.Ready(t.Context()); !errors.Is(err, host.ErrPluginRefused) {
		t.Error(err)
	}
	replaceFile(t, file, good)
	if err := h.Apply(entries, pluginFile("pigeon", file), onDemand); err != nil {
		t.Error(err)
	}
	say(t, s)
}

// A server that its user has closed is one that is not there: the configuration
// brings it back.
func TestApplyAfterClose(t *testing.T) {
	h := newHost(t, host.Config{})
	entries := []host.Server{server("modern")}
	if err := h.Apply(entries, nil, onDemand); err != nil {
		t.Fatal(err)
	}
	h.Session("modern").Close()
	if h.Session("modern") != nil {
		t.Error("a closed session is still there")
	}
	if err := h.Apply(entries, nil, onDemand); err != nil {
		t.Fatal(err)
	}
	s := h.Session("modern")
	if s == nil {
		t.Fatal("it did not come back")
	}
	say(t, s)
}

// Signs of life that are asked for in another rhythm end no connection, and a policy that
// changes holds for the next failure, also of servers that are added later.
func TestApplyTunes(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	w := watch(t, h)
	entry := server("deaf")
	if err := h.Apply([]host.Server{entry}, nil, onDemand); err != nil {
		t.Fatal(err)
	}
	h.Session("deaf").Start()
	before := until(t, w, "deaf", status.Connected)
	entry.Ping, entry.PingTimeout = 20*time.Millisecond, 20*time.Millisecond
	if err := h.Apply([]host.Server{entry}, nil, brisk); err != nil {
		t.Fatal(err)
	}
	n := until(t, w, "deaf", status.Reconnecting)
	if n.Reason != status.Lost || n.ID != before.ID || n.Attempt != before.Attempt || !strings.Contains(n.Err.Error(), "no sign of life for ") {
		t.Errorf("%+v", n)
	}
	until(t, w, "deaf", status.Connected)
	add(t, h, server("exits")).Start() // which was not there yet
	if n := until(t, w, "exits", status.Failed); n.Attempt != len(brisk.Backoff)+1 {
		t.Errorf("a server that came later: %+v", n)
	}
}
