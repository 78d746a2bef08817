package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// fileCap is how large a trace file gets, but for its last lines.
const fileCap = 128 << 20

// asideSuffix is what the name of a file ends with that was put aside.
const asideSuffix = ".1"

// roll is a trace on disk. A file that is full is put aside, in the place of the one
// before it, and another goes on under its name: whoever looks for what went wrong
// looks at the end of a trace, so that is what is kept, and it is never more than
// two files.
type roll struct {
	path string // absolute
	most int64  // bytes of a file
	file *os.File
}

// newRoll makes the first file of a trace.
func newRoll(path string, most int64) (*roll, error) {
	file, err := traces.Create(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &roll{path: path, most: most, file: file}, nil
}

func (r *roll) Write(p []byte) (int, error) { return r.file.Write(p) }

func (r *roll) Close() error { return r.file.Close() }

// name is what the file is called, and aside the one that is put aside.
func (r *roll) name() string  { return filepath.Base(r.path) }
func (r *roll) aside() string { return r.name() + asideSuffix }

// blocked says why the file cannot be put aside, or is nil. One that another program
// has put in its place is not ours to move, and what is no trace is not replaced.
func (r *roll) blocked() error {
	mine, err := r.file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Lstat(r.path); err != nil || !os.SameFile(mine, there) {
		return fmt.Errorf("%s is another file by now", r.name())
	}
	switch old, err := traces.is(r.path + asideSuffix); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s: %w", r.aside(), err)
	case !old:
		return fmt.Errorf("%s is no trace, and it is not overwritten", r.aside())
	}
	return nil
}

// turn puts the file aside and begins another. After an error there is none.
func (r *roll) turn() error {
	if err := r.file.Close(); err != nil { // first: not every system moves an open file
		return err
	}
	if err := os.Rename(r.path, r.path+asideSuffix); err != nil {
		return err
	}
	file, err := traces.create(r.path)
	if err == nil {
		r.file = file
	}
	return err
}
