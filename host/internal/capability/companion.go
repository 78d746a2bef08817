package capability

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Companion is a process that only talks with this one: what is written goes to
// its stdin, and what it says on its stdout is read. It has no environment but its
// own, and what it writes to its stderr is kept for when it ends.
//
// One goroutine at a time reads, writes and closes; all else is for any. Whoever
// starts it sees to it that it is reaped, and then closed.
type Companion struct {
	child *child
	said  *bowl
	cut   chan struct{} // closed when nobody waits for a process that is over

	mu   sync.Mutex
	gone bool // reaped: the number may be somebody else's
}

// Accompany starts the process.
func (p Process) Accompany() (*Companion, error) {
	p.Bare = true
	c, err := p.fork()
	if err != nil {
		return nil, err
	}
	k := &Companion{child: c, said: &bowl{full: make(chan struct{})}, cut: make(chan struct{})}
	c.follow(func() {}, k.said)
	go func() {
		defer close(k.cut)
		<-c.exited
		c.stdin.close() // others may hold the ends of a process that is over
		c.stdout.cut()
		c.stderr.cut()
	}()
	return k, nil
}

// Read returns what the process has said, io.EOF when it is over.
func (k *Companion) Read(p []byte) (int, error) { return k.child.stdout.Read(p) }

// Write returns when the process has taken all of p, or is over.
func (k *Companion) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var took int
		took, err = k.child.stdin.wait(p[n:])
		n += took
	}
	return n, err
}

// Ended is closed when the process is over.
func (k *Companion) Ended() <-chan struct{} { return k.child.exited }

// Kill ends the process and all that it started. It does not wait for that.
func (k *Companion) Kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.gone {
		k.child.group.kill()
	}
}

// Used returns what the process has used of all processors, if the system says so
// of a process that is not over.
func (k *Companion) Used() (cpu time.Duration, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		return 0, false
	}
	return processorTime(k.child.cmd.Process.Pid)
}

// Reap kills what is left of the process, waits for its end and says how that came,
// for people: "was killed by signal 9". What it said before can still be read. It
// is called once, by any goroutine.
func (k *Companion) Reap() string {
	k.Kill()
	<-k.child.exited
	k.mu.Lock()
	k.gone = true
	state := k.child.group.reap(k.child.cmd)
	k.mu.Unlock()
	<-k.child.errDone
	return ending(state) + k.words()
}

// Close gives back what is left of a process that was reaped.
func (k *Companion) Close() {
	<-k.cut
	k.child.drain()
}

// ending says how a process ended.
func ending(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was killed by signal %d", status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", state.ExitCode())
}

// words are the first lines of what the process wrote to its stderr: where a
// runtime dies, it says so before all else.
func (k *Companion) words() string {
	var lines []string
	for line := range strings.Lines(k.said.kept.String()) {
		if line = cleantext.Line(strings.TrimSpace(line), oneLine); line != "" && len(lines) < 2 {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return " (it said: " + strings.Join(lines, "; ") + ")"
}

var _ io.ReadWriter = (*Companion)(nil)
