package stream

import (
	"io"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// ChildPipe is our end of the stdout or stderr of a child process. It is either followed,
// or read with Read. Its methods may be called by any goroutine, Read by one at a time.
//
// If the system has a set that watches many descriptors, an idle pipe has no goroutine, and a
// caller that waits for an answer may read it itself.
var _ interface {
	io.ReadCloser

	// Follow begins to read. hear gets each piece. ended gets the reason why no more comes, nil at
	// the end of the output. The calls come one at a time, on goroutines of the pipe or of callers
	// of ReadFor.
	Follow(hear func(p []byte), ended func(err error))

	// ReadFor is described at [hostio.AnswerReader].
	ReadFor(w hostio.Waiter)

	// Cut is described at [Reader.Cut].
	Cut()
} = (*ChildPipe)(nil)
