package plugins

import (
	"bytes"
	"compress/gzip"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	built  = flag.String("built", "", "the `FOLDER` in which make has built the plugins in Go")
	update = flag.Bool("update", false, "compress what is built into the folders of the plugins")
)

// Every folder is a plugin that is shipped, under its name. With -built, a module is
// compared with what its source gives, whichever release of Go has compressed it.
func TestBuiltin(t *testing.T) {
	found, err := filepath.Glob("*/*.wasm*")
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	shipped := Builtin()
	var names []string
	for _, file := range found {
		name := filepath.Dir(file)
		names = append(names, name)
		module, err := os.ReadFile(filepath.Join(name, name+".wasm"))
		if strings.HasSuffix(file, ".gz") {
			if *built == "" {
				continue
			}
			if module, err = os.ReadFile(filepath.Join(*built, name+".wasm")); *update && err == nil {
				compress(t, file, module)
				continue
			}
		}
		if err != nil || !bytes.Equal(module, shipped[name]()) {
			t.Errorf("%s is not what is shipped under its name: run make wasm (%v)", name, err)
		}
	}
	if got := slices.Sorted(maps.Keys(shipped)); !slices.Equal(got, names) {
		t.Errorf("shipped are %q, the folders are %q", got, names)
	}
}

// compress writes a module, without a date.
func compress(t *testing.T, file string, module []byte) {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(module) // a buffer takes all
	_ = w.Close()
	if err := os.WriteFile(file, packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Each call of a function of Builtin returns a module, and the same one.
func TestUnpacked(t *testing.T) {
	for name, module := range Builtin() {
		first, second := module(), module()
		if !bytes.HasPrefix(first, []byte("\x00asm")) || !bytes.Equal(first, second) {
			t.Errorf("%s: of %d bytes, and then of %d", name, len(first), len(second))
		}
	}
}
