package process

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// Bounds of a command that is run to its end.
const (
	MaxOutput = 64 << 10 // bytes of its stdout

	runTime     = 30 * time.Second // from its start to its end
	stderrLines = 5                // lines of its stderr that are kept
	stderrLine  = 300              // bytes of each of them
)

// Output is what a command printed, and its exit code.
type Output struct {
	Code   int    // the exit code; -1 if a signal ended it
	Stdout []byte // all of it; the caller's
	Stderr string // its last lines, fit to be shown to a person
}

// Run runs the process to its end, as a server entry's helper command: with the environment of a
// server, an empty stdin and thirty seconds. When Run returns, no process of its group is left.
//
// A command that fails has an Output like any other, with its exit code. Run returns an error if
// the command could not be started, wrote more than [MaxOutput], or had not ended in time or when
// ctx ended; then it is told to end, and killed soon after. No error quotes its stdout, which may
// be a secret; errors quote the last lines of stderr.
func (p Process) Run(ctx context.Context) (*Output, error) {
	return p.RunWithin(ctx, runTime)
}

// RunWithin is [Process.Run] with another limit, for a command such as a compiler.
func (p Process) RunWithin(ctx context.Context, limit time.Duration) (*Output, error) {
	return p.run(ctx, limit, capability.OneShot())
}

// run runs the process within a limit. Its end gets the graces.
func (p Process) run(ctx context.Context, limit time.Duration, grace capability.Grace) (*Output, error) {
	late := fmt.Errorf("it was not over within %v: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("run %s: %w", p.Command, context.Cause(ctx))
	}
	c, err := p.fork()
	if err != nil {
		return nil, fmt.Errorf("run the helper: %w", err)
	}
	c.stdin.Close()
	stdout, stderr := &cappedBuffer{full: make(chan struct{})}, capability.NewTail()
	c.follow(copyFrom(c.stdout, stdout), stderr, func() {})
	select {
	case <-c.exited:
		c.awaitPipes(ctx, grace.Exit, stdout.full)
	case <-stdout.full:
	case <-ctx.Done():
		err = context.Cause(ctx)
		if c.group.terminate() {
			select {
			case <-c.exited:
			case <-time.After(grace.Term):
			}
		}
	}
	state := c.killAndReap()
	c.drain()
	lines := cleanLines(stderr.Bytes())
	lines = lines[max(0, len(lines)-stderrLines):]
	if stdout.isFull() {
		err = fmt.Errorf("it said more than %d bytes", MaxOutput)
	}
	switch {
	case err != nil && len(lines) > 0:
		return nil, fmt.Errorf("run %s: %w; its last words: %s", p.Command, err, strings.Join(lines, "; "))
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", p.Command, err)
	}
	return &Output{Code: state.ExitCode(), Stdout: stdout.kept.Bytes(), Stderr: strings.Join(lines, "\n")}, nil
}

// cappedBuffer keeps the output of a command until it is full.
type cappedBuffer struct {
	kept bytes.Buffer
	full chan struct{} // closed when some bytes did not fit
}

// Write implements io.Writer and never fails. It drops bytes that do not fit.
func (b *cappedBuffer) Write(p []byte) (int, error) {
	room := MaxOutput - b.kept.Len()
	b.kept.Write(p[:min(len(p), room)])
	if len(p) > room && !b.isFull() {
		close(b.full)
	}
	return len(p), nil
}

func (b *cappedBuffer) isFull() bool {
	select {
	case <-b.full:
		return true
	default:
		return false
	}
}

// cleanLines returns the lines of a command's output, without empty ones, cleaned for a person.
func cleanLines(said []byte) (lines []string) {
	for line := range bytes.Lines(said) {
		if clean := cleantext.Line(string(bytes.TrimSpace(line)), stderrLine); clean != "" {
			lines = append(lines, clean)
		}
	}
	return lines
}
