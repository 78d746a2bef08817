package control

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/vault"
)

// A server of a project is allowed by the person's answer to the editor, and denied at once. What was
// allowed before and is denied now is not used.
func TestServersOfAProject(t *testing.T) {
	folder := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entries := fmt.Sprintf(`{"mcpServers":{"tool":{"command":%q,"args":["-test.run=^$"]}}}`, program)
	if err := os.WriteFile(filepath.Join(folder, ".mcp.json"), []byte(entries), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScene(t, func(c *Control, h *host.Config) {
		h.TrustDir = filepath.Join(folder, "trust")
		c.kept = keptBy(h)
		own := host.Server{Name: "own", Transport: "socket", Address: "memory:files"}
		servers, _ := config.Discover(folder).Beneath([]host.Server{own})
		c.config.Source = &Source{Read: func() (*Configuration, error) {
			return &Configuration{Servers: append([]host.Server{own}, servers...), Plugins: h.Files, Reconnect: h.Reconnect}, nil
		}}
	})
	c, unable := s.ready(all), s.ready(`{}`)
	c.wantHas(c.call("trust/list", `{}`), `"file":".mcp.json","server":"tool","state":"not approved"`)
	c.wantHas(c.call("config/get", `{}`), `"name":"own"`, `"name":"tool","transport":"stdio"`, `"trust":"not approved"`)
	unable.refused(KindDenied, "trust/allow", `{"server":"tool"}`)
	for _, answer := range []struct {
		decision string
		kind     Kind
		state    string
	}{{"not-now", KindDenied, "not approved"}, {"never", KindDenied, "denied"}, {"once", KindDenied, "denied"}, {"always", "", "approved"}} {
		id := c.begin("trust/allow", `{"server":"tool"}`)
		m := c.asked("approve")
		c.wantHas(string(m.Params), `"server":"tool"`, program)
		c.reply(m, `{"decision":"`+answer.decision+`"}`)
		if m := c.answer(id); answer.kind != "" {
			c.wantRefused(answer.kind, m)
		} else {
			c.wantHas(string(m.Result), `{"state":"approved"}`)
		}
		c.wantHas(c.call("trust/list", `{}`), `"server":"tool","state":"`+answer.state+`"`)
	}
	c.wantHas(c.call("trust/allow", `{"server":"tool"}`), `{"state":"approved"}`)
	c.wantHas(c.call("trust/deny", `{"server":"tool"}`), `{"state":"denied"}`)
	c.refused(KindDenied, "tools/list", `{"server":"tool"}`)
	c.refused(KindParams, "trust/allow", `{"server":"own"}`)
	c.refused(KindParams, "trust/deny", `{"server":"own"}`)
	c.refused(KindUnknownServer, "trust/deny", `{"server":"none"}`)
}

// Plugins are listed and described, by their names alone.
func TestPluginsAreDescribed(t *testing.T) {
	s := newConfigured(t, configured)
	c := s.ready(all)
	c.wantHas(c.call("plugins/list", `{}`), `{"plugins":[]}`)
	c.wantHas(c.call("plugins/inspect", `{"plugin":"stdio"}`), `"file":""`, `"manifest":{"name":"stdio"`, `"findings":[]`)
	c.wantHas(c.call("plugins/inspect", `{"plugin":"socket"}`), `socket.wasm"`, `"kind":"stream"`)
	c.refused(KindUnknownPlugin, "plugins/inspect", `{"plugin":"../../etc/passwd"}`)
	c.refused(KindUnknownPlugin, "plugins/inspect", `{}`)
}

// Saved sign-ins and secrets are listed without their values, and so are servers whose entries have some in them.
func TestSignInsAreListed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	if err := vault.Open(vault.Config{Dir: dir}).StoreSecret(t.Context(), "mine", "s3cr3t"); err != nil {
		t.Fatal(err)
	}
	const careless = `
[servers.far]
url = "https://me:s3cr3t@far.example/mcp?api_key=s3cr3t"
headers = { Authorization = "Bearer s3cr3t" }
disabled = true

[servers.near]
command = "near"
args = ["--token", "s3cr3t"]
env = { API_KEY = "s3cr3t" }
disabled = true
`
	s := newConfigured(t, configured+"settings = { key = \"${secret:mine}\" }\n"+careless, func(c *Control, h *host.Config) {
		h.VaultDir = dir
		c.kept = keptBy(h)
	})
	c := s.ready(all)
	got := c.call("auth/status", `{}`)
	c.wantHas(got, `"vault":{"path":"`+dir, `"logins":[]`, `"secrets":[{"name":"mine","servers":["other"]}]`)
	for _, method := range []string{"auth/status", "config/get", "servers/list", "plugins/list", "status"} {
		if got := c.call(method, `{}`); strings.Contains(got, "s3cr3t") {
			t.Errorf("%s shows a secret: %s", method, got)
		}
	}
	c.wantHas(c.call("servers/add", `{"entry":{"name":"x","url":"https://x.example","transport":"pigeon","headers":{"A":"${secret:mine}","B":"${secret:other}"}}}`),
		`"needs":[{"kind":"trust","name":"x"},{"kind":"plugin","name":"pigeon"},{"kind":"secret","name":"other"}]`)
}

// An editor has the messages of servers written to a file; what editors type is not in it.
func TestTraceIsStarted(t *testing.T) {
	s := newScene(t)
	c, other := s.ready(all), s.ready(all)
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	echo := func(text string) {
		t.Helper()
		c.wantHas(c.call("tools/call", `{"server":"files","name":"echo","arguments":{"message":"`+text+`"}}`), text)
	}
	echo("before")
	c.refused(KindUnsupported, "trace/stop", `{}`)
	c.refused(KindParams, "trace/start", `{"file":"trace.jsonl"}`)
	c.refused(KindParams, "trace/start", `{}`)
	c.call("trace/start", fmt.Sprintf(`{"file":%q}`, file))
	other.refused(KindTaken, "trace/start", fmt.Sprintf(`{"file":%q}`, file+"2"))
	echo("during")
	other.wantHas(other.call("trace/stop", `{}`), file)
	echo("behind")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.wantHas(string(text), "during", `"server":"files"`)
	for _, word := range []string{"before", "behind", "trace/stop", `"editor"`} {
		if strings.Contains(string(text), word) {
			t.Errorf("the trace has %s: %s", word, text)
		}
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.refused(KindParams, "trace/start", fmt.Sprintf(`{"file":%q}`, file))
	c.call("trace/start", fmt.Sprintf(`{"file":%q}`, file+"2"))
}
