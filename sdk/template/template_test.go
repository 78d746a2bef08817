package template_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	text "text/template"

	"github.com/wharf-mcp/wharf/sdk/template"
)

// golden is what is written: the files of each kind and language, with those that are
// run marked.
var golden = map[string][]string{
	"transport/go":             {"README.md", "go.mod", "main.go", "main_test.go", "wire.go"},
	"transport/c":              {"README.md", "build*", "plugin.c", "wharf.h"},
	"transport/rust":           {"README.md", "build*", "plugin.rs", "wharf.rs"},
	"transport/assemblyscript": {"README.md", "build*", "package.json", "plugin.ts", "wharf.ts"},
	"auth/go":                  {"README.md", "go.mod", "main.go", "main_test.go"},
	"auth/c":                   {"README.md", "build*", "extism.h", "json.h", "provider.c"},
	"auth/rust":                {"README.md", "auth.rs", "build*", "provider.rs"},
	"auth/assemblyscript":      {"README.md", "auth.ts", "build*", "package.json", "provider.ts"},
	"policy/go":                {"README.md", "cases.json", "go.mod", "main.go", "main_test.go"},
	"policy/c":                 {"README.md", "build*", "cases.json", "extism.h", "json.h", "policy.c"},
}

// each runs a test for every kind and language.
func each(t *testing.T, name string, test func(t *testing.T, p template.Plugin, files []template.File)) {
	for _, kind := range template.Kinds() {
		for _, lang := range template.Languages() {
			if golden[kind+"/"+lang] == nil {
				continue
			}
			t.Run(kind+"/"+lang, func(t *testing.T) {
				p := template.Plugin{Name: name, Kind: kind, Lang: lang, Module: template.Module{Version: "v1.2.3"}}
				files, err := p.Files()
				if err != nil {
					t.Fatal(err)
				}
				test(t, p, files)
			})
		}
	}
}

func TestFiles(t *testing.T) {
	each(t, "pigeon", func(t *testing.T, p template.Plugin, files []template.File) {
		var names []string
		for _, f := range files {
			name := f.Name
			if f.Program {
				name += "*"
			}
			names = append(names, name)
		}
		if !slices.Equal(names, golden[p.Kind+"/"+p.Lang]) {
			t.Errorf("files %q", names)
		}
	})
}

// A plugin of another name differs from the template in the name alone, which is in
// every place that the user sees, and in none where it would have to be an identifier.
func TestNames(t *testing.T) {
	const name = "7-carrier-ravens"
	each(t, name, func(t *testing.T, p template.Plugin, files []template.File) {
		p.Name = "pigeon"
		originals, err := p.Files()
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range files {
			text := string(f.Text)
			if strings.Contains(text, "pigeon") || strings.ReplaceAll(string(originals[i].Text), "pigeon", name) != text {
				t.Errorf("%s is not the template with another name", f.Name)
			}
			if !strings.HasSuffix(text, "\n") || f.Name == "README.md" && strings.Contains(text, "{{") || strings.Contains(text, "\n\n\n") {
				t.Errorf("%s: an end, a slot or a blank line too much", f.Name)
			}
		}
	})
}

// The README says how to build, test and use it, where the contract is and what to
// change first.
func TestReadme(t *testing.T) {
	each(t, "raven", func(t *testing.T, p template.Plugin, files []template.File) {
		readme := string(files[slices.IndexFunc(files, func(f template.File) bool { return f.Name == "README.md" })].Text)
		for _, want := range []string{
			"# raven\n", "## Build\n", "## Test\n", "## Use\n", "## What to change first\n", "## The contract\n",
			"\n" + p.Build() + " ", "\n" + p.Test() + "\n", "\nwharf plugin add raven.wasm\n", "\n[servers.loft]\n", `"raven"`, "\n[plugins.raven]\n",
		} {
			if !strings.Contains(readme, want) {
				t.Errorf("the README lacks %q", want)
			}
		}
		for n, line := range strings.Split(readme, "\n") {
			if len(line) > 130 && !strings.Contains(line, "https://") {
				t.Errorf("line %d of the README has %d bytes", n+1, len(line))
			}
		}
	})
}

// TestReadmeIsATemplate holds that the marks in a README mean what text/template says of them.
func TestReadmeIsATemplate(t *testing.T) {
	each(t, "raven", func(t *testing.T, p template.Plugin, files []template.File) {
		read, err := text.ParseFiles(p.Kind + "/README.md")
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		if err := read.Execute(&want, p); err != nil {
			t.Fatal(err)
		}
		got := files[slices.IndexFunc(files, func(f template.File) bool { return f.Name == "README.md" })].Text
		if string(got) != strings.ReplaceAll(want.String(), "pigeon", "raven") {
			t.Errorf("the README differs from what text/template makes of it:\n%s", got)
		}
	})
}

func TestModule(t *testing.T) {
	const head = "module example.com/raven\n\ngo 1.26.0\n\nrequire github.com/wharf-mcp/wharf "
	for _, tt := range []struct {
		module template.Module
		want   []string
	}{
		{template.Module{Version: "v1.2.3"}, []string{head + "v1.2.3\n"}},
		{template.Module{Version: "v0.0.0", Dir: "/src/wharf"}, []string{head + "v0.0.0\n\n", "\nreplace github.com/wharf-mcp/wharf => /src/wharf\n"}},
		{template.Module{Version: "v0.0.0", Dir: `C:/My Code/wharf`}, []string{"=> \"C:/My Code/wharf\"\n"}},
	} {
		files, err := template.Plugin{Name: "raven", Kind: template.Transport, Lang: template.Go, Module: tt.module}.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if mod := string(files[1].Text); !strings.Contains(mod, want) || tt.module.Dir == "" && mod != want {
				t.Errorf("%+v: %s\nlacks %q", tt.module, mod, want)
			}
		}
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "\ngo 1.26.0\n") {
		t.Error("the go.mod of Wharf wants another Go than those of new plugins")
	}
}

// What would be a path, or is otherwise no name, is refused; so is what is not known.
func TestPluginsThatAreNone(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../raven", "a/b", `a\b`, "/raven", "Raven", "-raven", "ra ven", "räven", "raven.wasm", "c:raven", "~", strings.Repeat("r", 65)} {
		if _, err := (template.Plugin{Name: name, Kind: template.Auth, Lang: template.C}).Files(); err == nil || !strings.Contains(err.Error(), "a name is") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := (template.Plugin{Name: "raven", Kind: "ship", Lang: template.C}).Files(); err == nil || !strings.Contains(err.Error(), "expected transport, auth or policy") {
		t.Error(err)
	}
	if _, err := (template.Plugin{Name: "raven", Kind: template.Auth, Lang: "cobol"}).Files(); err == nil || !strings.Contains(err.Error(), "expected one of go, c, rust") {
		t.Error(err)
	}
	if _, err := (template.Plugin{Name: "raven", Kind: template.Policy, Lang: template.Rust}).Files(); err == nil || err.Error() != `language "rust": expected go or c for a plugin of the kind policy` {
		t.Error(err)
	}
}
