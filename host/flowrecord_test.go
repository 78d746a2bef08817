package host_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/flowrecord"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// recordedFlows has talk sign in with a host that records, and returns the recording and the
// flows in it. None of the secrets may be in a flow, in any form.
func recordedFlows(t *testing.T, c host.Config, talk func(h *host.Host), secrets func() []string) (text string, flows []*flowrecord.Flow) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.ndjson")
	r, err := replay.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Record, c.VaultDir = r, vaultDir(t)
	c.Event = func(e host.Event) {
		if strings.Contains(e.Warning, "not recorded") {
			t.Error(e.Warning)
		}
	}
	h := newHost(t, c)
	talk(h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if flows, err = flowrecord.Read(strings.NewReader(string(file))); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		for _, secret := range secrets() {
			for _, form := range []string{secret, url.QueryEscape(secret), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), fmt.Sprintf("%x", secret)} {
				if strings.HasPrefix(line, `{"kind":"flow"`) && strings.Contains(line, form) {
					t.Errorf("%s is in the flow %s", secret, line)
				}
			}
		}
	}
	return string(file), flows
}

// provider is the provider in a file, for one account.
func provider(t *testing.T, module []byte) auth.Provider {
	t.Helper()
	e, err := auth.NewEngine(auth.EngineConfig{CacheDir: testenv.CodeDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	p, err := e.Load(t.Context(), "again", module)
	if err != nil {
		t.Fatal(err)
	}
	return auth.ForAccount(p)
}

// summary is the reason of a flow, and the kinds of all its actions.
func summary(f *flowrecord.Flow) string {
	out := f.Steps[0].Event.Start.Reason
	for _, s := range f.Steps {
		for _, a := range s.Actions {
			out += " " + a.Kind
		}
	}
	return out
}

// A real sign-in is recorded without its secrets: discovery, registration, the page, the
// token, and a refresh of it. It runs again without any of the servers.
func TestOAuthIsRecorded(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	v := &visitor{}
	_, flows := recordedFlows(t, host.Config{Person: &signin.Person{OpenURL: v.open}}, func(h *host.Host) {
		s := connect(t, h, w.entry("protectedServer"))
		say(t, s)
		o.Expire()
		say(t, s)
	}, o.Secrets)
	if len(flows) < 3 {
		t.Fatalf("%d flows", len(flows))
	}
	p := provider(t, plugins.Builtin()["oauth"]())
	all := ""
	for _, f := range flows {
		all += summary(f) + "\n"
		if err := f.Run(t.Context(), p); err != nil {
			t.Errorf("%s: %v", summary(f), err)
		}
	}
	for _, want := range []string{"open_browser http", "store", "credentials done"} {
		if !strings.Contains(all, want) {
			t.Errorf("no flow has %q:\n%s", want, all)
		}
	}
}

// What a person types is not in the recording of a signer, and neither is what is signed
// with it. Another build that asks for something else is told of.
func TestASignerIsRecorded(t *testing.T) {
	t.Parallel()
	signer := testenv.Plugin(t, "./plugintest/testdata/signer")
	address := serve(t, &registry{})
	c := host.Config{Files: pluginFile("signer", signer), Person: &signin.Person{Ask: func(context.Context, signin.Question) (string, error) { return "typed", nil }}}
	text, flows := recordedFlows(t, c, func(h *host.Host) {
		session := connect(t, h, showing(address))
		say(t, session)
		say(t, session)
	}, func() []string { return []string{`"typed"`} })
	last := flows[len(flows)-1]
	if got := summary(last); !strings.HasSuffix(got, "prompt store done credentials done") {
		t.Errorf("the last flow is %s", got)
	}
	p := provider(t, readModule(t, signer))
	for _, f := range flows {
		if err := f.Run(t.Context(), p); err != nil {
			t.Errorf("%s: %v", summary(f), err)
		}
	}

	// A recording is as good for transports as one without sign-ins.
	http, err := os.ReadFile("../plugins/http/http.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Run(t.Context(), strings.NewReader(text), http, replay.Options{CacheDir: testenv.CodeDir()}); err != nil {
		t.Errorf("the transport of the recording: %v", err)
	}

	for _, f := range flows {
		for i := range f.Steps {
			for j := range f.Steps[i].Actions {
				if a := &f.Steps[i].Actions[j]; a.Kind == step.ActionPrompt {
					a.Prompt.Label = "Who are you?"
				}
			}
		}
	}
	const want = `step 1 (start): actions[0].prompt.label: recorded "Who are you?", and now`
	if err := last.Run(t.Context(), p); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	last.Provider = "other"
	if err := last.Run(t.Context(), p); err == nil || err.Error() != "the flow is one of the provider other, and this is signer" {
		t.Errorf("error %v", err)
	}
}
