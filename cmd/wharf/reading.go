package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/wharf-mcp/wharf/host"
)

// maxRead is how much is read of what becomes the arguments of a call, in bytes: far
// more than servers take, and no more than a machine has.
const maxRead = 64 << 20

// until returns what work does, or the cause of ctx if that ends first. The work
// then stays behind, stuck in a file that nobody writes to; the program is about to
// leave.
func until[T any](ctx context.Context, work func() (T, error)) (T, error) {
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

// readFile returns what a file holds, which may also be a pipe, or a device that
// never ends.
func readFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	return until(ctx, func() ([]byte, error) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		text, err := readUpTo(file, limit)
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: reason(err)}
		}
		return text, nil
	})
}

// readPlugin returns what a plugin file holds.
func readPlugin(ctx context.Context, path string) ([]byte, error) {
	return readFile(ctx, path, host.MaxPluginSize)
}

// readUpTo reads to the end, which is to come within limit bytes.
func readUpTo(from io.Reader, limit int64) ([]byte, error) {
	var text bytes.Buffer
	n, err := text.ReadFrom(io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	return text.Bytes(), err
}

// reason is an error without the name of its file.
func reason(err error) error {
	if at, ok := err.(*fs.PathError); ok {
		return at.Err
	}
	return err
}

// openFile opens a file that is read piece by piece. Opening and reading end with
// ctx.
func openFile(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := until(ctx, func() (*os.File, error) { return os.Open(path) })
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

// Read ends with the context, and gives nothing from then on: the read that is
// stuck has the chunk.
func (s *stream) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := until(s.ctx, func() (int, error) { return s.file.Read(s.chunk[:min(len(p), len(s.chunk))]) })
	return copy(p, s.chunk[:n]), err
}

func (s *stream) Close() error { return s.file.Close() }
