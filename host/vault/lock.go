package vault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// buckets is the number of locks that all records share between processes. It is part of the
// format, as [Key.bucket] is.
const buckets = 64

// poll is how often a lock that another process holds is tried again. No system call both waits
// for a lock and can be cancelled.
const poll = 2 * time.Millisecond

// locks holds the locks that one vault has taken or waits for. A lock has two parts. A procLock,
// by name, keeps out other goroutines of this process. A fileLock, by file, keeps out other
// processes, and the operating system releases it when this process ends.
//
// A fileLock is shared by the records of its bucket: this process holds it once for all
// of them. So only procLocks can make two flows of one process wait for each other, and
// a flow that locks two records of one bucket does not wait for itself.
type locks struct {
	folder *securedir.Folder

	mu    sync.Mutex
	procs map[string]*procLock
	files map[string]*fileLock
}

// take locks a name in this process, and then the file for other processes. It returns the function
// that unlocks both.
func (l *locks) take(ctx context.Context, name, file string) (func(), error) {
	if err := l.folder.Claim(); err != nil {
		return nil, err
	}
	s, err := l.acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	d := l.file(file)
	if err := d.lock(ctx); err != nil {
		l.release(name, s)
		return nil, err
	}
	return sync.OnceFunc(func() {
		d.unlock()
		l.release(name, s)
	}), nil
}

// procLock is a lock that one flow of this process holds while others wait.
type procLock struct {
	mutex ctxmutex.Mutex
	users int // that hold it or wait for it; guarded by locks.mu
}

func (l *locks) acquire(ctx context.Context, name string) (*procLock, error) {
	l.mu.Lock()
	s := l.procs[name]
	if s == nil {
		s = &procLock{mutex: ctxmutex.New()}
		l.procs[name] = s
	}
	s.users++
	l.mu.Unlock()

	if err := s.mutex.Lock(ctx); err != nil {
		l.drop(name, s)
		return nil, err
	}
	return s, nil
}

func (l *locks) release(name string, s *procLock) {
	s.mutex.Unlock()
	l.drop(name, s)
}

// drop forgets a lock without users, so that the map does not grow with every name that
// was ever locked.
func (l *locks) drop(name string, s *procLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.procs, name)
	}
}

// file returns the lock of a file.
func (l *locks) file(name string) *fileLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.files[name]
	if d == nil {
		d = &fileLock{mutex: ctxmutex.New(), file: l.folder.Flock(name)}
		l.files[name] = d
	}
	return d
}

// fileLock is a lock file. The kernel's lock belongs to the open file, which this process opens
// once, so its holders are counted here.
type fileLock struct {
	mutex   ctxmutex.Mutex // guards what follows; held while the file is waited for
	file    *flock.Flock
	holders int
}

func (d *fileLock) lock(ctx context.Context) error {
	if err := d.mutex.Lock(ctx); err != nil {
		return err
	}
	defer d.mutex.Unlock()
	if d.holders == 0 {
		if _, err := d.file.TryLockContext(ctx, poll); err != nil {
			return fmt.Errorf("%s: %w", d.file.Path(), err)
		}
	}
	d.holders++
	return nil
}

// unlock does not wait long for the mutex. Another goroutine that waits for the file holds the
// mutex, but only while there are no holders.
func (d *fileLock) unlock() {
	_ = d.mutex.Lock(context.Background()) // does not fail
	defer d.mutex.Unlock()
	if d.holders--; d.holders == 0 {
		_ = d.file.Close() // unlocks it first, which fails for no file that is open
	}
}
