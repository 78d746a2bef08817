package host_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Two programs have the same fingerprint for a server only if they would start the same.
func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "vars")
	writeTo := func(file, text string, at time.Time) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string, at time.Time) { writeTo(file, text, at) }
	write("A=1\n", time.Unix(1, 0))
	t.Setenv("FP_USED", "1")
	t.Setenv("FP_OTHER", "1")
	named, key := filepath.Join(dir, "named"), filepath.Join(dir, "key")
	secrets := vault.Open(vault.Config{Dir: filepath.Join(dir, "vault")})
	store := func(name string) {
		if err := secrets.StoreSecret(t.Context(), name, "x"); err != nil {
			t.Fatal(err)
		}
	}
	store("kept")
	count := func(t *testing.T, server string) {
		t.Helper()
		if err := secrets.CountSignIn(t.Context(), server); err != nil {
			t.Fatal(err)
		}
	}
	base := host.Server{
		Name: "s", Command: "srv", Args: []string{"${FP_USED}"}, EnvFile: file,
		Env:  map[string]string{"A": "${secret:kept}", "B": "${secret:none}", "C": "${file:" + named + "}"},
		Auth: config.Auth{Provider: "p", Settings: map[string]any{"key": config.Reference{File: key}, "token": config.Reference{Secret: "token"}}},
	}
	print := func(s host.Server, folder string) string {
		t.Helper()
		p, err := host.Fingerprint(s, folder, secrets)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, vary := range map[string]func(t *testing.T, s *host.Server) (folder string){
		"a variable that it uses":     func(t *testing.T, _ *host.Server) string { t.Setenv("FP_USED", "2"); return dir },
		"a variable that it inherits": func(t *testing.T, _ *host.Server) string { t.Setenv("PATH", "/bin"); return dir },
		"a proxy":                     func(t *testing.T, _ *host.Server) string { t.Setenv("https_proxy", "http://p"); return dir },
		"a setting of wharf":          func(t *testing.T, _ *host.Server) string { t.Setenv("WHARF_X", "1"); return dir },
		"its file of variables":       func(*testing.T, *host.Server) string { write("A=2\n", time.Unix(2, 0)); return dir },
		"a secret":                    func(*testing.T, *host.Server) string { store("kept"); return dir },
		"a secret that was missing":   func(*testing.T, *host.Server) string { store("none"); return dir },
		"a secret of its auth":        func(*testing.T, *host.Server) string { store("token"); return dir },
		"another secret":              func(*testing.T, *host.Server) string { store("other"); return dir },
		"a file that it names":        func(*testing.T, *host.Server) string { writeTo(named, "x", time.Unix(3, 0)); return dir },
		"a file of its auth":          func(*testing.T, *host.Server) string { writeTo(key, "x", time.Unix(3, 0)); return dir },
		"a sign-in":                   func(t *testing.T, _ *host.Server) string { count(t, "entry s"); return dir },
		"a sign-in at another server": func(t *testing.T, _ *host.Server) string { count(t, "entry t"); return dir },
		"the folder":                  func(*testing.T, *host.Server) string { return filepath.Dir(dir) },
		"an argument":                 func(_ *testing.T, s *host.Server) string { s.Args = []string{"x"}; return dir },
		"a timeout":                   func(_ *testing.T, s *host.Server) string { s.Timeout = 1; return dir },
		"nothing":                     func(*testing.T, *host.Server) string { return dir },
		"a variable of no use":        func(t *testing.T, _ *host.Server) string { t.Setenv("FP_OTHER", "2"); return dir },
		"the terminal":                func(t *testing.T, _ *host.Server) string { t.Setenv("TERM", "vt52"); return dir },
	} {
		t.Run(name, func(t *testing.T) {
			defer write("A=1\n", time.Unix(1, 0))
			s, want := base, print(base, dir)
			same := name == "nothing" || name == "a variable of no use" || name == "the terminal" || name == "another secret" || name == "a sign-in at another server"
			if got := print(s, vary(t, &s)); (got == want) != same {
				t.Errorf("the same is %v", got == want)
			}
		})
	}
	fixed := base
	fixed.Dir = dir
	if print(fixed, "/a") != print(fixed, "/b") {
		t.Error("the working folder counts for an entry with a dir")
	}
	remote := host.Server{Name: "s", URL: "https://s.example"}
	if print(remote, "/a") != print(remote, "/b") {
		t.Error("the working folder counts for a url")
	}
	for name, s := range map[string]host.Server{
		"a program":      {Name: "s", Command: "./srv"},
		"a dir":          {Name: "s", Command: "srv", Dir: "d"},
		"a file of vars": {Name: "s", Command: "srv", EnvFile: "vars"},
		"a certificate":  {Name: "s", URL: "https://s.example", TLS: config.TLS{CA: "ca.pem"}},
		"a socket":       {Name: "s", Transport: "socket", Address: "unix:s"},
		"a secret":       {Name: "s", Command: "srv", Env: map[string]string{"A": "${file:f}"}},
		"no variable":    {Name: "s", Command: "${FP_MISSING}"},
	} {
		if _, err := host.Fingerprint(s, dir, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
