package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${HOME}", "$${HOME}", "${UNSET:-x}", "${env:HOME}", "a$", "${", "}$${${"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pieces, errs := split(s, vars{lookup: func(string) (string, bool) { return "", true }})
		out := joined(pieces)
		if len(errs) == 0 && len(out) > len(s) {
			t.Errorf("expand(%q) = %q, which is longer although all variables are empty", s, out)
		}
		escaped := strings.ReplaceAll(s, "$", "$$")
		if pieces, errs = split(escaped, vars{}); joined(pieces) != s || errs != nil {
			t.Errorf("expand(%q) = %q, %v, want %q", escaped, out, errs, s)
		}
	})
}

func FuzzTOML(f *testing.F)        { fuzzParse(f, "*/*.toml", "wharf.toml") }
func FuzzJSON(f *testing.F)        { fuzzParse(f, "*/*.json*", "mcp.json") }
func FuzzForeignTOML(f *testing.F) { fuzzParse(f, "clients/codex/.codex/*.toml", "config.toml") }
func FuzzYAML(f *testing.F) {
	f.Add([]byte("a: &a [*a]\nmcpServers:\n  b: {<<: *a, command: x}"))
	f.Add([]byte("extensions:\n  ? [x]\n  : !!int {cmd: |\n  x}"))
	fuzzParse(f, "clients/*/*/*.yaml", "config.yaml")
}

// Clients that write the same keys differ in how they are read: each has its turn.
func FuzzClients(f *testing.F) {
	for _, c := range clients {
		_ = filepath.WalkDir("testdata/clients/"+c.id, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".golden") {
				return err
			}
			data, err := os.ReadFile(path)
			f.Add(path, data)
			return err
		})
	}
	f.Fuzz(checkParse)
}

func FuzzEncoding(f *testing.F) {
	for _, s := range []string{"{}", "\xef\xbb\xbf{}", "\xff\xfe{\x00}\x00", "\xfe\xff\x00{\x00}", "\xff\xfe\x00", "{\x00}\x00", "a\xff", "\xff\xfe\x00\xd8"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := decode("x", data)
		if err == nil && !utf8.Valid(text) || err != nil && text != nil {
			t.Errorf("decode(%q) = %q, %v", data, text, err)
		}
	})
}

func FuzzEnv(f *testing.F) {
	for _, s := range []string{"A=b", "export A='b' # c", `A="\n\"\$x"`, "A=", "=b", "# c\n\nA=`x`", "A=\"", "A=b #c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, err := ParseEnv(".env", text)
		for name := range env {
			if err != nil || !variable.MatchString(name) {
				t.Errorf("ParseEnv(%q) = %q, %v", text, env, err)
			}
		}
	})
}

// What a client writes as a text is a text for Expand too, whatever is in it.
func FuzzSyntax(f *testing.F) {
	for _, s := range []string{"$A", "${A}", "$$", "$${A}", "{env:A}", "{file:a}", "$env:A", "${{ secrets.A }}", "$(echo $A)", "$(echo a; x)", "$(x)", "{env:$}", "$$$A{env:B}$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if pieces, errs := split(literal(s), vars{}); len(errs) > 0 || joined(pieces) != s {
			t.Errorf("%q becomes %q, %v", s, joined(pieces), errs)
		}
		pieces, errs := split(Escape(s, false), vars{lookup: unset})
		if !strings.Contains(s, "${") && (len(errs) > 0 || joined(pieces) != s) {
			t.Errorf("%q becomes %q, %v", s, joined(pieces), errs)
		}
		for _, y := range []syntax{noSyntax, bareSyntax, editorSyntax, codeSyntax, hubSyntax, geminiSyntax, crushSyntax, gooseSyntax(nil), braceSyntax, mcporterSyntax, continueSyntax} {
			_, _ = y("headers.A", s)
		}
	})
}

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
	f.Fuzz(func(t *testing.T, data []byte) { checkParse(t, name, data) })
}

func checkParse(t *testing.T, name string, data []byte) {
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
	for _, w := range slices.Concat(file.Warnings, file.Notes) {
		if !strings.HasPrefix(w, name) {
			t.Errorf("warning %q does not name its file", w)
		}
	}
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
