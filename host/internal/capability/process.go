package capability

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/wharf-mcp/wharf/abi"
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

// Kind implements [Target].
func (Process) Kind() abi.OpenKind { return abi.OpenProcess }

// Opener implements [Target].
func (p Process) Opener(*Limits) Opener { return StreamOpener(p.serve) }

// serve carries the process from its start to its end. That it ended by itself tells
// more than a failure that came of it: a broken pipe, say. However it ends, its group
// is killed before it is reaped: the pid of a process that is not reaped cannot belong
// to anybody else, so the kill cannot hit a stranger.
func (p Process) serve(h *handle) {
	c, err := p.start(h)
	if err != nil {
		h.fail(statusOf(err, abi.Unreachable), fmt.Errorf("start process: %w", err))
		return
	}
	h.Events.Opened()
	c.listen(h)
	select {
	case <-c.exited:
		c.settle(h)
	case <-h.Context.Done():
		c.dismiss(h)
	case <-h.failed:
	}
	state := c.bury(h)
	if !h.hasFailed() || leftByItself(state) {
		h.exit(state.ExitCode(), state.String())
	}
}

// child is a process that was started, with the ends of its pipes that are ours.
type child struct {
	cmd     *exec.Cmd
	group   group
	stdin   *port
	stdout  *inlet
	stderr  *inlet
	outDone chan struct{} // stdout is read to its end, and said
	errDone chan struct{} // stderr is read to its end
	exited  chan struct{} // the process is over; its group may not be
}

// start forks, and attaches stdin. On an error nothing is left.
func (p Process) start(h *handle) (*child, error) {
	c, err := p.fork()
	if err == nil {
		h.attach(c.stdin, "its stdin")
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
	var pipes plumbing
	defer func() { pipes.done(err) }()
	if err = c.connect(&pipes); err != nil {
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	c.group.prepare(cmd)
	if err = cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, explainRun(cause(err)))
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
func (c *child) connect(pipes *plumbing) error {
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
	c.stdin, errs[0] = newPort(inW, inW.Close, inW.Close)
	c.stdout, errs[1] = newInlet(outR)
	c.stderr, errs[2] = newInlet(errR)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *child) listen(h *handle) {
	c.follow(func() { h.listen(c.stdout, "stdout") }, h.Stderr())
}

// follow starts what follows a process: its output, its stderr and its end.
func (c *child) follow(hear func(), stderr io.Writer) {
	go func() {
		defer close(c.outDone)
		hear()
	}()
	go func() {
		defer close(c.errDone)
		c.stderr.pour(stderr)
	}()
	go func() {
		defer close(c.exited)
		c.group.await(c.cmd)
	}()
}

// settle gives the output of a process that has ended time to be read, and its
// descendants time to end by themselves.
func (c *child) settle(h *handle) {
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

// dismiss asks a process to end: first by the end of its stdin, then by TERM.
// The kill that follows is bury's.
func (c *child) dismiss(h *handle) {
	h.out.finish()
	if c.ends(h, h.Grace().Stdin) {
		return
	}
	if c.group.terminate() {
		c.ends(h, h.Grace().Term)
	}
}

// ends reports whether the process is over within a time, or before the graces
// of the table end.
func (c *child) ends(h *handle, within time.Duration) bool {
	select {
	case <-c.exited:
		return true
	case <-h.Forced():
		return false
	case <-time.After(within):
		return false
	}
}

// bury kills what is left of the group, reaps the process and returns when
// nobody works for it any more.
func (c *child) bury(h *handle) *os.ProcessState {
	state := c.end()
	h.out.close()
	c.drain()
	return state
}

// end kills what is left of the group and reaps the process.
func (c *child) end() *os.ProcessState {
	c.group.kill()
	<-c.exited
	return c.group.reap(c.cmd)
}

// drain reads what the dead have left, and returns when nobody works for the
// process any more.
func (c *child) drain() {
	c.stdout.cut()
	c.stderr.cut()
	<-c.outDone
	<-c.errDone
	c.stdout.from.Close()
	c.stderr.from.Close()
}

// plumbing keeps the ends of pipes in order while a process is being started.
type plumbing struct {
	ours, theirs []*os.File
	err          error
}

// pair makes a pipe. After a failure it makes none, so that one look at err is
// enough for several.
func (p *plumbing) pair() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	r, w, p.err = os.Pipe()
	if p.err == nil {
		p.theirs = append(p.theirs, r, w)
	}
	return r, w
}

// done closes the ends that only the child needs, and all of them if there is
// no child.
func (p *plumbing) done(err error) {
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
