package process

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Piped is a process that talks only with this one: Write goes to its stdin, and Read comes from
// its stdout. It inherits no variables. The first lines of its stderr are kept for its end.
//
// One goroutine at a time reads, writes and closes; any may call the other methods. The caller of
// StartPiped must call Reap, and then Close.
type Piped struct {
	child    *child
	stderr   *cappedBuffer
	released chan struct{} // closed when no Read or Write waits for an ended process

	mu     sync.Mutex
	reaped bool // the process id may belong to another process now
}

// StartPiped starts the process without inherited variables. After an error nothing is left.
// Otherwise the caller must call Reap and Close.
func (p Process) StartPiped() (*Piped, error) {
	p.Bare = true
	c, err := p.fork()
	if err != nil {
		return nil, err
	}
	k := &Piped{child: c, stderr: &cappedBuffer{full: make(chan struct{})}, released: make(chan struct{})}
	read := make(chan struct{}) // closed when the owner of k has stopped reading
	close(read)
	c.follow(read, k.stderr, func() {})
	go func() {
		defer close(k.released)
		<-c.exited
		c.stdin.Close() // other processes may hold the ends of an ended one
		c.stdout.Cut()
		c.stderr.Cut()
	}()
	return k, nil
}

// Read returns bytes of the process's stdout, and io.EOF after its end.
func (k *Piped) Read(p []byte) (int, error) { return k.child.stdout.Read(p) }

// Write returns when the process has taken all of p, or has ended.
func (k *Piped) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var took int
		took, err = k.child.stdin.Wait(p[n:])
		n += took
	}
	return n, err
}

// Ended is closed when the process has ended.
func (k *Piped) Ended() <-chan struct{} { return k.child.exited }

// Kill ends the process and everything that it started. It does not wait.
func (k *Piped) Kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.reaped {
		k.child.group.kill()
	}
}

// Usage returns what the process uses, if the system knows that of a running process. Only Linux
// does.
func (k *Piped) Usage() (u Usage, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reaped {
		return Usage{}, false
	}
	return usageOf(k.child.cmd.Process.Pid)
}

// Reap kills what is left of the process, waits for its end and returns, for people, how it ended:
// "was killed by signal 9". Earlier output can still be read. Reap is called once, by any
// goroutine.
func (k *Piped) Reap() string {
	k.Kill()
	<-k.child.exited
	k.mu.Lock()
	k.reaped = true
	state := k.child.group.reap(k.child.cmd)
	k.mu.Unlock()
	<-k.child.errDone
	return ending(state) + k.stderrStart()
}

// Close frees what is left of a process that was reaped.
func (k *Piped) Close() {
	<-k.released
	k.child.drain()
}

// ending says how a process ended.
func ending(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was killed by signal %d", status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", state.ExitCode())
}

// stderrStart returns the first lines of the process's stderr, in parentheses. A runtime that
// crashes gives its reason there.
func (k *Piped) stderrStart() string {
	lines := cleanLines(k.stderr.kept.Bytes())
	if len(lines) == 0 {
		return ""
	}
	return " (it said: " + strings.Join(lines[:min(2, len(lines))], "; ") + ")"
}

var _ io.ReadWriter = (*Piped)(nil)
