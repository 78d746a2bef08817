package process

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

// Kind implements [capability.Target].
func (Process) Kind() abi.OpenKind { return abi.OpenProcess }

// Opener implements [capability.Target].
func (p Process) Opener(*capability.Limits) capability.Opener { return stream.Opener(p.serve) }

// serve carries the process from its start to its end. If the process ended by itself, its exit is
// reported rather than a failure that followed from it, such as a broken pipe. However the process
// ends, its group is killed before it is reaped: until then no other process can have its pid, so
// the kill cannot hit another.
func (p Process) serve(h *stream.Duplex) {
	c, err := p.fork()
	if err != nil {
		h.Fail(capability.StatusOf(err, abi.Unreachable), fmt.Errorf("start process: %w", err))
		return
	}
	h.Attach(c.stdin, "its stdin")
	h.Events.Opened()
	c.follow(h.Follow(c.stdout, "stdout"), h.Stderr(), h.Resume)
	h.Pause(func() { c.finish(h) })
}

// finish ends the process, or waits for its end, and reports how it ended.
func (c *child) finish(h *stream.Duplex) {
	select {
	case <-c.exited:
		c.awaitPipes(h.Context, h.Grace().Exit, nil)
	case <-h.Context.Done(): // the end of its stdin asks it to end, then TERM does
		h.FinishWriting()
		if !c.ends(h, h.Grace().Stdin) && c.group.terminate() {
			c.ends(h, h.Grace().Term)
		}
	case <-h.Failed():
	}
	state := c.killAndReap()
	unread := c.stdin.Unread()
	h.StopWriting()
	c.drain()
	if !h.HasFailed() || leftByItself(state) {
		h.Exit(state.ExitCode(), state.String(), unread)
	}
}

// ends reports whether the process ends within that time. It does not wait longer than the table's
// graces allow.
func (c *child) ends(h *stream.Duplex, within time.Duration) bool {
	select {
	case <-c.exited:
		return true
	case <-h.Forced():
		return false
	case <-time.After(within):
		return false
	}
}
