package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

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

// awaitPipes gives the output of a process that is over a little time to be read: other
// processes may hold its pipes open for ever. It does not wait for more than goes into
// a buffer that is full.
func (c *child) awaitPipes(ctx context.Context, limit time.Duration, full <-chan struct{}) {
	late := time.After(limit)
	for _, done := range []chan struct{}{c.outDone, c.errDone} {
		select {
		case <-done:
		case <-full:
			return
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
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
