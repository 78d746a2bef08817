package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestInteropTypeScript compiles the clients in TypeScript below testdata together with
// the official SDK. It wants a folder with a node_modules in it:
//
//	npm install --prefix servers typescript @modelcontextprotocol/sdk
//	WHARF_INTEROP=$PWD/servers go test -run Interop ./cmd/wharf/internal/generate
func TestInteropTypeScript(t *testing.T) {
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with a compiler of TypeScript")
	}
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(modules, ".bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck",
		"--target", "es2022", "--module", "nodenext", "--erasableSyntaxOnly", "--noUnusedLocals", "check.ts")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}
