package wasm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nowhere is a folder that cannot be made, not even by root.
func nowhere(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(file, "cache")
}

// TestACacheThatCannotBeMade costs time, and a word for it.
func TestACacheThatCannotBeMade(t *testing.T) {
	var heard []error
	hear := func(err error) { heard = append(heard, err) }
	dir := nowhere(t)
	e, err := NewEngine(t.Context(), Config{ABI: plain, CacheDir: dir, CacheUnavailable: hear})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if len(heard) > 0 {
		t.Errorf("before there is anything to keep: %v", heard)
	}
	works(t, start(t, e, one(seq(get(0), i32c(1), 0x6a)).bytes()))
	c := extismConfig
	c.CacheDir, c.CacheUnavailable = dir, hear
	if err := newExtism(t, c).run(t, t.Context(), forExtism(nil).bytes(), false); err != nil {
		t.Error(err)
	}
	if len(heard) != 2 || !strings.HasPrefix(heard[0].Error(), "plugin cache: ") || !strings.Contains(heard[1].Error(), dir) {
		t.Errorf("heard %v, want the engine and Extism once each", heard)
	}
	if err := CheckCache(dir); err == nil {
		t.Error("it was found good")
	}
}

// TestACacheThatIsFullLater runs what it cannot keep: wazero calls that an error.
func TestACacheThatIsFullLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	full := func() {
		if err := os.RemoveAll(dir); err != nil { // not even root can write to it now
			t.Fatal(err)
		}
	}
	if err := CheckCache(dir); err != nil {
		t.Fatal(err)
	}
	var heard []error
	hear := func(err error) { heard = append(heard, err) }
	e, err := NewEngine(t.Context(), Config{ABI: plain, CacheDir: dir, CacheUnavailable: hear})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c := extismConfig
	c.CacheDir, c.CacheUnavailable = dir, hear
	a := newExtism(t, c)
	binary := one(seq(get(0), i32c(1), 0x6a)).bytes()
	works(t, start(t, e, binary))
	full()
	works(t, start(t, e, one(seq(get(0), i32c(1), 0x6a, 0x01)).bytes()))
	works(t, start(t, e, one(seq(get(0), i32c(1), 0x6a, 0x01, 0x01)).bytes()))
	if len(heard) != 1 {
		t.Errorf("heard %v, want it once", heard)
	}
	err = a.compiles(t, forExtism(nil).bytes())
	if err == nil || !a.CacheFailed(err) {
		t.Fatalf("got %v, want an error of the disk", err)
	}
	if err := a.compiles(t, forExtism(nil).bytes()); err != nil || len(heard) != 2 {
		t.Errorf("the second time: %v, heard %v", err, heard)
	}
	if a.CacheFailed(errors.New("section 3 is cut off")) {
		t.Error("a module that is no good was taken for a disk that is full")
	}
}
