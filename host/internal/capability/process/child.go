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

// child is a started process, with our ends of its pipes.
type child struct {
	cmd     *exec.Cmd
	group   group
	stdin   *stream.FDOutput
	stdout  *stream.ChildPipe
	stderr  *stream.ChildPipe
	outDone <-chan struct{} // closed when stdout was read to its end and passed on; set by follow
	errDone <-chan struct{} // closed when stderr was read to its end; set by follow
	exited  chan struct{}   // closed when the process has ended; its group may still run
}

// fork starts the process with its pipes. After an error nothing is left. The child's ends of the
// pipes block, which programs expect; ours do not.
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

// closePipes closes our ends of the pipes.
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

// follow starts to follow the stderr and the end of the process. outDone is closed when stdout,
// which is followed already, is read to its end. over is called once exited is closed, and must not
// wait.
func (c *child) follow(outDone <-chan struct{}, stderr io.Writer, over func()) {
	c.outDone, c.errDone = outDone, copyFrom(c.stderr, stderr)
	c.group.whenOver(c.cmd, func() {
		close(c.exited)
		over()
	})
}

// copyFrom passes the bytes of in to w. It goes on reading if w fails, so that the process is not
// held up. over is closed at the end.
func copyFrom(in *stream.ChildPipe, w io.Writer) (over <-chan struct{}) {
	done := make(chan struct{})
	in.Follow(func(p []byte) { w.Write(p) }, func(error) { close(done) })
	return done
}

// awaitPipes waits for a limited time until the output of an ended process is read: other processes
// may hold its pipes open for ever. Once full is closed, it does not wait, because no more output
// is kept.
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

// killAndReap kills the rest of the group and reaps the process.
func (c *child) killAndReap() *os.ProcessState {
	c.group.kill()
	<-c.exited
	return c.group.reap(c.cmd)
}

// drain reads the rest of the pipes and closes them. It returns when no goroutine of the process is
// left.
func (c *child) drain() {
	c.stdout.Cut()
	c.stderr.Cut()
	<-c.outDone
	<-c.errDone
	c.stdout.Close()
	c.stderr.Close()
}
