package plugins

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Every folder is a plugin that is shipped, under its name.
func TestBuiltin(t *testing.T) {
	found, err := filepath.Glob("*/*.wasm")
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	shipped := Builtin()
	var names []string
	for _, file := range found {
		name := filepath.Dir(file)
		names = append(names, name)
		binary, err := os.ReadFile(filepath.Join(name, name+".wasm"))
		if err != nil || !bytes.Equal(binary, shipped[name]) {
			t.Errorf("%s is not what is shipped under its name (%v)", name, err)
		}
	}
	if got := slices.Sorted(maps.Keys(shipped)); !slices.Equal(got, names) {
		t.Errorf("shipped are %q, the folders are %q", got, names)
	}
}
