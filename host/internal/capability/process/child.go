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
	stdout  *stream.ChildPipe
	stderr  *stream.ChildPipe
	outDone <-chan struct{} // stdout is read to its end, and said; set by follow
	errDone <-chan struct{} // stderr is read to its end; set by follow
	exited  chan struct{}   // the process is over; its group may not be
}

// fork starts the process, with its pipes. On an error nothing is left. The child's ends
// of the pipes block, which is what programs expect; ours do not.
func (p Process) fork() (*child, error) {
	cmd, err := p.command()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, exited: make(chan struct{})}
	err = c.start()
	if err != nil {
		c.closePipes()
		return nil, err
	}
	return c, nil
}

// start makes the pipes and starts the process with the child's ends of them.
func (c *child) start() (err error) {
	var stdin, theirIn, theirOut, theirErr *os.File
	defer func() {
		for _, end := range []*os.File{theirIn, theirOut, theirErr} {
			end.Close() // or nil
		}
	}()
	if theirIn, stdin, err = os.Pipe(); err == nil {
		c.stdin, err = stream.NewFDOutput(stdin, stdin.Close, stdin.Close)
	}
	if err == nil {
		c.stdout, theirOut, err = stream.OpenChildPipe()
	}
	if err == nil {
		c.stderr, theirErr, err = stream.OpenChildPipe()
	}
	if err != nil {
		return fmt.Errorf("make pipes: %w", err)
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, theirErr
	c.group.prepare(c.cmd)
	if err = c.cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", c.cmd.Path, explainRun(capability.Cause(err)))
	}
	if err = c.group.adopt(c.cmd); err != nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
	return err
}

// closePipes closes our ends of the pipes that there are.
func (c *child) closePipes() {
	if c.stdin != nil {
		c.stdin.Close()
	}
	if c.stdout != nil {
		c.stdout.Close()
	}
	if c.stderr != nil {
		c.stderr.Close()
	}
}

// follow starts what follows a process: its stderr and its end. outDone is closed when its
// stdout, which is followed already, is read to its end. over is called once exited is closed,
// and does not wait.
func (c *child) follow(outDone <-chan struct{}, stderr io.Writer, over func()) {
	c.outDone, c.errDone = outDone, copyFrom(c.stderr, stderr)
	c.group.whenOver(c.cmd, func() {
		close(c.exited)
		over()
	})
}

// copyFrom passes what comes from in to w, and goes on when w fails: the process that writes
// must not be held up. over is closed at the end.
func copyFrom(in *stream.ChildPipe, w io.Writer) (over <-chan struct{}) {
	done := make(chan struct{})
	in.Follow(func(p []byte) { w.Write(p) }, func(error) { close(done) })
	return done
}

// awaitPipes waits until the output of a process that is over is read, but only for a
// time: other processes may hold its pipes open for ever. It does not wait once full is
// closed, because nothing more is kept then.
func (c *child) awaitPipes(ctx context.Context, limit time.Duration, full <-chan struct{}) {
	late := time.After(limit)
	for _, done := range []<-chan struct{}{c.outDone, c.errDone} {
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
