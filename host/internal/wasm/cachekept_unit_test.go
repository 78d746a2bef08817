package wasm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What is in the cache is taken if it matches. What does not is made again, or, by an engine
// that makes nothing, refused. Nothing is compiled for that.
func TestWhatIsTakenFromTheCache(t *testing.T) {
	b := one(get(0)).bytes()
	sound, err := meterModule("test", b, Limits{}, EventBudget)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		kept        []byte // nil: nothing
		precompiled bool
		missing     bool // is the error
		spoiled     bool // says so
	}{
		"nothing":                       {},
		"sound":                         {kept: sound},
		"a lie":                         {kept: b},
		"nothing, where none is made":   {precompiled: true, missing: true},
		"sound, where nothing is made":  {kept: sound, precompiled: true},
		"a lie, where nothing is made":  {kept: b, precompiled: true, missing: true, spoiled: true},
		"damaged, where none is made":   {kept: []byte("damaged"), precompiled: true, missing: true, spoiled: true},
		"damaged, and it is made again": {kept: []byte("damaged")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			e, err := NewEngine(t.Context(), Config{ABI: plain, CacheDir: dir, Precompiled: test.precompiled})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if test.kept != nil {
				e.cache.put(Hash(b), test.kept)
			}
			m, err := e.Load(t.Context(), "test", b)
			if errors.Is(err, ErrNotCompiled) != test.missing || errors.As(err, new(*SpoiledError)) != test.spoiled || (err == nil) == test.missing {
				t.Fatalf("says %v", err)
			}
			if test.missing {
				return
			}
			if kept, ok := e.cache.get(Hash(b)); !ok || !bytes.Equal(kept, sound) || !bytes.Equal(m.metered, sound) {
				t.Errorf("%d bytes are kept, %d are used, want %d", len(kept), len(m.metered), len(sound))
			}
			if err := m.Compile(t.Context()); errors.Is(err, ErrNotCompiled) != test.precompiled {
				t.Errorf("compiling says %v", err)
			}
		})
	}
}

// A cache that another process fills may hold what must not be read, and must be there.
func TestEnginesThatCompileNothing(t *testing.T) {
	if _, err := NewEngine(t.Context(), Config{ABI: plain, Precompiled: true}); !errors.As(err, new(*SpoiledError)) {
		t.Errorf("without a cache: %v", err)
	}
	e, err := NewEngine(t.Context(), Config{ABI: plain, Precompiled: true, CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	folder := filepath.Join(e.cache.native, "v1")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "a"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Load(t.Context(), "test", one(get(0)).bytes()); !errors.As(err, new(*SpoiledError)) || !errors.Is(err, errNative) {
		t.Errorf("says %v", err)
	}
}

// A module that cannot be compiled says nothing about the cache.
func TestCompileErrorsAreNotOfTheCache(t *testing.T) {
	e, err := NewEngine(t.Context(), Config{ABI: plain, CacheUnavailable: func(err error) { t.Errorf("the cache: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, err := e.Load(t.Context(), "test", one(seq(opI32Add)).bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Compile(t.Context()); err == nil {
		t.Error("an addition of nothing compiles")
	}
}

// A provider that is compiled elsewhere needs a cache; another goes without.
func TestCachesOfExtism(t *testing.T) {
	open := func(dir string, precompiled bool) (heard int, err error) {
		c := extismConfig
		c.CacheDir, c.Precompiled, c.CacheUnavailable = dir, precompiled, func(error) { heard++ }
		x, err := NewExtism(c)
		if err == nil {
			defer x.Close()
		}
		return heard, err
	}
	for _, precompiled := range []bool{true, false} {
		if heard, err := open(filepath.Join(t.TempDir(), "cache"), precompiled); heard != 0 || err != nil {
			t.Errorf("precompiled %v: %v, said %d times", precompiled, err, heard)
		}
	}
	if heard, err := open(nowhere(t), true); heard != 0 || !errors.As(err, new(*SpoiledError)) {
		t.Errorf("precompiled, and nowhere: %v, said %d times", err, heard)
	}
	if heard, err := open(nowhere(t), false); heard != 1 || err != nil {
		t.Errorf("nowhere: %v, said %d times", err, heard)
	}
}

// When the cache fails, another takes its place once, and the first is kept to be closed.
func TestACacheThatFails(t *testing.T) {
	heard := 0
	c := extismConfig
	c.CacheDir, c.CacheUnavailable = filepath.Join(t.TempDir(), "cache"), func(error) { heard++ }
	x := newExtism(t, c)
	first := x.native
	if x.CacheFailed(errors.New("no file error")) || x.native != first || heard != 0 {
		t.Error("another error is taken for one of the cache")
	}
	full := &os.PathError{Op: "write", Path: "native", Err: errors.New("full")}
	if !x.CacheFailed(full) || x.native == first || x.unwritable != first || heard != 1 {
		t.Errorf("the cache was not replaced, said %d times", heard)
	}
	second := x.native
	if !x.CacheFailed(full) || x.native != second || x.unwritable != first || heard != 1 {
		t.Errorf("it was replaced again, said %d times", heard)
	}
	if newExtism(t, extismConfig).CacheFailed(full) {
		t.Error("without a cache")
	}
}

// The first instance has no other to share memory with.
func TestTheFirstInstanceIsAlone(t *testing.T) {
	m, err := newEngine(t, plain).Load(t.Context(), "test", one(get(0)).bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []bool{true, false, false} {
		in, err := m.Instantiate(t.Context(), InstanceConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if in.first != first {
			t.Errorf("first: %v, want %v", in.first, first)
		}
	}
}

// CheckCache tries both folders, and leaves nothing there.
func TestCheckCacheTriesBothFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := CheckCache(dir); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"metered", "native"} {
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckCache(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"metered", "native"} {
		folder := filepath.Join(dir, name)
		info, err := os.Stat(folder)
		if left, _ := os.ReadDir(folder); err != nil || len(left) > 0 || time.Since(info.ModTime()) > 30*time.Minute {
			t.Errorf("%s was changed at %v, and has %v, %v", name, info.ModTime(), left, err)
		}
	}
}

// An instance whose memory is on the heap shares nothing.
func TestHeapMemoryIsNotShared(t *testing.T) {
	if err := new(Instance).share(true); err != nil {
		t.Error(err)
	}
}
