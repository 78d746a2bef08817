package pluginbuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
)

// folder returns a folder with files in it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pigeon")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const mod = "module example.com/pigeon\n\ngo 1.26.0\n"

// What is written is what is said, and the same from another folder.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds modules, which takes a while")
	}
	var hashes []string
	for range 2 {
		dir := folder(t, map[string]string{"go.mod": mod, "main.go": "package main\n\nfunc main() { println(\"coo\") }\n"})
		m, err := Build(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if m.File != filepath.Join(dir, "pigeon.wasm") || m.Go != Toolchain {
			t.Errorf("%+v", m)
		}
		written, err := os.ReadFile(m.File)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(written)
		if m.SHA256 != hex.EncodeToString(sum[:]) || m.Size != int64(len(written)) {
			t.Errorf("%+v of %d bytes, %x", m, len(written), sum)
		}
		if again, before, _, err := Join(written); err != nil || !bytes.Equal(again, written) || m.Segments != before || m.Joined <= before {
			t.Errorf("%+v, and %d segments: %v", m, before, err)
		}
		hashes = append(hashes, m.SHA256)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("two builds: %q", hashes)
	}
}

// Source that does not compile is told as the compiler tells it, from its first line,
// and leaves no module behind. The user's flags change nothing.
func TestSourceThatDoesNotCompile(t *testing.T) {
	t.Setenv("GOFLAGS", "-nonsense")
	dir := folder(t, map[string]string{"go.mod": mod, "main.go": "package main\n\nfunc main() { coo() }\n" + strings.Repeat("var _ = caw\n", 9)})
	_, err := Build(t.Context(), Options{Dir: dir})
	var compile *CompileError
	if !errors.As(err, &compile) || !strings.Contains(compile.Output, "./main.go:3:15: undefined: coo") || !strings.Contains(compile.Output, "main.go:9:9") {
		t.Fatalf("%v: %+v", err, compile)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

// What hinders the go command itself is told as well.
func TestModuleThatIsNone(t *testing.T) {
	_, err := Build(t.Context(), Options{Dir: folder(t, map[string]string{"go.mod": "module\n", "main.go": "package main\n"})})
	var compile *CompileError
	if !errors.As(err, &compile) || !strings.Contains(compile.Output, "go.mod:1") {
		t.Fatalf("%v: %+v", err, compile)
	}
}

func TestFoldersThatAreNone(t *testing.T) {
	if _, err := Build(t.Context(), Options{Dir: folder(t, map[string]string{"plugin.c": ""})}); !errors.Is(err, ErrNoGo) {
		t.Errorf("C: %v", err)
	}
	if _, err := Build(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	file := filepath.Join(folder(t, map[string]string{"main.go": ""}), "main.go")
	if _, err := Build(t.Context(), Options{Dir: file}); !errors.As(err, new(*fs.PathError)) {
		t.Errorf("a file: %v", err)
	}
}

// A go command that is not there, or is another and stays it, is told before
// anything is compiled.
func TestToolchainThatCannotBeHad(t *testing.T) {
	dir := folder(t, map[string]string{"go.mod": mod, "main.go": "package main\n\nfunc main() {}\n"})
	for _, tt := range []struct{ name, script, want string }{
		{"none", "", "Go installed?"},
		{"offline", "echo 'go: download go1.26.8: toolchain not available' >&2; exit 1", "toolchain not available"},
		{"too old to know", "echo go version go1.19 linux/amd64", "the go command is go1.19, and cannot fetch another"},
		{"something else", "echo play stones", `says "play stones"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			t.Setenv("PATH", bin)
			if tt.script != "" {
				if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+tt.script+"\n"), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Build(t.Context(), Options{Dir: dir})
			var toolchain *ToolchainError
			if !errors.As(err, &toolchain) || toolchain.Want != Toolchain || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// The plugins of this repository are built by the Makefile, with the same toolchain
// and flags.
func TestMakefile(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	quoted := strings.Join(flags[1:], " ")
	quoted = strings.Replace(quoted, "-ldflags=-s -w -buildid=", "-ldflags='-s -w -buildid='", 1)
	environ := gocmd{toolchain: Toolchain}.environ()
	makefile = bytes.ReplaceAll(makefile, []byte("$(TOOLCHAIN)"), []byte(Toolchain))
	for _, want := range []string{"TOOLCHAIN  = " + Toolchain, strings.Join(environ[len(environ)-6:], " "), quoted} {
		if !bytes.Contains(makefile, []byte(want)) {
			t.Errorf("the Makefile lacks %q", want)
		}
	}
}

func TestCompilerOutput(t *testing.T) {
	out := &process.Output{
		Stdout: []byte(`{"Action":"build-output","Output":"# pigeon\n"}` + "\n" + `{"Action":"build-output","Output":"x.go:1: no\n"}` +
			"\n" + `{"Action":"build-fail"}` + "\nnot JSON\n"),
		Stderr: "go: last\ngo: words",
	}
	if got, want := compilerOutput(out), "# pigeon\nx.go:1: no\ngo: last\ngo: words\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
