package main

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/registrytest"
)

const addIt = "Add it? yes, [n]o: "

// withRegistry runs wharf on a terminal of a user whose registry is that of the tests.
func withRegistry(t *testing.T, home string, args ...string) *screen {
	t.Helper()
	site := httptest.NewServer(registrytest.Handler(published))
	t.Cleanup(site.Close)
	s := newScreen(t, []string{"NO_COLOR=1", "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "WHARF_REGISTRY=" + site.URL}, "wharf", args...)
	s.start()
	return s
}

// A server of a registry is added by answering: a secret is not shown, goes to the vault,
// and only a reference to it stands in the file. Anything but yes leaves all as it was.
func TestTerminalAsksForInputs(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "wharf", "wharf.toml")
	for _, answer := range []string{"\r", "n\r", "\x04"} {
		s := withRegistry(t, home, "add", "io.example/weather")
		s.answer("> ", "/var/cache\r")
		s.answer("> ", "\r")
		shown := s.await(addIt)
		for _, want := range []string{"│ [servers.weather]\n│ command = \"npx\"\n", "│       4  /var/cache\n", "! it needs the variable WEATHER_API_KEY in the environment, whenever it starts\n"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%q lacks %q", shown, want)
			}
		}
		s.answer("", answer)
		s.ends(exit.CodeDenied, "you have not agreed to it")
	}
	s := withRegistry(t, home, "add", "io.example/weather")
	s.answer("> ", "\x1b")
	s.ends(exit.CodeDenied, "nothing was changed")
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}

	s = withRegistry(t, home, "add", "io.example/weather@1.0.0")
	asked := s.await("> ")
	for _, want := range []string{"1/2: the argument cache_dir is needed.\n│ Where forecasts are kept\n"} {
		if !strings.Contains(asked, want) {
			t.Errorf("%q lacks %q", asked, want)
		}
	}
	s.answer("", "~/notes\r")
	if asked := s.await("> "); !strings.Contains(asked, "2/2: the variable WEATHER_API_KEY is needed.\n│ The key of your account\n") {
		t.Errorf("%q", asked)
	}
	s.answer("", "k3y-of-mine\r")
	if shown := s.await(addIt); strings.Contains(shown, "k3y-of-mine") {
		t.Error("the secret is shown")
	}
	s.answer("", "yess\r") // a slip does not lose the secret
	if again := s.await(addIt); !strings.Contains(again, "That is no answer to this question.") {
		t.Errorf("%q", again)
	}
	s.answer("", "yes\r")
	s.ends(exit.CodeOK, "weather is added")
	text, err := os.ReadFile(file)
	for _, want := range []string{filepath.Join(home, "notes"), "${secret:weather/WEATHER_API_KEY}", `version = "1.0.0"`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q, %v", text, want, err)
		}
	}
	if strings.Contains(string(text), "k3y-of-mine") {
		t.Error("the secret is in the file")
	}

	s = withRegistry(t, home, "update")
	s.await("Update it? yes, [n]o: ")
	s.answer("", "n\r")
	s.ends(exit.CodeDenied, "update weather: you have not agreed to it")
	s = withRegistry(t, home, "remove", "weather")
	for range 2 {
		s.await("Remove it? yes, [n]o: ")
		s.answer("", "?\r")
	}
	s.await("Remove it? yes, [n]o: ")
	s.answer("", "sure\r") // which is no answer for the third time
	s.ends(exit.CodeDenied, "you have not agreed to it")
	s = withRegistry(t, home, "remove", "weather")
	s.await("Remove it? yes, [n]o: ")
	s.answer("", "yes\r")
	s.ends(exit.CodeOK, "weather is removed.")
	if text, err := os.ReadFile(file); len(text) > 0 || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// An update from a version that the registry no longer has asks for nothing that the entry has. What
// it asks for does not take the place of another secret, and it is said what does.
func TestTerminalUpdatesFromAVersionThatIsGone(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "wharf", "wharf.toml")
	s := withRegistry(t, home, "add", "io.example/weather@1.0.0")
	s.answer("> ", "/var/cache\r")
	s.answer("> ", "k3y\r")
	s.await(addIt)
	s.answer("", "yes\r")
	s.ends(exit.CodeOK, "weather is added")
	edit := func(was, is string) {
		t.Helper()
		text, err := os.ReadFile(file)
		edited := strings.Replace(string(text), was, is, 1)
		if err != nil || edited == string(text) {
			t.Fatalf("%s has no %s: %v", text, was, err)
		}
		if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(`version = "1.0.0"`, `version = "0.9.9"`)
	s = withRegistry(t, home, "update")
	if shown := s.await("Update it? yes, [n]o: "); strings.Contains(shown, "is needed") || !strings.Contains(shown, "no longer has version 0.9.9") {
		t.Errorf("%q", shown)
	}
	s.answer("", "n\r")
	s.ends(exit.CodeDenied, "you have not agreed to it")
	edit(`"${secret:weather/WEATHER_API_KEY}"`, `"${OWN}"`)
	edit("WEATHER_API_KEY =", "MINE =")
	s = withRegistry(t, home, "update")
	if asked := s.await("> "); !strings.Contains(asked, "1/1: the variable WEATHER_API_KEY is needed.") {
		t.Errorf("%q", asked)
	}
	s.answer("", "\x1b")
	s.ends(exit.CodeDenied, "update weather: nothing was changed: denied")
	s = withRegistry(t, home, "update")
	s.answer("> ", "another\r")
	s.await("Update it? yes, [n]o: ")
	s.answer("", "yes\r")
	s.ends(exit.CodeUsage, "hint: `wharf auth secret --forget weather/WEATHER_API_KEY` forgets that one, if")
}

// An entry is added to the file as it is by then. If the person has written one of that name meanwhile, theirs
// stays, and the secret that was typed is not kept.
func TestTerminalAddsToAnEditedFile(t *testing.T) {
	for mine, ends := range map[string]struct {
		code int
		says string
	}{
		"# mine\n":                             {exit.CodeOK, "weather is added"},
		"[servers.weather]\ncommand = \"x\"\n": {exit.CodeUsage, `there is a server "weather"`},
	} {
		home := t.TempDir()
		file := filepath.Join(home, "wharf", "wharf.toml")
		s := withRegistry(t, home, "add", "io.example/weather")
		s.answer("> ", "/var/cache\r")
		s.answer("> ", "k3y\r")
		s.await(addIt)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(mine), 0o600)); err != nil {
			t.Fatal(err)
		}
		s.answer("", "yes\r")
		s.ends(ends.code, ends.says)
		added := ends.code == exit.CodeOK
		if text, err := os.ReadFile(file); !strings.HasPrefix(string(text), mine) || (len(text) > len(mine)) != added || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		kept := vault.Open(vault.Config{Dir: filepath.Join(home, "wharf", "vault")})
		if _, found, err := kept.LoadSecret(t.Context(), "weather/WEATHER_API_KEY"); found != added || err != nil {
			t.Errorf("the secret is kept: %t, %v", found, err)
		}
	}
}

// A value with a choice, and one for a url, are asked for as what they are.
func TestTerminalAsksForAURL(t *testing.T) {
	s := withRegistry(t, t.TempDir(), "add", "--prefer", "remote", "--name", "far", "com.example.data/hybrid-with-a-name-that-takes-more-than-sixty-columns-of-a-terminal")
	if asked := s.await("> "); !strings.Contains(asked, "1/2: tenant (for the url) is needed.\n│ Your tenant\n") {
		t.Errorf("%q", asked)
	}
	s.answer("", "acme\r")
	if asked := s.await("> "); !strings.Contains(asked, "2/2: token (for the header Authorization) is needed.\n│ Your token\n") {
		t.Errorf("%q", asked)
	}
	s.answer("", "k3y\r")
	shown := s.await(addIt)
	for _, want := range []string{"url = \"https://acme.example.com/mcp\"\n", "\"Bearer ${secret:far/token}\"", "It sends requests to acme.example.com.\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q lacks %q", shown, want)
		}
	}
	s.answer("", "no\r")
	s.ends(exit.CodeDenied, "you have not agreed to it")
}

// What a search finds fits a terminal: names are whole, and what steers a terminal or
// cannot be seen is shown as what it is.
func TestTerminalShowsASearch(t *testing.T) {
	s := withRegistry(t, t.TempDir(), "search", "example")
	shown, code := s.end()
	if code != exit.CodeOK {
		t.Fatal(code, shown)
	}
	for _, want := range []string{
		"com.example.data/hybrid-with-a-name-that-takes-more-than-sixty-columns-of-a-terminal\n    2.0.0  oci, mcpb, http\n    Here or there\n",
		"io.example/old-weather  0.9.0  sse\n    deprecated: Use io.example/weather\n    Forecasts of yesterday\n",
		`\x1b[2JForecasts\u202e, and \u200bmore`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q lacks %q", shown, want)
		}
	}
}
