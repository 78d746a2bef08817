package files

import (
	"context"
	"errors"
	"io"
	"testing"
)

func TestReadAllEndsWithItsContext(t *testing.T) {
	reader, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	_, err := ReadAll(ctx, reader, MaxInput)
	if err != gone {
		t.Errorf("ReadAll = %v, want %v", err, gone)
	}
}
