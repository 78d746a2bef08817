package connect

import (
	"context"
	"io"
)

// Stream makes a byte stream to a server that is part of the program. Package host
// publishes it, and says what is asked of one.
type Stream = func(ctx context.Context) (io.ReadWriteCloser, error)
