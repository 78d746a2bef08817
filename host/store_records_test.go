//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// What an installed provider keeps in the vault is its own: it outlives an update,
// and goes with the plugin. What is installed under its name later never gets it,
// also where the lock was removed by hand; nor does it get what a provider of the
// configuration has kept under that name.
func TestRecordsOfAnInstallation(t *testing.T) {
	t.Parallel()
	_, address := newGuarded(t, "good")
	temp := t.TempDir()
	s, file := storeIn(temp, host.Config{Worker: workerThat(t, "worker"), CacheDir: testenv.CodeDir()}), filepath.Join(temp, "download.wasm")
	dir := filepath.Join(temp, "vault")
	copyFile(t, file, testenv.Plugin(t, providerPackage))
	do := func(files map[string]config.Plugin, what string) string {
		t.Helper()
		h := newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: dir, Files: files})
		_, err := h.Connect(t.Context(), signed(address, "corp", map[string]any{"do": what}))
		if err == nil {
			t.Fatal("it is signed in")
		}
		return err.Error()
	}
	installed := func(what string) string {
		t.Helper()
		files, err := s.Files()
		if err != nil {
			t.Fatal(err)
		}
		return do(files, what)
	}
	says := func(said, want string) {
		t.Helper()
		if !strings.Contains(said, want) {
			t.Errorf("says %q, want %q", said, want)
		}
	}
	logins := func(want int) {
		t.Helper()
		all, err := vault.Open(vault.Config{Dir: dir}).Entries(t.Context())
		if err != nil || len(all) != want {
			t.Errorf("%+v, %v; want %d", all, err, want)
		}
		for _, l := range all {
			if l.Provider != "corp" {
				t.Errorf("it is %s's", l.Provider)
			}
		}
	}

	install(t, s, offer(t, s, pluginstore.Request{Source: file, Name: "corp"}))
	says(installed("keep"), "it is kept")
	says(installed("recall"), "it recalls s3cr3t")
	logins(1)
	another(t, file)
	o, err := s.Update(t.Context(), "corp", pluginstore.Request{})
	if err != nil {
		t.Fatal(err)
	}
	install(t, s, o)
	says(installed("recall"), "it recalls s3cr3t")
	if err := s.Remove(t.Context(), "corp"); err != nil {
		t.Error(err)
	}
	logins(0)

	install(t, s, offer(t, s, pluginstore.Request{Source: file, Name: "corp"}))
	says(installed("recall"), "it recalls nothing")
	says(installed("keep"), "it is kept")
	if err := os.Remove(s.Lockfile()); err != nil {
		t.Fatal(err)
	}
	install(t, s, offer(t, s, pluginstore.Request{Source: file, Name: "corp"}))
	says(installed("recall"), "it recalls nothing")
	says(do(pluginFile("corp", file), "keep"), "it is kept")
	says(installed("recall"), "it recalls nothing")
	if err := s.Remove(t.Context(), "corp"); err != nil {
		t.Error(err)
	}
	says(do(pluginFile("corp", file), "recall"), "it recalls s3cr3t")
}
