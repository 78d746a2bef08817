package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

const (
	// fileCap is how large a file gets, apart from its last line.
	fileCap = 128 << 20

	// reserveSize is how much room on the disk a required log keeps for calls under way when the disk gets full:
	// the lines of some hundred calls, or of one with arguments.
	reserveSize = 64 << 10
)

// logs is the kind of file that a [Log] writes.
var logs = jsonl.Kind{Noun: "log of calls", Prefix: `{"at":"`}

// Options say what a [Log] keeps, and what happens if it cannot.
type Options struct {
	Full     bool // arguments are kept, and not only their size and hash
	Required bool // no call is made while a line cannot be written
}

// Log is an audit log on disk, which only the user can read. Several programs may write to it. A file that
// reaches 128 MiB is renamed to path.1, in place of the one before, and a new one begins at path. A log that is
// required keeps room on the disk, as path.reserve. The methods may be called from any goroutine.
type Log struct {
	options Options
	path    string // absolute
	most    int64  // bytes of a file
	lock    *flock.Flock

	mu      sync.Mutex
	file    *os.File
	info    os.FileInfo // of file
	line    jsonl.Line
	failed  error // why the last line was not written
	missing int   // how many lines were not written since one was
}

// Open opens the log at path, and makes it if it is missing.
func Open(path string, o Options) (*Log, error) { return open(path, o, fileCap) }

func open(path string, o Options, most int64) (*Log, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	l := &Log{options: o, path: path, most: most, lock: flock.New(path+".lock", flock.SetPermissions(0o600))}
	if err := l.locked(l.follow); err != nil {
		return nil, err
	}
	return l, nil
}

// Full reports whether the log keeps arguments.
func (l *Log) Full() bool { return l.options.Full }

// Path returns where the log is.
func (l *Log) Path() string { return l.path }

// Close closes the file. A nil Log has none.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// Ready returns an error if the log is required and the line of a call that begins now may have no room. Calls that
// are under way when the log fails are still made: the next line that is written says how many lines are missing.
func (l *Log) Ready() error {
	if !l.options.Required {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		l.append(nil)
	}
	if l.failed == nil && !l.reserved() {
		l.failed = l.locked(l.reserve)
	}
	return l.failed
}

// Write writes a line. An error says that it is missing; the next line that is written says so too.
func (l *Log) Write(r *Record) error {
	r.cut()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(r)
}

// append writes a line, and before it one that says how many are missing. Without a record, it writes that
// one only. The caller holds mu.
func (l *Log) append(r *Record) error {
	text := l.line.Out[:0]
	if l.missing > 0 {
		l.line.Begin(text)
		(&Record{At: time.Now(), Missing: l.missing}).members(&l.line)
		text = l.line.End()
	}
	if r != nil {
		l.line.Begin(text)
		r.members(&l.line)
		text = l.line.End()
	}
	l.failed = l.locked(func() error {
		err := l.put(text)
		if err != nil && l.options.Required && os.Remove(l.reservePath()) == nil {
			err = l.put(text) // the call was made, and Ready admits no other without a reserve
		}
		return err
	})
	switch {
	case l.failed == nil:
		l.missing = 0
	case r != nil:
		l.missing++
	}
	return l.failed
}

// locked calls do while no other program writes.
func (l *Log) locked(do func() error) error {
	if err := l.lock.Lock(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer l.lock.Unlock()
	if err := do(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

func (l *Log) reservePath() string { return l.path + ".reserve" }

// reserved reports whether the disk has room for lines of calls that are under way.
func (l *Log) reserved() bool {
	info, err := os.Lstat(l.reservePath())
	return err == nil && info.Mode().IsRegular() && info.Size() == reserveSize
}

// reserve makes room on the disk for lines of calls that are under way. The caller holds the lock.
func (l *Log) reserve() error {
	if l.reserved() { // another program has made it meanwhile
		return nil
	}
	path := l.reservePath()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, reserveSize))
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// put writes lines at the end of the file, at once. A part that was written of them is taken back, so that
// the next line of any program begins a line.
func (l *Log) put(text []byte) error {
	if err := l.follow(); err != nil {
		return err
	}
	size := l.info.Size()
	if size > 0 {
		last := make([]byte, 1)
		if _, err := l.file.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' { // of a program that was killed while it wrote
			text = append([]byte{'\n'}, text...)
		}
	}
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil && n > 0 {
		err = errors.Join(err, l.file.Truncate(size))
	}
	return err
}

// follow sees to it that the open file is the one at the path, and has room. The caller holds the lock.
func (l *Log) follow() error {
	if err := l.reopen(); err != nil {
		return err
	}
	if l.info.Size() < l.most {
		return nil
	}
	if err := logs.Replaceable(l.path + ".1"); err != nil {
		return err
	}
	if err := l.file.Close(); err != nil { // first: some systems cannot rename an open file
		return err
	}
	l.file = nil
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return err
	}
	return l.reopen()
}

// reopen opens the file at the path, unless it is open. Another program may have put a new file there.
func (l *Log) reopen() (err error) {
	there, err := os.Lstat(l.path)
	if l.file != nil && err == nil && os.SameFile(there, l.info) {
		l.info = there
		return nil
	}
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	if err == nil {
		if err := logs.Replaceable(l.path); err != nil {
			return err
		}
	}
	if l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return err
	}
	l.info, err = l.file.Stat()
	return err
}
