package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/crash"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// StartError says that a server did not start, and what is known of the reason.
type StartError struct {
	Err   error
	Cause crash.Cause
	Reach capability.Reach // of a start over HTTP that took too long
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Final reports whether another start would fail in the same way: the cause is known, or the server
// ended before it read any input, so that the input cannot be the cause.
func (e *StartError) Final() bool {
	var exit *guest.ExitError
	return e.Cause.Known || errors.As(e.Err, &exit) && exit.Unread
}

// stdoutNoise keeps the first lines of a server's stdout that are no messages. All methods are safe for
// concurrent use.
type stdoutNoise struct {
	mu      sync.Mutex
	lines   []string
	fault   string // what is wrong with the first of them, if it was to be a message
	otherID string // the first id of an answer that no request has
}

// Bounds of the noise that is kept.
const (
	noiseLines = 3
	noiseLine  = 200 // bytes
)

// noiseAfter is how long a server may take to start before a warning quotes its noise: many servers
// print a greeting to stdout and are ready at once.
const noiseAfter = 3 * time.Second

func (n *stdoutNoise) add(line, fault string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if line = cleantext.Line(line, noiseLine); len(n.lines) < noiseLines && line != "" {
		if len(n.lines) == 0 {
			n.fault = fault
		}
		n.lines = append(n.lines, line)
	}
}

func (n *stdoutNoise) addID(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.otherID = cmp.Or(n.otherID, cleantext.Line(id, noiseLine))
}

// describe adds what is kept to what is known of a start.
func (n *stdoutNoise) describe(s *crash.Start) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Stdout, s.Fault, s.OtherID = n.lines, n.fault, n.otherID
}

// dropped receives input that is no message. It keeps what a process writes to stdout during its
// start, for the error if the start fails. If the start takes longer than noiseAfter, it warns of
// the first line. It also warns of the first such line after the start, and
// says of a message what is wrong with it.
func (c *connection) dropped(why error, msg []byte) {
	other := (*rpc.OtherIDError)(nil)
	switch starts := c.peer.Version() == ""; {
	case c.server.Command == "":
	case errors.As(why, &other) && starts:
		c.noise.addID(other.ID)
	case errors.As(why, &other):
		c.warned.Do(func() { c.warn(c.server.Name, other.Error()) })
	case !errors.Is(why, rpc.ErrMalformed):
	case starts:
		c.noise.add(c.quoted(msg), c.faultOf(why, msg))
		c.noisy.Do(func() { time.AfterFunc(noiseAfter, c.tellNoise) })
	default:
		c.warned.Do(func() { c.warn(c.server.Name, cmp.Or(c.faultOf(why, msg), crash.OnStdout(c.quoted(msg)))) })
	}
}

// quoted returns the beginning of a message without secrets.
func (c *connection) quoted(msg []byte) string {
	return c.redact(string(msg[:min(len(msg), 4*noiseLine)]))
}

// faultOf says what is wrong with a line that was to be a message; "" for any other line.
func (c *connection) faultOf(why error, msg []byte) string {
	if !bytes.Contains(msg, []byte(`"jsonrpc"`)) {
		return ""
	}
	return fmt.Sprintf("%v: %q", why, cleantext.Line(c.quoted(msg), noiseLine))
}

// tellNoise warns of the noise of a server that is still starting.
func (c *connection) tellNoise() {
	select {
	case <-c.ended.Done():
		return // the error quotes it
	default:
	}
	var s crash.Start
	c.noise.describe(&s)
	if c.peer.Version() == "" && len(s.Stdout) > 0 {
		c.warned.Do(func() { c.warn(c.server.Name, cmp.Or(s.Fault, crash.OnStdout(s.Stdout[0]))) })
	}
}

// redact returns a text without the secrets that the host knows.
func (c *connection) redact(text string) string { return string(c.secrets.Redact([]byte(text))) }

// explainEnd adds two things to the error of a server that has ended: why the server ended, and what
// it wrote to stderr since its start. If the server was up, explainEnd quotes only the stderr since
// it was last without a call, because earlier lines have nothing to do with the pending calls.
func (c *connection) explainEnd(cause error) error {
	if !errors.As(cause, new(*guest.EndedError)) {
		return cause
	}
	since := int64(0)
	if c.peer.Version() != "" {
		since = c.asked.Load()
	}
	before, after := c.table.StderrSince(since)
	text := c.secrets.Stream() // a secret may begin before the quoted lines, and have more lines
	text.Redact(before)
	stderr := string(text.Redact(after))
	why := c.crashCause(stderr, cause)
	err := cause
	if why.What != "" {
		err = fmt.Errorf("%w: %s", err, why.What)
	}
	if said := crash.Excerpt(stderr); said != "" {
		err = fmt.Errorf("%w%s\n%s", err, cleantext.Stderr, said)
	}
	if c.server.Command != "" && c.peer.Version() == "" {
		err = &StartError{Err: err, Cause: why}
	}
	return err
}

// crashCause finds out why a process did not become a server. ended says why the connection ended,
// and is nil if it has not. For a server that was up it returns no cause, because its output at the
// start then does not explain the end.
func (c *connection) crashCause(stderr string, ended error) crash.Cause {
	if c.server.Command == "" || c.peer.Version() != "" {
		return crash.Cause{}
	}
	var exit *guest.ExitError
	exited := errors.As(ended, &exit)
	name := hosterr.TOMLKey(c.server.Name)
	s := crash.Start{
		Server: name, Program: c.server.Command, Stderr: stderr, Midway: c.inst.Midway(),
		Runs: ended == nil, Exited: exited, Clean: exited && exit.Code == 0, Killed: exited && exit.Code < 0,
		Gets: func(name string) bool {
			_, own := c.server.Env[name]
			return own || process.Inherits(name)
		},
		Shell:  func(name string) bool { return os.Getenv(name) != "" },
		PassOn: func(names []string) string { return c.server.PassOn(names, "[servers."+name+"]") },
	}
	c.noise.describe(&s)
	return s.Cause()
}

// Starting holds the connection of a session while it is made. Its zero value holds none.
type Starting struct{ now atomic.Pointer[connection] }

// slowStart is the hint for a server that had too little time.
const slowStart = `a server that is slow to start gets longer with start_timeout = "2m" in its entry`

// Explain adds to the error of a server that did not connect in time what the server did: its
// plugin let no message pass, or it wrote something other than messages, or nothing.
func (s *Starting) Explain(err error) error {
	c := s.now.Load()
	switch {
	case c == nil, !errors.Is(err, rpc.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded):
		return err
	case !c.inst.Up():
		err = fmt.Errorf("%w; its plugin has not reported UP, and no message was sent (WHARF_TRACE=abi shows what it waits for)", err)
		return &StartError{Err: err, Cause: crash.Cause{Hint: slowStart}}
	}
	if helped := c.account.explain(err); helped != err {
		return helped
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
	return &StartError{Err: err, Cause: why, Reach: c.table.Reach()}
}
