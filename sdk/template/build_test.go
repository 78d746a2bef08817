package template_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/sdk/template"
)

// toolchain says what builds a language: programs in PATH, and how to get them. A
// variable may name the compiler, as it does for the build scripts.
type toolchain struct {
	programs []string
	remedy   string
}

var toolchains = map[string]toolchain{
	template.Go:             {[]string{"go"}, "https://go.dev/dl"},
	template.C:              {[]string{"clang", "wasm-ld"}, "apt-get install clang lld"},
	template.Rust:           {[]string{"rustc"}, "rustup target add wasm32-unknown-unknown"},
	template.AssemblyScript: {[]string{"node"}, "npm install assemblyscript, and WHARF_INTEROP names the folder"},
}

// build writes a plugin, builds it with its script, or with Go where it has none, and
// returns the module. It skips the test where there is no toolchain.
func build(t *testing.T, p template.Plugin) string {
	t.Helper()
	return buildChanged(t, p, func(source string) string { return source })
}

// buildChanged is build, with another source than what is written.
func buildChanged(t *testing.T, p template.Plugin, change func(source string) string) string {
	t.Helper()
	if !testenv.Long() && (p.Lang == template.Rust || p.Lang == template.AssemblyScript) {
		t.Skip("WHARF_LONG=1 builds the templates in this language, which takes seconds")
	}
	tools := toolchains[p.Lang]
	for _, program := range append(tools.programs, "sh") {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not here, so the template is not built: %s", program, tools.remedy)
		}
	}
	dir := write(t, p, change)
	cmd := exec.Command("sh", "build")
	cmd.Dir, cmd.Env = dir, os.Environ()
	switch p.Lang {
	case template.Go:
		cmd.Path, cmd.Args = tool(t, "go"), []string{"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", p.Name + ".wasm", "."}
		cmd.Env = append(cmd.Env, "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOPROXY=off")
	case template.Rust:
		cmd.Env = append(cmd.Env, "RUSTC="+rustc(t))
	case template.AssemblyScript:
		asc := filepath.Join(os.Getenv("WHARF_INTEROP"), "node_modules", "assemblyscript", "bin", "asc.js")
		if _, err := os.Stat(asc); err != nil {
			t.Skipf("asc is not here, so the template is not built: %s", tools.remedy)
		}
		cmd.Env = append(cmd.Env, "ASC="+asc)
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, said)
	} else {
		t.Logf("%s", said)
	}
	return filepath.Join(dir, p.Name+".wasm")
}

// tool returns where a program is that has been found already.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// root is where the source of Wharf is.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(dir)
}

// rustc returns a compiler that has the target: RUSTC, the one in PATH, or the one of
// the system behind it.
func rustc(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("RUSTC"), "rustc", "/usr/bin/rustc"} {
		if name == "" {
			continue
		}
		libs, err := exec.Command(name, "--print", "target-libdir", "--target", "wasm32-unknown-unknown").Output()
		if err != nil {
			continue
		}
		if core, _ := filepath.Glob(filepath.Join(string(libs[:max(0, len(libs)-1)]), "libcore-*.rlib")); core != nil {
			return name
		}
	}
	t.Skip("no rustc here has the target wasm32-unknown-unknown, so the template is not built: rustup target add wasm32-unknown-unknown")
	return ""
}

// write writes a plugin into a folder of its own.
func write(t *testing.T, p template.Plugin, change func(source string) string) string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		text := string(f.Text)
		if strings.HasPrefix(f.Name, "plugin.") || f.Name == "main.go" {
			text = change(text)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What is written builds, and passes the kit as it is. That of Go is built by the
// command, in cmd/wharf.
func TestTransports(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins, which takes a while")
	}
	for _, lang := range []string{template.C, template.Rust, template.AssemblyScript} {
		t.Run(lang, func(t *testing.T) {
			plugintest.Test(t, build(t, template.Plugin{Name: "carrier-pigeon", Kind: template.Transport, Lang: lang}))
		})
	}
}

// The policies build, and answer what their cases say. That of Go is built by the
// command, in cmd/wharf.
func TestPolicies(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins, which takes a while")
	}
	cases, err := plugintest.ReadProfile("policy/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	plugintest.TestWith(t, build(t, template.Plugin{Name: "carrier-pigeon", Kind: template.Policy, Lang: template.C}), plugintest.Options{Profile: cases})
}
