package template

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
	"github.com/wharf-mcp/wharf/sdk/assemblyscript"
	"github.com/wharf-mcp/wharf/sdk/c"
	"github.com/wharf-mcp/wharf/sdk/rust"
)

// The kinds of plugins.
const (
	Transport = "transport"
	Auth      = "auth"
	Policy    = "policy"
)

// The languages of templates.
const (
	Go             = "go"
	C              = "c"
	Rust           = "rust"
	AssemblyScript = "assemblyscript"
)

// Kinds are the kinds of plugins, the usual one first.
func Kinds() []string { return []string{Transport, Auth, Policy} }

// Languages are the languages that there are templates in, the usual one first. Not each has one of every kind.
func Languages() []string { return []string{Go, C, Rust, AssemblyScript} }

//go:embed transport auth policy
var plugins embed.FS

// contracts are the files beside a template that hold the contract in its language,
// by kind and language: those that there are templates of. A plugin in Go imports the contract.
var contracts = map[string]map[string]string{
	"transport/go":             {},
	"auth/go":                  {},
	"transport/c":              {"wharf.h": c.Header},
	"auth/c":                   {"extism.h": c.Extism, "json.h": c.JSON},
	"transport/rust":           {"wharf.rs": rust.Wharf},
	"auth/rust":                {"auth.rs": rust.Auth},
	"transport/assemblyscript": {"wharf.ts": assemblyscript.Wharf},
	"auth/assemblyscript":      {"auth.ts": assemblyscript.Auth},
	"policy/go":                {},
	"policy/c":                 {"extism.h": c.Extism, "json.h": c.JSON},
}

// example is what the templates are called.
const example = "pigeon"

// namePattern is what a plugin may be called, as everywhere in Wharf: no such name
// is a path.
var namePattern = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ValidName reports whether a plugin may be called name.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// Plugin describes the plugin whose first files are written.
type Plugin struct {
	Name   string // see [ValidName]
	Kind   string // of [Kinds]
	Lang   string // of [Languages]
	Module Module // for Go
}

// Module is where a plugin in Go gets Wharf's module from.
type Module struct {
	Version string // that it requires
	Dir     string // of the source that it is built with in place of the version; "" = none
}

// File is a file to write.
type File struct {
	Name    string // without a folder
	Text    []byte
	Program bool // it is run
}

// Files returns the files of a plugin, in the order of their names.
func (p Plugin) Files() ([]File, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	files := maps.Clone(contracts[p.Kind+"/"+p.Lang])
	if p.Lang == Go {
		files["go.mod"] = p.Module.file(p.Name)
	}
	readme, err := p.readme()
	if err != nil {
		return nil, err
	}
	files["README.md"] = readme
	for _, dir := range []string{p.Kind, path.Join(p.Kind, p.Lang)} { // the first has what all languages share
		entries, err := plugins.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || e.Name() == "README.md" {
				continue
			}
			source, err := fs.ReadFile(plugins, path.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			files[e.Name()] = strings.ReplaceAll(string(source), example, p.Name)
		}
	}
	var all []File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, File{name, []byte(files[name]), strings.HasPrefix(files[name], "#!")})
	}
	return all, nil
}

func (p Plugin) check() error {
	switch {
	case !ValidName(p.Name):
		return fmt.Errorf("plugin %q: a name is lower-case letters, digits and dashes", p.Name)
	case !slices.Contains(Kinds(), p.Kind):
		return fmt.Errorf("kind %q: expected %s", p.Kind, oneOf(Kinds()))
	case !slices.Contains(Languages(), p.Lang):
		return fmt.Errorf("language %q: expected one of %s", p.Lang, strings.Join(Languages(), ", "))
	case contracts[p.Kind+"/"+p.Lang] == nil:
		has := slices.DeleteFunc(Languages(), func(lang string) bool { return contracts[p.Kind+"/"+lang] == nil })
		return fmt.Errorf("language %q: expected %s for a plugin of the kind %s", p.Lang, oneOf(has), p.Kind)
	}
	return nil
}

// oneOf are words as a choice: "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// readme returns the README of the kind, with the parts that are for the language.
func (p Plugin) readme() (string, error) {
	text, err := plugins.ReadFile(p.Kind + "/README.md")
	return strings.ReplaceAll(p.choose(string(text)), example, p.Name), err
}

// condition is a mark in a README that begins or ends a part for some languages.
var condition = lazyregexp.New(`\{\{(?:(if|else if) (eq|ne) \.Lang "(\w+)"|(else|end))\}\}`)

// choose leaves out the parts of a README that are for other languages. Its marks are a
// few of text/template, which is not used: it looks for methods by their names, so that
// the linker would keep all methods in each program that makes plugins, 3 MB in Wharf's.
func (p Plugin) choose(text string) string {
	type choice struct{ kept, was bool } // the part is kept; one before it was
	var out strings.Builder
	within := []choice{{kept: true}}
	rest := 0
	for _, at := range condition.FindAllStringSubmatchIndex(text, -1) {
		mark := condition.FindStringSubmatch(text[at[0]:at[1]])
		inner := &within[len(within)-1]
		if inner.kept {
			out.WriteString(text[rest:at[0]])
		}
		rest = at[1]
		holds := mark[2] == "" || (mark[3] == p.Lang) == (mark[2] == "eq")
		switch {
		case mark[1] == "if":
			within = append(within, choice{inner.kept && holds, !inner.kept || holds})
		case mark[4] == "end":
			within = within[:len(within)-1]
		default: // else, of a condition or of none
			inner.kept, inner.was = holds && !inner.was, inner.was || holds
		}
	}
	return out.String() + text[rest:]
}

// Build is the command that builds the plugin, in its folder.
func (p Plugin) Build() string {
	if p.Lang == Go {
		return "wharf plugin build"
	}
	return "./build"
}

// Test is the command that tests the plugin, in its folder.
func (p Plugin) Test() string {
	test := "wharf plugin test " + p.Name + ".wasm"
	if p.Kind == Policy {
		test += " --profile cases.json"
	}
	return test
}

// goVersion is the version of the language in Wharf's own go.mod. A module that
// requires Wharf cannot have an older one.
const goVersion = "1.26.0"

// modulePath is that of Wharf.
const modulePath = "github.com/wharf-mcp/wharf"

// file is the go.mod of a plugin. The module has a name that no other module has by mistake,
// and stands by itself.
func (m Module) file(name string) string {
	mod := fmt.Sprintf("module example.com/%s\n\ngo %s\n\nrequire %s %s\n", name, goVersion, modulePath, m.Version)
	if m.Dir == "" {
		return mod
	}
	return mod + fmt.Sprintf("\n// Built with the source of this folder, and not with a release. Delete the line to\n"+
		"// change that, and run `go get %s@latest`.\nreplace %s => %s\n", modulePath, modulePath, quoted(m.Dir))
}

// quoted is a path as it stands in a go.mod.
func quoted(dir string) string {
	if strings.ContainsAny(dir, " \t()[]{},\"'`;") || strings.Contains(dir, "//") {
		return strconv.Quote(dir)
	}
	return dir
}
