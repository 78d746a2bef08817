package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Two builds of a commit, in folders of their own, give the same bytes.
func TestReproducible(t *testing.T) {
	var outs [2]string
	for i := range outs {
		outs[i] = filepath.Join(t.TempDir(), "out")
		if err := release("..", outs[i], []string{"linux/amd64"}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(outs[0])
	if err != nil || len(entries) != 4 {
		t.Fatalf("%d files, want an archive, a package, a formula and the hashes; %v", len(entries), err)
	}
	for _, e := range entries {
		a, _ := os.ReadFile(filepath.Join(outs[0], e.Name()))
		b, _ := os.ReadFile(filepath.Join(outs[1], e.Name()))
		if len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s: two builds differ", e.Name())
		}
	}
	check := exec.Command("sha256sum", "--strict", "-c", "SHA256SUMS")
	check.Dir = outs[0]
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
