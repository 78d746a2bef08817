package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// create makes a file of the user's own where there is none, or a trace. The old
// one is taken away, not emptied: a program that still writes to it goes on doing
// so, and what its mode allowed others to read stays with it.
func create(path string) (*os.File, error) {
	if path == "" || path == "-" {
		return nil, errors.New("expected the name of a file: a trace is not printed")
	}
	switch old, err := isTrace(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !old:
		return nil, errors.New("there is a file that is no trace, and it is not overwritten; name another")
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replace the trace of before: %w", err)
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// isTrace reports whether a file is a trace, or empty. Pipes and devices are
// refused before they are opened, which alone could hang.
func isTrace(path string) (bool, error) {
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
	first, _ := bufio.NewReader(file).Peek(len(mark))
	return len(first) == 0 || bytes.Equal(first, []byte(mark)), nil
}

// mark is how every trace file begins.
const mark = `{"kind":"start","format":"wharf-trace/`
