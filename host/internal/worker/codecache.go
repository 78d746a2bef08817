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

// CodeCache keeps what workers have compiled for later workers: a folder for each
// plugin, named by its hash. A worker can write to the folder of its own plugin until
// it runs the plugin, and what it writes runs as native code, so no two plugins share
// one.
//
// Each version of a plugin has another hash, so entries that are no longer used are
// removed: those that were not used for a month, and the oldest where all take too much
// room. An entry in use stays: its user, in whatever process, holds a lock for as long
// as the worker lives. The lock files are few, and never removed.
//
// All methods may be called from any goroutine. A nil CodeCache keeps nothing.
type CodeCache struct {
	folder *securedir.Folder
	size   int64         // bytes of all entries
	age    time.Duration // since the last use
}

// How much a cache keeps, and for how long.
const (
	cacheSize = 256 << 20
	cacheAge  = 30 * 24 * time.Hour
)

// NewCodeCache returns the cache in that folder. It does not touch the disk.
func NewCodeCache(dir string) *CodeCache { return &CodeCache{securedir.In(dir), cacheSize, cacheAge} }

// CodeCacheIn returns the cache of a cache folder, nil for "".
func CodeCacheIn(cache string) *CodeCache {
	if cache == "" {
		return nil
	}
	return NewCodeCache(filepath.Join(cache, "apart"))
}

// poll is how long it takes to notice that a lock is free.
const poll = 10 * time.Millisecond

// open returns the folder of a plugin, which stays until leave is called. It is ""
// where nothing can be kept: the plugin is then compiled each time.
func (c *CodeCache) open(ctx context.Context, hash string) (dir string, leave func()) {
	if c == nil || !hashPattern.MatchString(hash) || c.folder.Claim() != nil {
		return "", func() {}
	}
	lock := c.folder.Flock(lockFile(hash))
	leave = func() { _ = lock.Close() }    // unlocks it first, which fails for no file that is open
	_, _ = lock.TryRLockContext(ctx, poll) // where nothing can be locked, nothing is removed
	dir = c.folder.Path(hash)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", leave
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // a failure has it removed earlier
	return dir, leave
}

var hashPattern = lazyregexp.New(`^[0-9a-f]{64}$`)

// lockFile is what the lock of an entry is called; entries share a few of them.
func lockFile(hash string) string { return hash[:2] + ".flock" }

// cacheEntry is an entry as it was found.
type cacheEntry struct {
	hash string
	used time.Time
	size int64
}

// tidy removes entries that are too old, and the oldest while all take too much room. It
// ignores errors: an entry that cannot be removed is tried again next time.
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
			return // all that follow were used later
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

// folderSize returns how many bytes there are in a folder. Links are not followed.
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

// discard removes an entry, unless it is in use or was used meanwhile.
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
