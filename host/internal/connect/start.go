package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/crash"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// StartError says that a server did not come up, and what is known of the reason.
type StartError struct {
	Err   error
	Cause crash.Cause
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Final reports whether another start would end in the same way: the cause is known, or the
// server left before it read anything that it was sent, so that this cannot be the cause.
func (e *StartError) Final() bool {
	var exit *guest.ExitError
	return e.Cause.Known || errors.As(e.Err, &exit) && exit.Unread
}

// noise keeps the first lines of a server's stdout that are no messages. All methods are
// safe for concurrent use.
type noise struct {
	mu    sync.Mutex
	lines []string
}

// Bounds of the noise that is kept.
const (
	noiseLines = 3
	noiseLine  = 200 // bytes
)

// noiseAfter is how long a server may go on starting before a warning quotes its noise: many
// greet on stdout and are ready at once.
const noiseAfter = 3 * time.Second

func (n *noise) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if line = cleantext.Line(line, noiseLine); len(n.lines) < noiseLines && line != "" {
		n.lines = append(n.lines, line)
	}
}

func (n *noise) kept() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lines
}

// dropped hears of input that is no message. What a process writes to stdout while it starts
// is kept, for the case that it does not come up; if it starts for longer than noiseAfter,
// the first line is warned of. So is the first line that it writes there later.
func (c *connection) dropped(why error, msg []byte) {
	if c.server.Command == "" || !errors.Is(why, rpc.ErrMalformed) {
		return
	}
	line := func() string { return c.redact(string(msg[:min(len(msg), 4*noiseLine)])) }
	if c.peer.Version() == "" {
		c.noise.add(line())
		c.noisy.Do(func() { time.AfterFunc(noiseAfter, c.tellNoise) })
		return
	}
	c.warned.Do(func() { c.warn(c.server.Name, crash.OnStdout(line())) })
}

// tellNoise warns of the noise of a server that still starts.
func (c *connection) tellNoise() {
	select {
	case <-c.ended.Done():
		return // the error says it
	default:
	}
	if lines := c.noise.kept(); c.peer.Version() == "" && len(lines) > 0 {
		c.warned.Do(func() { c.warn(c.server.Name, crash.OnStdout(lines[0])) })
	}
}

// redact returns a text without the secrets that the host knows.
func (c *connection) redact(text string) string { return string(c.secrets.Redact([]byte(text))) }

// explainEnd adds to the error of a server that ended why it did, and what it wrote to its
// stderr since it was started. Of one that was up it quotes what it wrote since the oldest call
// began that was pending: what came before has nothing to do with these.
func (c *connection) explainEnd(cause error) error {
	if !errors.As(cause, new(*guest.EndedError)) {
		return cause
	}
	since := int64(0)
	if c.peer.Version() != "" {
		since = c.asked.Load()
	}
	before, after := c.table.StderrSince(since)
	text := c.secrets.Stream() // a secret may have begun before, and have more lines than are quoted
	text.Redact(before)
	stderr := string(text.Redact(after))
	why := c.crashCause(stderr, cause)
	err := cause
	if why.What != "" {
		err = fmt.Errorf("%w: %s", err, why.What)
	}
	if said := crash.Excerpt(stderr); said != "" {
		err = fmt.Errorf("%w; its stderr:\n%s", err, said)
	}
	if c.server.Command != "" && c.peer.Version() == "" {
		err = &StartError{Err: err, Cause: why}
	}
	return err
}

// crashCause finds out why a process did not become a server. ended is why the connection ended, nil
// if it has not. It finds no reason for a server that was up: what that wrote at its start is
// then no reason.
func (c *connection) crashCause(stderr string, ended error) crash.Cause {
	if c.server.Command == "" || c.peer.Version() != "" {
		return crash.Cause{}
	}
	var exit *guest.ExitError
	exited := errors.As(ended, &exit)
	s := crash.Start{
		Server: hosterr.TOMLKey(c.server.Name), Project: c.server.Project != nil, Env: len(c.server.Env) > 0, Stderr: stderr, Stdout: c.noise.kept(),
		Exited: exited, Clean: exited && exit.Code == 0,
		Gets: func(name string) bool {
			_, own := c.server.Env[name]
			return own || process.Inherits(name)
		},
		Shell: func(name string) bool { return os.Getenv(name) != "" },
	}
	return s.Cause()
}

// Starting is the connection of a session while it is made. Its zero value is none.
type Starting struct{ now atomic.Pointer[connection] }

// slowStart is the hint for a server that was given too little time.
const slowStart = `a server that is slow to start gets longer with --timeout, or with start_timeout = "2m" in its entry`

// Explain adds to the error of a server that was not connected in time what it did instead:
// its plugin let no message pass, or it wrote something other than messages, or no message.
func (s *Starting) Explain(err error) error {
	c := s.now.Load()
	switch {
	case c == nil, !errors.Is(err, rpc.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded):
		return err
	case !c.inst.Up():
		return fmt.Errorf("%w; its plugin has not reported UP, and no message was sent (WHARF_TRACE=abi shows what it waits for)", err)
	}
	why := c.crashCause(c.redact(string(c.table.Stderr())), nil)
	if why.What != "" {
		err = fmt.Errorf("%w; %s", err, why.What)
	}
	if why.Hint == "" {
		why.Hint = slowStart
		if c.server.Command != "" && c.peer.Counters() == (rpc.Counters{}) {
			line := c.redact(strings.Join(append([]string{c.server.Command}, c.server.Args...), " ")) // before it is cut
			why.Hint = fmt.Sprintf("is `%s` an MCP server? It has sent no message; %s", cleantext.Line(line, noiseLine), slowStart)
		}
	}
	return &StartError{Err: err, Cause: why}
}
