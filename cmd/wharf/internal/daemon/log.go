package daemon

import (
	"os"
	"runtime/debug"
	"sync"
)

// maxLog is how many bytes a log may have before it is renamed, in place of the one before it.
const maxLog = 1 << 20

// Older returns the path of the log before the log at path.
func Older(path string) string { return path + ".1" }

// Log is the log of a daemon. It keeps between 1 and 2 MiB. A crash is written to it too.
type Log struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens a log, behind what is there. The caller closes it.
func OpenLog(path string) (*Log, error) {
	l := &Log{path: path, max: maxLog}
	return l, l.open()
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return debug.SetCrashOutput(file, debug.CrashOptions{})
}

// Write appends text. It never returns an error, because the daemon goes on where the disk is full.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(text)) > l.max && l.size > 0 {
		l.file.Close()
		os.Rename(l.path, Older(l.path))
		if l.open() != nil {
			l.file, _ = os.Open(os.DevNull)
		}
	}
	n, _ := l.file.Write(text)
	l.size += int64(n)
	return len(text), nil
}

// Close closes the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
