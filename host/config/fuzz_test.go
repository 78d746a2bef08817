package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${HOME}", "$${HOME}", "${UNSET:-x}", "${env:HOME}", "a$", "${", "}$${${"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, errs := expand(s, func(string) (string, bool) { return "", true })
		if len(errs) == 0 && len(out) > len(s) {
			t.Errorf("expand(%q) = %q, which is longer although all variables are empty", s, out)
		}
		escaped := strings.ReplaceAll(s, "$", "$$")
		if out, errs = expand(escaped, nil); out != s || errs != nil {
			t.Errorf("expand(%q) = %q, %v, want %q", escaped, out, errs, s)
		}
	})
}

func FuzzTOML(f *testing.F) { fuzzParse(f, "*/*.toml", "wharf.toml") }
func FuzzJSON(f *testing.F) { fuzzParse(f, "*/*.json*", "mcp.json") }

// fuzzParse holds that no file makes a reader panic, and that what it accepts
// can be relied upon.
func fuzzParse(f *testing.F, seeds, name string) {
	paths, err := filepath.Glob("testdata/" + seeds)
	if err != nil || len(paths) == 0 {
		f.Fatalf("seeds: %v, %v", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(name, data)
		if err != nil {
			if err.Error() == "" || file != nil {
				t.Errorf("file %v with error %q", file, err)
			}
			return
		}
		seen := make(map[string]bool)
		for _, s := range file.Servers {
			if !names.MatchString(s.Name) || seen[s.Name] || s.Via() == "" || s.Command != "" && s.URL != "" {
				t.Errorf("accepted %+v", s)
			}
			seen[s.Name] = true
		}
		for _, w := range file.Warnings {
			if !strings.HasPrefix(w, name) {
				t.Errorf("warning %q does not name its file", w)
			}
		}
	})
}
