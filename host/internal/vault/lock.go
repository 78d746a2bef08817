package vault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/wharf-mcp/wharf/host/internal/private"
)

// buckets is how many locks all records share between processes. It is part of
// the format, as [Key.bucket] is.
const buckets = 64

// poll is how often a lock is tried that another process has. No system call
// waits for a lock and can be called off.
const poll = 2 * time.Millisecond

// locks are what one vault has locked and waits for. A lock has two halves: a
// seat, by name, keeps others in this process out; a door, by file, keeps out
// other processes, and the operating system opens it when this one ends.
//
// A door is shared by the records of its bucket: this process holds it once for
// all of them. So only seats can make two flows of one process wait, and a flow
// that locks two records of one bucket does not wait for itself.
type locks struct {
	folder *private.Folder

	mu    sync.Mutex
	seats map[string]*seat
	doors map[string]*door
}

func newLocks(f *private.Folder) *locks {
	return &locks{folder: f, seats: make(map[string]*seat), doors: make(map[string]*door)}
}

// take locks a name, and returns the function that unlocks it.
func (l *locks) take(ctx context.Context, name, file string) (func(), error) {
	if err := l.folder.Claim(); err != nil {
		return nil, err
	}
	s, err := l.sit(ctx, name)
	if err != nil {
		return nil, err
	}
	d := l.door(file)
	if err := d.enter(ctx); err != nil {
		l.rise(name, s)
		return nil, err
	}
	return sync.OnceFunc(func() {
		d.leave()
		l.rise(name, s)
	}), nil
}

// seat is held by one flow of this process; others queue.
type seat struct {
	taken  chan struct{} // has room for one
	wanted int           // by how many it is held or waited for; guarded by locks.mu
}

func (l *locks) sit(ctx context.Context, name string) (*seat, error) {
	l.mu.Lock()
	s := l.seats[name]
	if s == nil {
		s = &seat{taken: make(chan struct{}, 1)}
		l.seats[name] = s
	}
	s.wanted++
	l.mu.Unlock()

	select {
	case s.taken <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		l.drop(name, s)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) rise(name string, s *seat) {
	<-s.taken
	l.drop(name, s)
}

// drop lets go of a seat that nobody wants, so that the map does not grow with
// the names that were ever locked.
func (l *locks) drop(name string, s *seat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.wanted--; s.wanted == 0 {
		delete(l.seats, name)
	}
}

func (l *locks) door(file string) *door {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.doors[file]
	if d == nil {
		d = &door{turn: make(chan struct{}, 1), file: l.folder.Flock(file)}
		l.doors[file] = d
	}
	return d
}

// door is a lock file. The kernel's lock belongs to the open file, of which this
// process has one: the holders are counted here.
type door struct {
	turn    chan struct{} // has room for one: guards what follows, for as long as the door is waited for
	file    *flock.Flock
	holders int
}

func (d *door) enter(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-d.turn }()
	if d.holders == 0 {
		if _, err := d.file.TryLockContext(ctx, poll); err != nil {
			return fmt.Errorf("%s: %w", d.file.Path(), err)
		}
	}
	d.holders++
	return nil
}

// leave does not wait long for its turn: who has it waits for a door without
// holders, or for nothing.
func (d *door) leave() {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	if d.holders--; d.holders == 0 {
		_ = d.file.Close() // unlocks it first, which fails for no file that is open
	}
}
