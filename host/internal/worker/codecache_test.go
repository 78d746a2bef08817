package worker

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// hashOf is a hash that can be told from others by its beginning.
func hashOf(begin string) string { return begin + strings.Repeat("0", 64-len(begin)) }

// filled returns a cache that keeps 100 bytes for a day.
func filled(t *testing.T) *CodeCache {
	t.Helper()
	c := NewCodeCache(filepath.Join(t.TempDir(), "apart"))
	c.size, c.age = 100, 24*time.Hour
	if err := c.folder.Claim(); err != nil {
		t.Fatal(err)
	}
	return c
}

// fill makes a folder in the cache, with a file of so many bytes, that was last used
// so long ago.
func fill(t *testing.T, c *CodeCache, name string, size int, ago time.Duration) {
	t.Helper()
	dir := c.folder.Path(name)
	if err := os.MkdirAll(filepath.Join(dir, "native"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "native", "code"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, c, name, ago)
}

func age(t *testing.T, c *CodeCache, name string, ago time.Duration) {
	t.Helper()
	then := time.Now().Add(-ago)
	if err := os.Chtimes(c.folder.Path(name), then, then); err != nil {
		t.Fatal(err)
	}
}

// left returns the beginnings of the names of the folders in a cache.
func left(t *testing.T, c *CodeCache) (all []string) {
	t.Helper()
	found, err := os.ReadDir(c.folder.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !strings.HasSuffix(f.Name(), ".flock") {
			all = append(all, strings.TrimRight(f.Name(), "0"))
		}
	}
	return all
}

const month = 30 * 24 * time.Hour

func TestTidy(t *testing.T) {
	for name, tt := range map[string]struct {
		sizes map[string]int // by hash, the one used last is the first in the alphabet
		old   []string       // of them, that were not used for longer than is kept
		used  string         // one that is in use
		want  []string
	}{
		"nothing":               {},
		"all is well":           {map[string]int{"a": 40, "b": 60}, nil, "", []string{"a", "b"}},
		"too old":               {map[string]int{"a": 1, "b": 1, "c": 1}, []string{"b", "c"}, "", []string{"a"}},
		"too much":              {map[string]int{"a": 40, "b": 40, "c": 40, "d": 1}, nil, "", []string{"a", "b"}},
		"one is too much":       {map[string]int{"a": 200}, nil, "", nil},
		"too old, in use":       {map[string]int{"a": 1, "b": 1, "c": 1}, []string{"b", "c"}, "b", []string{"a", "b"}},
		"too much, in use":      {map[string]int{"a": 40, "b": 40, "c": 40}, nil, "c", []string{"a", "c"}},
		"the lock is shared":    {map[string]int{"ccc": 1, "cca": 1}, []string{"ccc", "cca"}, "cca", []string{"cca", "ccc"}},
		"too much, all but one": {map[string]int{"a": 90, "b": 90, "c": 90}, nil, "", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := filled(t)
			for hash, size := range tt.sizes {
				fill(t, c, hashOf(hash), size, time.Duration(hash[0])*time.Minute)
				if slices.Contains(tt.old, hash) {
					age(t, c, hashOf(hash), month)
				}
			}
			if tt.used != "" {
				then := c.entries()
				_, leave := c.open(t.Context(), hashOf(tt.used))
				defer leave()
				for _, d := range then { // as if it had been opened long ago
					age(t, c, d.hash, time.Since(d.used))
				}
			}
			c.tidy()
			if got := left(t, c); !slices.Equal(got, tt.want) {
				t.Errorf("left are %q, want %q", got, tt.want)
			}
		})
	}
}

// What is no entry stays, and what a link leads to does.
func TestTidyLeavesOthersAlone(t *testing.T) {
	c, elsewhere := filled(t), filled(t)
	c.size = -1
	fill(t, elsewhere, "mine", 1000, month)
	fill(t, c, "mine", 1000, month)
	fill(t, c, strings.ToUpper(hashOf("A")), 1000, month)
	fill(t, c, hashOf("d"), 1, month)
	want := []string{"A", "mine"}
	if runtime.GOOS != "windows" {
		want = []string{"A", "b", "mine"}
		for _, at := range []string{c.folder.Path(hashOf("b")), filepath.Join(c.folder.Path(hashOf("d")), "link")} {
			if err := os.Symlink(elsewhere.folder.Path("mine"), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.tidy()
	if got := left(t, c); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if got := folderSize(elsewhere.folder.Dir); got != 1000 {
		t.Errorf("behind the link are %d bytes", got)
	}
}

// A entry that was used since it was looked at is not thrown away.
func TestDiscardWhatWasUsed(t *testing.T) {
	c := filled(t)
	fill(t, c, hashOf("a"), 1, month)
	found := c.entries()[0]
	_, leave := c.open(t.Context(), hashOf("a"))
	leave()
	if c.discard(found) || len(left(t, c)) != 1 {
		t.Error("it is gone")
	}
	if !c.discard(c.entries()[0]) || len(left(t, c)) != 0 {
		t.Error("it is still there")
	}
}

// A cache that cannot be used keeps nothing, and is no error.
func TestNoChest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*CodeCache{"nil": nil, "no folder": NewCodeCache(file), "nowhere": NewCodeCache(filepath.Join(file, "apart"))} {
		dir, leave := c.open(t.Context(), hashOf("a"))
		leave()
		if c.tidy(); dir != "" {
			t.Errorf("%s: %q", name, dir)
		}
	}
	for _, hash := range []string{"", "..", hashOf("a") + "/..", hashOf("A")} {
		if dir, _ := filled(t).open(t.Context(), hash); dir != "" {
			t.Errorf("the dir of %q is %q", hash, dir)
		}
	}
}

// What a worker runs on stays for as long as it does, however long that is; the
// first connection of a plugin tidies up.
func TestWorkerKeepsItsDrawer(t *testing.T) {
	p := program(t, read(t, smallFile), honest)
	p.Cache = filled(t)
	p.Cache.size = cacheSize
	fill(t, p.Cache, hashOf("a"), 1, month)
	inst, err := start(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := left(t, p.Cache); !slices.Equal(got, []string{strings.TrimRight(p.Hash, "0")}) {
		t.Errorf("after the start there are %q", got)
	}
	if kept := folderSize(p.Cache.folder.Path(p.Hash)); kept == 0 {
		t.Error("nothing is kept")
	}
	age(t, p.Cache, p.Hash, month)
	if p.Cache.tidy(); len(left(t, p.Cache)) != 1 {
		t.Error("it is gone under a worker that runs")
	}
	inst.Close(context.Background())
	if p.Cache.tidy(); len(left(t, p.Cache)) != 0 {
		t.Error("it is still there when the worker is gone")
	}
}
