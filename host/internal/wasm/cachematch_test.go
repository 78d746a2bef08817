package wasm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// lies are modules that stand in the cache for one(get(0)), metered: each is what the
// host would run in its place.
func lies(t *testing.T) map[string][]byte {
	t.Helper()
	sound, err := meterModule("test", one(get(0)).bytes(), Limits{}, EventBudget)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{
		"text":      []byte("#!/bin/sh"),
		"half":      sound[:len(sound)/2],
		"unmetered": one(get(0)).bytes(),
		"too large": append(bytes.Clone(sound), seq(sectionCustom, appendU32(nil, 2<<20), appendName(nil, "x"), make([]byte, 2<<20-2))...),
	}
	with := func(name string, change func(b *build)) {
		b := one(get(0))
		b.raw = map[byte][]byte{sectionGlobal: seq(3, typeI64, 1, opI64Const, 0, opEnd, typeI64, 1, opI64Const, 0, opEnd, typeI32, 1, i32c(0), opEnd)}
		b.exports = append(b.exports, exported{fuelGlobal, externGlobal, 0}, exported{budgetGlobal, externGlobal, 1}, exported{depthGlobal, externGlobal, 2})
		change(&b)
		all[name] = b.bytes()
	}
	with("a start section", func(b *build) {
		b.funcs = append(b.funcs, fn{typ: nullary, code: []byte{opUnreachable}})
		b.raw[sectionStart] = []byte{1}
	})
	with("an import", func(b *build) {
		b.imports = []imported{{wasiModule, "sched_yield", externFunction, 2}}
		b.types = append(b.types, signature{results: i32})
		b.exports[1].index = 1
	})
	with("no counter", func(b *build) { b.exports = b.exports[:4] })
	with("a counter of another name", func(b *build) { b.exports[2].name = "fuel" })
	with("a counter that cannot be set", func(b *build) { b.raw[sectionGlobal][2] = 0 })
	with("a counter of another type", func(b *build) { b.exports[2].index = 2 })
	with("a counter that is a function", func(b *build) { b.exports[2].kind, b.exports[2].index = externFunction, 0 })
	with("no memory", func(b *build) { b.exports[0] = exported{"memory", externFunction, 0} })
	with("more memory", func(b *build) { b.memory.max = 1 << 16 })
	with("a table", func(b *build) { b.tables = []bounds{{min: 1 << 31}} })
	with("an export of another type", func(b *build) { b.funcs[0] = fn{typ: nullary} })
	with("an export more", func(b *build) { b.exports = append(b.exports, exported{initialize, externFunction, 0}) })
	with("4 billion types", func(b *build) { b.raw[sectionType] = appendU32(nil, 1<<32-1) })
	with("4 billion locals", func(b *build) { b.funcs[0].locals = []uint32{1<<32 - 1} })
	return all
}

// TestLiesInTheCacheAreFoundOut has something else in the cache than the metered form
// of a module. An engine meters it anew; one that makes nothing says so.
func TestLiesInTheCacheAreFoundOut(t *testing.T) {
	binary := one(get(0)).bytes()
	for name, lie := range lies(t) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			s, err := openCacheDir(dir, Limits{}.withDefaults(), EventBudget)
			if err != nil {
				t.Fatal(err)
			}
			s.put(Hash(binary), lie)
			if _, found := s.get(Hash(binary)); !found {
				t.Fatal("it is not in the cache")
			}
			open := func(precompiled bool) *Engine {
				e, err := NewEngine(t.Context(), Config{ABI: plain, CacheDir: dir, Precompiled: precompiled})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { e.Close() })
				return e
			}
			taken := allocates(func() {
				if _, err := open(true).Load(t.Context(), "test", binary); !errors.Is(err, ErrNotCompiled) || !errors.As(err, new(*SpoiledError)) {
					t.Errorf("taken as it is: %v", err)
				}
			})
			if taken > 16<<20 {
				t.Errorf("%d bytes are allocated for %d", taken, len(lie))
			}
			if got, err := start(t, open(false), binary).Export("run").Call(EventBudget, 7); got != 7 || err != nil {
				t.Errorf("says %d, %v", got, err)
			}
			if _, err := open(true).Load(t.Context(), "test", binary); err != nil {
				t.Errorf("it was not replaced: %v", err)
			}
		})
	}
}

// A file that is too large to be a metered form is not read.
func TestCacheEntriesAreBounded(t *testing.T) {
	s, err := openCacheDir(filepath.Join(t.TempDir(), "cache"), Limits{}.withDefaults(), EventBudget)
	if err != nil {
		t.Fatal(err)
	}
	s.put("hash", []byte("metered"))
	if err := os.Truncate(s.path("hash"), maxCacheFile+1); err != nil {
		t.Fatal(err)
	}
	if taken := allocates(func() { _, _ = s.get("hash") }); taken > 1<<20 {
		t.Errorf("%d bytes are read", taken)
	}
}

// The metered form of each honest module, and of what is generated, is found again.
func TestMeteredFormsMatch(t *testing.T) {
	modules := honest(t)
	for n := range 100 {
		seed := bytes.Repeat([]byte{byte(n), byte(7 * n), 13, byte(n * n)}, 3*n)
		modules["generated "+string(rune('0'+n))] = generate(seed).bytes()
	}
	modules["dispatcher"], modules["fills"] = dispatching().bytes(), one(seq(repeat(500, i32c(0), i32c(0), i32c(0), opMiscPrefix, 0x0b, 0), get(0))).bytes()
	for name, binary := range modules {
		m, err := read(binary, defaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		m.scanAll()
		if err := m.findings.refusal(name); err != nil {
			t.Fatal(err)
		}
		if err := m.matches(m.meter(EventBudget)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
