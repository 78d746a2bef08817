package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is a kind of file that a program writes for its user alone: what it is
// called, and how every one of them begins.
type File struct{ Noun, Mark string }

// Create makes such a file where there is none, or one of the same kind. The old
// one is taken away, not emptied: a program that still writes to it goes on doing
// so, and what its mode allowed others to read stays with it.
func (f File) Create(path string) (*os.File, error) {
	file, err := f.create(path)
	if broken := (*fs.PathError)(nil); errors.As(err, &broken) {
		err = broken.Err // the path stands before it
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", f.Noun, path, err)
	}
	return file, nil
}

func (f File) create(path string) (*os.File, error) {
	if path == "" || path == "-" {
		return nil, fmt.Errorf("expected the name of a file: a %s is not printed", f.Noun)
	}
	switch old, err := f.is(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !old:
		return nil, fmt.Errorf("there is a file that is no %s, and it is not overwritten; name another", f.Noun)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replace the %s of before: %w", f.Noun, err)
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// is reports whether a file is of the kind, or empty. Pipes and devices are refused
// before they are opened, which alone could hang.
func (f File) is(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("expected a file, and it is something else; name another")
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	first, _ := bufio.NewReader(file).Peek(len(f.Mark))
	return len(first) == 0 || bytes.Equal(first, []byte(f.Mark)), nil
}

// traces are the files of a [Recorder].
var traces = File{Noun: "trace", Mark: `{"kind":"start","format":"wharf-trace/`}
