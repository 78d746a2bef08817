package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Kind is a kind of file that a program writes for its user alone.
type Kind struct {
	Noun   string // what errors call it
	Prefix string // the first bytes of each such file
}

// Create creates a file that only the user can read. It replaces a file of the same
// kind, or an empty one; any other file stays, and is an error. The old file is removed,
// not truncated: a program that still writes to it keeps it, and the new file does not
// inherit its mode.
func (k Kind) Create(path string) (*os.File, error) {
	file, err := k.create(path)
	if broken := (*fs.PathError)(nil); errors.As(err, &broken) {
		err = broken.Err // the message names the path already
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Noun, path, err)
	}
	return file, nil
}

func (k Kind) create(path string) (*os.File, error) {
	if path == "" || path == "-" {
		return nil, fmt.Errorf("expected the name of a file: a %s is not printed", k.Noun)
	}
	switch same, err := k.Matches(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !same:
		return nil, fmt.Errorf("there is a file that is not a %s, and it is not overwritten; name another", k.Noun)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replace the previous %s: %w", k.Noun, err)
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Matches reports whether a file is of this kind, or empty. It refuses pipes and devices without
// opening them, because that could block.
func (k Kind) Matches(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("it is not a regular file; name another")
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	first, _ := bufio.NewReader(file).Peek(len(k.Prefix))
	return len(first) == 0 || bytes.Equal(first, []byte(k.Prefix)), nil
}

// Output is a buffered file. It keeps the first error, and writes nothing after it. It
// belongs to one goroutine.
type Output struct {
	Err    error
	file   io.Closer
	buffer *bufio.Writer
}

// NewOutput returns an output that writes to w, and closes it.
func NewOutput(w io.WriteCloser) *Output {
	return &Output{file: w, buffer: bufio.NewWriterSize(w, 64<<10)}
}

func (o *Output) Write(line []byte) {
	if o.Err == nil {
		_, o.Err = o.buffer.Write(line)
	}
}

// Flush writes the buffered bytes to the file.
func (o *Output) Flush() {
	if o.Err == nil {
		o.Err = o.buffer.Flush()
	}
}

// Close closes the file, also after an error. It drops bytes that were not flushed.
func (o *Output) Close() {
	if err := o.file.Close(); o.Err == nil {
		o.Err = err
	}
}
