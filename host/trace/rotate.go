package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// fileCap is how large a trace file gets, apart from its last lines.
const fileCap = 128 << 20

// traces is the kind of file that a [Recorder] writes.
var traces = jsonl.Kind{Noun: "trace", Prefix: `{"kind":"start","format":"wharf-trace/`}

// rotatingFile is a trace on disk. A full file is renamed to path.1, in place of the one before,
// and a new file begins at path. So the newest lines are kept, in two files at most: people look
// for the cause of a failure at the end of a trace.
type rotatingFile struct {
	path string // absolute
	most int64  // bytes of a file
	file *os.File
}

func newRotatingFile(path string, most int64) (*rotatingFile, error) {
	file, err := traces.Create(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &rotatingFile{path: path, most: most, file: file}, nil
}

func (f *rotatingFile) Write(p []byte) (int, error) { return f.file.Write(p) }
func (f *rotatingFile) Close() error                { return f.file.Close() }

// name and previous are the names of the current file and of the one before.
func (f *rotatingFile) name() string     { return filepath.Base(f.path) }
func (f *rotatingFile) previous() string { return f.name() + ".1" }

// blocked returns why the file cannot be renamed, or nil. The recorder must not move a file that
// another program has put in its place, and replaces only traces.
func (f *rotatingFile) blocked() error {
	mine, err := f.file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Lstat(f.path); err != nil || !os.SameFile(mine, there) {
		return fmt.Errorf("%s is another file by now", f.name())
	}
	return traces.Replaceable(f.path + ".1")
}

// rotate renames the file and creates the next. After an error there is no file.
func (f *rotatingFile) rotate() error {
	if err := f.file.Close(); err != nil { // first: some systems cannot rename an open file
		return err
	}
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		return err
	}
	file, err := traces.Create(f.path)
	if err == nil {
		f.file = file
	}
	return err
}
