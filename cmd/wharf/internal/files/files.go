// Package files reads files that may never end: a pipe without a writer, a device, a
// terminal. Every read is bounded, and ends with its context.
package files

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxInput is how many bytes are read, at most, of a file or a stream that becomes the arguments of
// a call: far more than servers take, and no more than a machine has.
const MaxInput = 64 << 20

// Until returns the result of work, or the cause of ctx if that ends first. The work
// is then left behind, stuck in its read, so the program must be about to end.
func Until[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := work()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// ReadAll reads a stream to its end, which must come within limit bytes.
func ReadAll(ctx context.Context, from io.Reader, limit int64) ([]byte, error) {
	return Until(ctx, func() ([]byte, error) { return readUpTo(from, limit) })
}

// Read returns the contents of a file, which must end within limit bytes. Its errors
// are of type [*fs.PathError].
func Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	return Until(ctx, func() ([]byte, error) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		text, err := readUpTo(file, limit)
		if at, ok := err.(*fs.PathError); ok {
			err = at.Err // the name of the file is said below
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		return text, nil
	})
}

func readUpTo(from io.Reader, limit int64) ([]byte, error) {
	var text bytes.Buffer
	n, err := text.ReadFrom(io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	return text.Bytes(), err
}

// Open opens a file that is read piece by piece. Opening and reading end with ctx.
func Open(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := Until(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return nil, err
	}
	if at, err := file.Stat(); err == nil && at.Mode().IsRegular() {
		return file, nil
	}
	return &stream{ctx: ctx, file: file, chunk: make([]byte, 64<<10)}, nil
}

// stream is a file that may never have more to read. For one goroutine.
type stream struct {
	ctx   context.Context
	file  *os.File
	chunk []byte // of the read under way, which may outlive its caller's buffer
}

// Read reads into p until ctx ends. A read that is stuck at that time still owns the chunk, so Read
// returns no data afterwards.
func (s *stream) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := Until(s.ctx, func() (int, error) { return s.file.Read(s.chunk[:min(len(p), len(s.chunk))]) })
	return copy(p, s.chunk[:n]), err
}

func (s *stream) Close() error { return s.file.Close() }
