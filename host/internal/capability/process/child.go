package process

import (
	"context"
	"errors"
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

// fork starts the process, with its pipes. On an error nothing is left. The child's ends
// of the pipes block, which is what programs expect; ours do not.
func (p Process) fork() (c *child, err error) {
	cmd, err := p.command()
	if err != nil {
		return nil, err
	}
	c = &child{
		cmd:     cmd,
		outDone: make(chan struct{}),
		errDone: make(chan struct{}),
		exited:  make(chan struct{}),
	}
	var ours, theirs [3]*os.File // of stdin, stdout and stderr
	defer func() {
		for i := range ours {
			theirs[i].Close()
			if err != nil {
				ours[i].Close()
			}
		}
	}()
	for i := range ours {
		if theirs[i], ours[i], err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("make pipes: %w", err)
		}
	}
	theirs[1], ours[1], theirs[2], ours[2] = ours[1], theirs[1], ours[2], theirs[2] // which the child writes to
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	var errs [3]error
	c.stdin, errs[0] = stream.NewFDOutput(ours[0], ours[0].Close, ours[0].Close)
	c.stdout, errs[1] = stream.NewReader(ours[1])
	c.stderr, errs[2] = stream.NewReader(ours[2])
	if err = errors.Join(errs[:]...); err != nil {
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

// awaitPipes waits until the output of a process that is over is read, but only for a
// time: other processes may hold its pipes open for ever. It does not wait once full is
// closed, because nothing more is kept then.
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

// drain reads what is left in the pipes, closes them, and returns when no goroutine of the
// process is left.
func (c *child) drain() {
	c.stdout.Cut()
	c.stderr.Cut()
	<-c.outDone
	<-c.errDone
	c.stdout.Close()
	c.stderr.Close()
}
