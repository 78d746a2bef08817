// Package daemon finds the daemon of a user, starts it where none runs, and talks to it. It knows nothing
// of servers: the program does.
package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/host/localsocket"
)

// Place is where a daemon is found: a socket, its lock and its log, in a folder that only the user can
// reach.
type Place struct {
	folder, name string
}

const (
	prefix = "daemon-"
	suffix = ".sock"
)

// At returns the place of the daemon for a build of the program and a configuration. Daemons of other
// builds and configurations have other places.
func At(folder, build, configuration string) Place {
	sum := sha256.Sum256([]byte(build + "\x00" + configuration))
	return Place{folder, prefix + hex.EncodeToString(sum[:8])}
}

// All returns the places of all daemons that have a socket in a folder. Some may have been left behind.
func All(folder string) (all []Place) {
	paths, _ := filepath.Glob(filepath.Join(folder, prefix+"*"+suffix))
	for _, path := range paths {
		all = append(all, Place{folder, strings.TrimSuffix(filepath.Base(path), suffix)})
	}
	return all
}

// Socket returns the path of the socket.
func (p Place) Socket() string { return filepath.Join(p.folder, p.name+suffix) }

// Log returns the path of the log.
func (p Place) Log() string { return filepath.Join(p.folder, p.name+".log") }

// Open connects to the daemon, and has it take a request. The connection is for what the request asked
// for, and the caller closes it. If the daemon refuses, the error is a [*RefusedError].
func (p Place) Open(ctx context.Context, r Request) (io.ReadWriteCloser, *Answer, error) {
	conn, err := localsocket.Dial(ctx, p.Socket())
	if err != nil {
		return nil, nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	answer, err := exchange(conn, &r)
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, err
	}
	return conn, answer, nil
}

// Ask has the daemon answer a request.
func (p Place) Ask(ctx context.Context, r Request) (*Answer, error) {
	conn, answer, err := p.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer, conn.Close()
}

// patience is how long a daemon may take to start, or to answer.
const patience = 15 * time.Second

// Ensure starts the daemon if none runs, and returns when it answers. Of several programs that call
// Ensure at once, one calls start, which returns when the new daemon listens or has ended.
func (p Place) Ensure(ctx context.Context, start func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the daemon at %s does not answer; `wharf daemon status` says which process it is", p.Socket()))
	defer cancel()
	for {
		_, err := p.Ask(ctx, Request{Want: Stay})
		if !errors.Is(err, localsocket.ErrNoListener) && !ended(err) || ctx.Err() != nil {
			return err
		}
		if err := p.startOnce(ctx, start); err != nil {
			return err
		}
		select { // one that is about to leave has a moment to do so
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// startOnce starts the daemon, unless another program has done so meanwhile.
func (p Place) startOnce(ctx context.Context, start func(context.Context) error) error {
	unlock, err := localsocket.Lock(ctx, filepath.Join(p.folder, p.name+".start"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err = p.Ask(ctx, Request{Want: Stay}); !errors.Is(err, localsocket.ErrNoListener) {
		return nil
	}
	err = start(ctx)
	if _, other := p.Ask(ctx, Request{Want: Stay}); other == nil {
		return nil // it was started by hand
	}
	return err
}

// ended reports whether a connection ended before the answer: the daemon was about to leave.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
