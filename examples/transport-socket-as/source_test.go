// Package socket_test compares the module of the folder with its source. What the
// module does is tested beside the one in Go, in examples/transport-socket.
package socket_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The module is what its source gives, for those who have the compiler of
// package.json: here, or where WHARF_INTEROP names a folder with it.
func TestSource(t *testing.T) {
	asc, version := compiler(t)
	if !strings.Contains(string(read(t, "package.json")), `"assemblyscript": "`+version+`"`) {
		t.Skipf("package.json has another assemblyscript than %s", version)
	}
	file := filepath.Join(t.TempDir(), "socket.wasm")
	cmd := exec.Command("sh", "build", file)
	cmd.Env = append(os.Environ(), "ASC="+asc)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if !bytes.Equal(read(t, file), read(t, "socket.wasm")) {
		t.Error("socket.wasm is not what its source gives: run ./build")
	}
}

// compiler returns where asc is, and its version.
func compiler(t *testing.T) (asc, version string) {
	t.Helper()
	for _, dir := range []string{".", os.Getenv("WHARF_INTEROP")} {
		asc, err := filepath.Abs(filepath.Join(dir, "node_modules", "assemblyscript", "bin", "asc.js"))
		if err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command("node", asc, "--version").Output(); err == nil {
			_, version, _ = strings.Cut(strings.TrimSpace(string(said)), " ")
			return asc, version
		}
	}
	t.Skip("asc is not here, so the module is not compared with its source: npm install")
	return "", ""
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
