package process

import (
	"fmt"
	"os"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

// Kind implements [capability.Target].
func (Process) Kind() abi.OpenKind { return abi.OpenProcess }

// Opener implements [capability.Target].
func (p Process) Opener(*capability.Limits) capability.Opener { return stream.Opener(p.serve) }

// serve carries the process from its start to its end. That it ended by itself tells
// more than a failure that followed from that, such as a broken pipe. However it ends,
// its group is killed before it is reaped: the pid of a process that is not reaped cannot belong
// to another process, so the kill cannot hit one.
func (p Process) serve(h *stream.Handle) {
	c, err := p.start(h)
	if err != nil {
		h.Fail(capability.StatusOf(err, abi.Unreachable), fmt.Errorf("start process: %w", err))
		return
	}
	h.Events.Opened()
	c.listen(h)
	select {
	case <-c.exited:
		c.awaitOutput(h)
	case <-h.Context.Done():
		c.askToEnd(h)
	case <-h.Failed():
	}
	state := c.endAndDrain(h)
	if !h.HasFailed() || leftByItself(state) {
		h.Exit(state.ExitCode(), state.String())
	}
}

// start forks, and attaches stdin. On an error nothing is left.
func (p Process) start(h *stream.Handle) (*child, error) {
	c, err := p.fork()
	if err == nil {
		h.Attach(c.stdin, "its stdin")
	}
	return c, err
}

func (c *child) listen(h *stream.Handle) {
	c.follow(func() { h.Listen(c.stdout, "stdout") }, h.Stderr())
}

// awaitOutput gives the output of a process that has ended time to be read, and its
// descendants time to end by themselves.
func (c *child) awaitOutput(h *stream.Handle) {
	grace := time.After(h.Grace().Exit)
	for _, done := range []chan struct{}{c.outDone, c.errDone} {
		select {
		case <-done:
		case <-grace:
			return
		case <-h.Context.Done():
			return
		}
	}
}

// askToEnd asks a process to end: first by the end of its stdin, then by TERM.
// The kill that follows is bury's.
func (c *child) askToEnd(h *stream.Handle) {
	h.FinishWriting()
	if c.ends(h, h.Grace().Stdin) {
		return
	}
	if c.group.terminate() {
		c.ends(h, h.Grace().Term)
	}
}

// ends reports whether the process is over within a time, or before the graces
// of the table end.
func (c *child) ends(h *stream.Handle, within time.Duration) bool {
	select {
	case <-c.exited:
		return true
	case <-h.Forced():
		return false
	case <-time.After(within):
		return false
	}
}

// endAndDrain kills what is left of the group, reaps the process and returns when
// no goroutine works for it any more.
func (c *child) endAndDrain(h *stream.Handle) *os.ProcessState {
	state := c.killAndReap()
	h.StopWriting()
	c.drain()
	return state
}
