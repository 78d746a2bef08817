package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// What a server has listed is known in the next run before it is started, byte for byte, and
// stale until it is connected: then a host that stays asks again by itself.
func TestKnownFromAnEarlierRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "catalogue")
	entry := server("legacy")
	entry.DisabledTools = []string{"echo"}
	first := newHost(t, host.Config{CatalogueDir: dir})
	s := connect(t, first, entry)
	if k := s.Known(); !k.Tools.At.IsZero() || k.Tools.Stale || k.Tools.Items != nil {
		t.Errorf("known at first: %+v", k)
	}
	list, err := s.ListTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if k := s.Known().Tools; k.Stale || k.At.IsZero() || len(k.Items) != len(list) {
		t.Errorf("after the list: %d tools, stale %t", len(k.Items), k.Stale)
	}
	const handshake = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}` // as serveConn writes it
	now := s.Snapshot()
	if now == nil || string(now.Info.Raw) != handshake || string(now.Info.ServerInfo()) != `{"name":"raw","version":"1"}` || len(now.Lists) != 1 {
		t.Fatalf("a snapshot has %+v", now)
	}
	first.Close()

	kept, err := catalogue.Open(dir).Load(catalogue.KeyOf(entry))
	if err != nil {
		t.Fatal(err)
	}
	written := make([]string, 0, len(tools))
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		written = append(written, fmt.Sprintf(`{"name":%q,"inputSchema":{}}`, name)) // as serveConn writes it
	}
	if got, want := string(kept.Lists[catalogue.Tools].Items), "["+strings.Join(written, ",")+"]"; got != want {
		t.Errorf("kept is %s; want %s", got, want)
	}

	second, err := host.New(t.Context(), host.Config{CatalogueDir: dir, Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), Ping: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	w := watch(t, second)
	s = add(t, second, entry)
	if k := s.Known().Tools; !k.Stale || k.At.IsZero() || len(k.Items) != len(list) {
		t.Errorf("before the start: %d tools, stale %t", len(k.Items), k.Stale)
	}
	early := s.Snapshot()
	if early == nil || string(early.Info.Raw) != handshake || early.Info.Era != "legacy" || len(early.Lists) != 1 {
		t.Fatalf("a snapshot of an earlier run has %+v", early)
	}
	permitted := "[" + strings.Join(slices.DeleteFunc(slices.Clone(written), func(tool string) bool { return strings.Contains(tool, `"echo"`) }), ",") + "]"
	if l := early.Lists[catalogue.Tools]; string(l.Items) != permitted || l.Hash() != now.Lists[catalogue.Tools].Hash() || !l.Listed.Equal(kept.Lists[catalogue.Tools].Listed) {
		t.Errorf("it has %s; want %s", l.Items, permitted)
	}
	if now := s.Status(); now.State != status.Disconnected || now.Tools != len(tools) || !now.Stale {
		t.Errorf("before the start: %+v", now)
	}
	s.Start()
	n := until(t, w, "legacy", status.Connected)
	for n.Stale {
		n = until(t, w, "legacy", status.Connected)
	}
	if k := s.Known().Tools; n.Tools != len(tools) || k.Stale || len(k.Items) != len(list) {
		t.Errorf("after the start: %+v, stale %t", n, k.Stale)
	}

	other := entry
	other.Args = []string{"other"}
	if err := s.Reload(other); err != nil {
		t.Fatal(err)
	}
	if k, snapshot := s.Known().Tools, s.Snapshot(); !k.At.IsZero() || len(k.Items) != 0 || snapshot != nil {
		t.Errorf("of another server: %+v, %+v", k, snapshot)
	}
	if err := s.Reload(entry); err != nil {
		t.Fatal(err)
	}
	if k := s.Known().Tools; k.At.IsZero() || len(k.Items) != len(list) {
		t.Errorf("of the first one again: %+v", k)
	}
}

// All four lists of a server are known in the next run, which does not start it.
func TestEachListIsKnown(t *testing.T) {
	server := curious()
	server.AddPrompt(&mcp.Prompt{Name: "greeting"}, nil)
	server.AddResource(&mcp.Resource{URI: "note://one", Name: "one"}, nil)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://{n}", Name: "any"}, nil)
	starts := 0
	config := host.Config{
		CatalogueDir: filepath.Join(t.TempDir(), "catalogue"), Files: pluginFile("socket", socketFile),
		Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){"curious": func(context.Context) (io.ReadWriteCloser, error) {
			starts++
			near, far := net.Pipe()
			_, err := server.Connect(t.Context(), &mcp.IOTransport{Reader: far, Writer: far}, nil)
			return near, err
		}},
	}
	entry := host.Server{Name: "curious", Transport: "socket", Address: "memory:curious", Protocol: "legacy"}
	first := newHost(t, config)
	s := connect(t, first, entry)
	_, tools := s.ListTools(t.Context())
	_, prompts := s.ListPrompts(t.Context())
	_, resources := s.ListResources(t.Context())
	_, templates := s.ListResourceTemplates(t.Context())
	if err := errors.Join(tools, prompts, resources, templates); err != nil {
		t.Fatal(err)
	}
	first.Close()

	s = add(t, newHost(t, config), entry)
	k := s.Known()
	if len(k.Tools.Items) != 1 || len(k.Prompts.Items) != 1 || len(k.Resources.Items) != 1 || len(k.Templates.Items) != 1 {
		t.Fatalf("known: %+v", k)
	}
	got := []string{k.Tools.Items[0].Name, k.Prompts.Items[0].Name, k.Resources.Items[0].URI, k.Templates.Items[0].URITemplate}
	if want := []string{"ask", "greeting", "note://one", "note://{n}"}; !slices.Equal(got, want) {
		t.Errorf("known are %q; want %q", got, want)
	}
	written := s.Snapshot().Lists
	for kind, want := range map[catalogue.Kind]string{
		catalogue.Tools: `"ask"`, catalogue.Prompts: `"greeting"`, catalogue.Resources: `"note://one"`, catalogue.Templates: `"note://{n}"`,
	} {
		if got := string(written[kind].Items); !strings.Contains(got, want) {
			t.Errorf("%s as it wrote them: %s", kind, got)
		}
	}
	if starts != 1 {
		t.Errorf("it was started %d times; want once, in the first run", starts)
	}
}

// What a server says has changed is stale, in memory and in the catalogue, and asked for
// again, with no call.
func TestKnownAfterChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "catalogue")
	server := curious()
	h, err := host.New(t.Context(), host.Config{
		CatalogueDir: dir, Plugins: plugins.Builtin(), Files: pluginFile("socket", socketFile), CacheDir: testenv.CodeDir(), Ping: -1,
		Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){"curious": func(context.Context) (io.ReadWriteCloser, error) {
			near, far := net.Pipe()
			_, err := server.Connect(t.Context(), &mcp.IOTransport{Reader: far, Writer: far}, nil)
			return near, err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	w := watch(t, h)
	entry := host.Server{Name: "curious", Transport: "socket", Address: "memory:curious", Protocol: "legacy"}
	s := add(t, h, entry)
	if _, err := s.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}}, nil)
	n := until(t, w, "curious", status.Connected)
	for n.Stale || n.Tools < 2 {
		n = until(t, w, "curious", status.Connected)
	}
	if k := s.Known().Tools; k.Stale || len(k.Items) != 2 || k.Items[1].Name != "new" {
		t.Errorf("known: %+v", k)
	}
	h.Close()
	kept, err := catalogue.Open(dir).Load(catalogue.KeyOf(entry))
	if err != nil || !strings.Contains(string(kept.Lists[catalogue.Tools].Items), `"name":"new"`) {
		t.Errorf("kept: %+v, %v", kept, err)
	}
}

// What a server said of itself is known in the next run, also of one that was never asked for a
// list, and how long it said that a list stays fresh.
func TestSnapshotOfAHandshake(t *testing.T) {
	c := host.Config{CatalogueDir: filepath.Join(t.TempDir(), "catalogue"), Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), Ping: -1}
	run := func(use func(s *host.Session)) {
		h, err := host.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		use(add(t, h, server("modern")))
	}
	run(func(s *host.Session) {
		if s.Snapshot() != nil {
			t.Errorf("known at first: %+v", s.Snapshot())
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
	run(func(s *host.Session) {
		now := s.Snapshot()
		if now == nil || !strings.HasPrefix(string(now.Info.Raw), `{"supportedVersions":`) || now.Info.ServerInfo() != nil || len(now.Lists) != 0 {
			t.Errorf("known of an earlier run: %+v", now)
		}
		if state := s.Status().State; state != status.Disconnected {
			t.Errorf("it is %s", state)
		}
		now.Lists[catalogue.Tools] = catalogue.List{Items: json.RawMessage(`[]`), Listed: time.Now(), Until: time.Now().Add(time.Hour)}
		if err := catalogue.Open(c.CatalogueDir).Save(catalogue.KeyOf(server("modern")), now); err != nil {
			t.Error(err)
		}
	})
	run(func(s *host.Session) {
		if l := s.Snapshot().Lists[catalogue.Tools]; !l.Fresh(time.Now()) || !s.Known().Tools.Stale {
			t.Errorf("a list of an earlier run: %+v", l)
		}
	})
}
