package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${HOME}", "$${HOME}", "${UNSET:-x}", "${env:HOME}", "a$", "${", "}$${${"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pieces, errs := split(s, func(string) (string, bool) { return "", true })
		out := joined(pieces)
		if len(errs) == 0 && len(out) > len(s) {
			t.Errorf("expand(%q) = %q, which is longer although all variables are empty", s, out)
		}
		escaped := strings.ReplaceAll(s, "$", "$$")
		if pieces, errs = split(escaped, nil); joined(pieces) != s || errs != nil {
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
			if !names().MatchString(s.Name) || seen[s.Name] || s.Via() == "" || s.Command != "" && s.URL != "" {
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

// FuzzShape holds that a file which passes has no key that is longer or deeper
// than the check allows, however the parser reads it.
func FuzzShape(f *testing.F) {
	for _, s := range []string{
		"[a.b]\nc = {d = 1}", "x = \"\"\"a\"\"\"\"\n", "x = ['''a''''', {a={a=1}}]", "[[\"a.b\"]]\n'c' = \"\\\"\"", "x = [\n[1],\n[\n2]]\n#\"\ny=1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkShape(text) != nil {
			return
		}
		var root map[string]any
		meta, err := toml.Decode(text, &root)
		if err != nil {
			return
		}
		for _, key := range meta.Keys() {
			if len(key) > (maxNesting+1)*(maxDots+1) {
				t.Errorf("a key of %d parts", len(key))
			}
			for _, part := range key {
				if len(part) > maxKey {
					t.Errorf("a key of %d bytes", len(part))
				}
			}
		}
	})
}
