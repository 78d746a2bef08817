package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// The pin of an entry is the same in each folder that has the project, and another as soon as something of it is.
func TestPin(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names there")
	}
	look := func(vary func(folder string, s *config.Server)) Approval {
		t.Helper()
		folder := repo(t)
		s := config.Server{
			Name: "s", Project: &config.Project{Folder: folder, File: ".mcp.json"}, Dir: folder, Command: "sh",
			Args: []string{folder + "/run.sh", "--in=" + folder}, Env: map[string]string{"P": folder + "/lib:/usr/lib"},
		}
		for name, text := range map[string]string{"run.sh": "echo", "sh": "#!/bin/sh\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		vary(folder, &s)
		plugins := map[string]config.Plugin{"stdio": {File: folder + "/stdio.wasm", SHA256: "ab"}} // somewhere else in each
		a, err := Open(filepath.Join(t.TempDir(), "trust"), plugins).Look(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	same := func(string, *config.Server) {}
	want := look(same)
	if again := look(same); again.Pin != want.Pin || again.Hash == want.Hash || !IsHash(again.Pin) {
		t.Errorf("in another folder: %s and %s, with the hashes %s and %s", want.Pin, again.Pin, want.Hash, again.Hash)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := os.Getenv("PATH")
	t.Setenv("PATH", elsewhere+string(os.PathListSeparator)+before)
	if other := look(same); other.Pin != want.Pin {
		t.Errorf("where the program lies somewhere else: %s and %s", want.Pin, other.Pin)
	}
	t.Setenv("PATH", before)
	for name, vary := range map[string]func(folder string, s *config.Server){
		"the name":       func(_ string, s *config.Server) { s.Name = "t" },
		"the file":       func(_ string, s *config.Server) { s.Project.File = ".cursor/mcp.json" },
		"an argument":    func(folder string, s *config.Server) { s.Args[1] = "--in=" + folder + "/x" },
		"a longer name":  func(folder string, s *config.Server) { s.Args[1] = "--in=" + folder + "x" },
		"a variable":     func(folder string, s *config.Server) { s.Env["P"] = folder + "/lib:/lib" },
		"the command":    func(folder string, s *config.Server) { s.Command = "cat" },
		"one of its own": func(folder string, s *config.Server) { s.Command = folder + "/sh" },
		"a script": func(folder string, _ *config.Server) {
			if err := os.WriteFile(filepath.Join(folder, "run.sh"), []byte("other"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if got := look(vary); got.Pin == want.Pin {
			t.Errorf("%s: the pin is the same", name)
		}
	}
}

func TestCutAt(t *testing.T) {
	for text, want := range map[string][]string{
		"/p": {"", ""}, "/p/x": {"", "/x"}, "a=/p:/p/b": {"a=", ":", "/b"}, "/px": {"/px"}, "/p.d": {"/p.d"}, "a/p": {"a/p"}, "/p\\x": {"", "\\x"}, "": {""}, "/q/p/p": {"/q/p/p"},
	} {
		if got := cutAt(text, "/p"); !slices.Equal(got, want) {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
