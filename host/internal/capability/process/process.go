package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

// Process is the grant of one child process: its stdin is the write side, its
// stdout is the data. It is started as it stands here, never through a shell.
type Process struct {
	Command string   // a name to look up in PATH, or a path
	Args    []string // without the command itself
	Env     []string // NAME=value, on top of the few variables every child gets
	Dir     string   // the working directory; empty for this process's own
	Bare    bool     // without the variables that every child gets
}

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

// child is a process that was started, with the ends of its pipes that are ours.
type child struct {
	cmd     *exec.Cmd
	group   group
	stdin   *stream.FDOutput
	stdout  *stream.Reader
	stderr  *stream.Reader
	outDone chan struct{} // stdout is read to its end, and said
	errDone chan struct{} // stderr is read to its end
	exited  chan struct{} // the process is over; its group may not be
}

// start forks, and attaches stdin. On an error nothing is left.
func (p Process) start(h *stream.Handle) (*child, error) {
	c, err := p.fork()
	if err == nil {
		h.Attach(c.stdin, "its stdin")
	}
	return c, err
}

// fork starts the process, with its pipes. On an error nothing is left.
func (p Process) fork() (*child, error) {
	cmd, err := p.command()
	if err != nil {
		return nil, err
	}
	c := &child{
		cmd:     cmd,
		outDone: make(chan struct{}),
		errDone: make(chan struct{}),
		exited:  make(chan struct{}),
	}
	var pipes pipes
	defer func() { pipes.closeUnused(err) }()
	if err = c.connect(&pipes); err != nil {
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	c.group.prepare(cmd)
	if err = cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, explainRun(capability.Cause(err)))
	}
	if err = c.group.adopt(cmd); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	return c, nil
}

// connect makes the three pipes. The ends of the child are blocking, which is
// what programs expect; ours are not, and that is a property of each end.
func (c *child) connect(pipes *pipes) error {
	inR, inW := pipes.pair()
	outR, outW := pipes.pair()
	errR, errW := pipes.pair()
	if pipes.err != nil {
		return pipes.err
	}
	pipes.theirs = []*os.File{inR, outW, errW}
	pipes.ours = []*os.File{inW, outR, errR}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = inR, outW, errW
	var errs [3]error
	c.stdin, errs[0] = stream.NewFDOutput(inW, inW.Close, inW.Close)
	c.stdout, errs[1] = stream.NewReader(outR)
	c.stderr, errs[2] = stream.NewReader(errR)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *child) listen(h *stream.Handle) {
	c.follow(func() { h.Listen(c.stdout, "stdout") }, h.Stderr())
}

// follow starts what follows a process: its output, its stderr and its end.
func (c *child) follow(hear func(), stderr io.Writer) {
	go func() {
		defer close(c.outDone)
		hear()
	}()
	go func() {
		defer close(c.errDone)
		c.stderr.CopyTo(stderr)
	}()
	go func() {
		defer close(c.exited)
		c.group.await(c.cmd)
	}()
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

// killAndReap kills what is left of the group and reaps the process.
func (c *child) killAndReap() *os.ProcessState {
	c.group.kill()
	<-c.exited
	return c.group.reap(c.cmd)
}

// drain reads what is left in the pipes, and returns when no goroutine works for the
// process any more.
func (c *child) drain() {
	c.stdout.Cut()
	c.stderr.Cut()
	<-c.outDone
	<-c.errDone
	c.stdout.Close()
	c.stderr.Close()
}

// pipes keeps the ends of pipes in order while a process is being started.
type pipes struct {
	ours, theirs []*os.File
	err          error
}

// pair makes a pipe. After a failure it makes none, so that one look at err is
// enough for several.
func (p *pipes) pair() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	r, w, p.err = os.Pipe()
	if p.err == nil {
		p.theirs = append(p.theirs, r, w)
	}
	return r, w
}

// closeUnused closes the ends that only the child needs, and all of them if there is
// no child.
func (p *pipes) closeUnused(err error) {
	for _, f := range p.theirs {
		f.Close()
	}
	if err == nil {
		return
	}
	for _, f := range p.ours {
		f.Close()
	}
}
