//go:build !wasip1

// Package stdio_test compares the module of the folder with its source. What the module
// does is tested in host/internal/guest: it keeps to the traces in testdata, and does
// whatever its twin in Go does, examples/transport-stdio.
package stdio_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compiler is the one that the committed module is of.
const compiler = "Debian clang version 14.0.6"

// The module is what its source gives. Whoever has another compiler, or none, takes
// the word of somebody who has it.
func TestSource(t *testing.T) {
	version, err := exec.Command("clang", "--version").Output()
	if err != nil {
		t.Skip("clang is not here, so the module is not compared with its source: apt-get install clang lld")
	}
	for _, tool := range []string{"wasm-ld", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not here, so the module is not compared with its source: apt-get install lld")
		}
	}
	file := filepath.Join(t.TempDir(), "stdio.wasm")
	if out, err := exec.Command("sh", "build", file).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if line, _, _ := strings.Cut(string(version), "\n"); !strings.HasPrefix(line, compiler) {
		t.Skipf("the committed module is of %s; this is %s", compiler, line)
	}
	built, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if committed, err := os.ReadFile("stdio.wasm"); err != nil || !bytes.Equal(built, committed) {
		t.Errorf("stdio.wasm is not what its source gives: run ./build (%v)", err)
	}
}
