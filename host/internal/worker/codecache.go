package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/securedir"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// CodeCache keeps what workers have compiled for later workers, in a folder for each plugin that is
// named by its hash. A worker can write to the folder of its own plugin until it runs the plugin,
// and what it writes runs as native code, so no two plugins share a folder.
//
// Each version of a plugin has another hash, so unused entries are removed: those that were not
// used for a month, and the oldest if all take too much room. An entry in use stays: each process
// that uses it holds a lock as long as its worker lives. The lock files are few, and never removed.
//
// All methods may be called from any goroutine. A nil CodeCache keeps nothing.
type CodeCache struct {
	folder *securedir.Folder
	size   int64         // bytes of all entries
	age    time.Duration // how long after its last use an entry is kept
}

// The size and age limits of a cache.
const (
	cacheSize = 256 << 20
	cacheAge  = 30 * 24 * time.Hour
)

// NewCodeCache returns the cache in a folder. It does not touch the disk.
func NewCodeCache(dir string) *CodeCache { return &CodeCache{securedir.In(dir), cacheSize, cacheAge} }

// CodeCacheIn returns the cache within a cache folder, or nil for "".
func CodeCacheIn(cache string) *CodeCache {
	if cache == "" {
		return nil
	}
	return NewCodeCache(filepath.Join(cache, "apart"))
}

// poll is the longest time until a released lock is noticed.
const poll = 10 * time.Millisecond

// open returns the folder of a plugin, which stays until leave is called. It returns "" if nothing
// can be kept: then the plugin is compiled each time.
func (c *CodeCache) open(ctx context.Context, hash string) (dir string, leave func()) {
	if c == nil || !hashPattern.MatchString(hash) || c.folder.Claim() != nil {
		return "", func() {}
	}
	lock := c.folder.Flock(lockFile(hash))
	leave = func() { _ = lock.Close() }    // unlocks it first, which fails for no file that is open
	_, _ = lock.TryRLockContext(ctx, poll) // if nothing can be locked, nothing is removed either
	dir = c.folder.Path(hash)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", leave
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // after an error it is only removed earlier
	return dir, leave
}

var hashPattern = lazyregexp.New(`^[0-9a-f]{64}$`)

// lockFile returns the name of an entry's lock file. Entries share a few of them.
func lockFile(hash string) string { return hash[:2] + ".flock" }

// cacheEntry is an entry when it was listed.
type cacheEntry struct {
	hash string
	used time.Time
	size int64
}

// tidy removes the entries that are too old, and the oldest while all take too much room. It
// ignores errors, because it tries again next time.
func (c *CodeCache) tidy() {
	if c == nil {
		return
	}
	entries := c.entries()
	var size int64
	for _, d := range entries {
		size += d.size
	}
	for _, d := range entries {
		if size <= c.size && time.Since(d.used) < c.age {
			return // all later entries were used later
		}
		if c.discard(d) {
			size -= d.size
		}
	}
}

// entries returns all entries, the least recently used first.
func (c *CodeCache) entries() (all []cacheEntry) {
	found, _ := os.ReadDir(c.folder.Dir) // a folder that cannot be read has no entries
	for _, f := range found {
		if info, err := f.Info(); err == nil && info.IsDir() && hashPattern.MatchString(f.Name()) {
			all = append(all, cacheEntry{f.Name(), info.ModTime(), folderSize(c.folder.Path(f.Name()))})
		}
	}
	slices.SortFunc(all, func(a, b cacheEntry) int { return a.used.Compare(b.used) })
	return all
}

// folderSize returns the number of bytes in a folder. It does not follow links.
func folderSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, f fs.DirEntry, err error) error {
		if err != nil {
			return nil // another process has removed it
		}
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// discard removes an entry, unless it is in use or was used since it was listed.
func (c *CodeCache) discard(d cacheEntry) bool {
	lock := c.folder.Flock(lockFile(d.hash))
	if free, err := lock.TryLock(); err != nil || !free {
		return false
	}
	defer lock.Close()
	path := c.folder.Path(d.hash)
	if now, err := os.Lstat(path); err != nil || !now.ModTime().Equal(d.used) {
		return false
	}
	return os.RemoveAll(path) == nil
}
