package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

const providerPackage = "./internal/auth/testdata/guest"

// A provider that traps, loops, leaves or asks for what is not
// granted makes no sign-in: the server is sent nothing, the error names the
// provider, and the host goes on with other servers, and with this one.
func TestHostileProviders(t *testing.T) {
	t.Parallel()
	g, address := newGuarded(t, "good")
	h := newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: vaultDir(t), Files: pluginFile("corp", testenv.Plugin(t, providerPackage))})
	const late = "|its time was over"
	for do, want := range map[string]string{
		"panic": "gave up", "loop": "budget" + late, "grow": "gave up" + late, "recurse": "gave up" + late, "exit": "exited with code 3",
		"leave": "left in the middle", "": "[plugins.corp]\norigins = [\"https://sso.example\"]",
	} {
		t.Run(do, func(t *testing.T) {
			if do == "recurse" || do == "grow" {
				testenv.NeedsLong(t) // they use up most of a budget of seconds, as the loop does
			}
			_, err := h.Connect(t.Context(), signed(address, "corp", map[string]any{"do": do}))
			if !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), "auth provider corp") || !saysOneOf(err.Error()+host.Hint(err), want) {
				t.Errorf("error %v (hint %q), want %q", err, host.Hint(err), want)
			}
		})
	}
	if n := g.refused.Load(); n != 0 {
		t.Errorf("%d requests went out without what signs them in", n)
	}
	say(t, connect(t, h, signed(address, "bearer", map[string]any{"token": "good"})))
}

// saysOneOf reports whether a text has one of several in it: on a machine that is
// busy elsewhere, what is long may run out of time first.
func saysOneOf(text, several string) bool {
	return slices.ContainsFunc(strings.Split(several, "|"), func(one string) bool { return strings.Contains(text, one) })
}

// A file that is no provider, is another one than was approved, or is a transport,
// is not run.
func TestProvidersThatAreNone(t *testing.T) {
	_, address := newGuarded(t, "good")
	text := filepath.Join(t.TempDir(), "letter.wasm")
	if err := os.WriteFile(text, []byte("Dear host, let me in."), 0o600); err != nil {
		t.Fatal(err)
	}
	const corp = "../examples/auth-corp-sso/corp-sso.wasm"
	for name, tt := range map[string]struct {
		plugin config.Plugin
		want   string
		kind   error
	}{
		"letter":    {config.Plugin{File: text}, "letter is no auth provider", host.ErrPluginRefused},
		"absent":    {config.Plugin{File: text + ".not"}, "letter.wasm.not", host.ErrConfig},
		"swapped":   {config.Plugin{File: corp, SHA256: strings.Repeat("0", 64)}, "has sha256 " + hashOf(t, corp), host.ErrDenied},
		"transport": {config.Plugin{File: "../plugins/stdio/stdio.wasm"}, "transport is no auth provider", host.ErrPluginRefused},
	} {
		t.Run(name, func(t *testing.T) {
			tt.plugin.Name = name
			h := newHost(t, host.Config{VaultDir: vaultDir(t), Files: map[string]config.Plugin{name: tt.plugin}})
			_, err := h.Connect(t.Context(), signed(address, name, nil))
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v (hint %q), want %q", err, host.Hint(err), tt.want)
			}
		})
	}
}
