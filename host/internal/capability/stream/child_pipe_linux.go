package stream

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// ChildPipe is the read end of a pipe from a child process. While no goroutine reads it, the
// [pipeSet] of this process watches it. The runtime does not poll it: otherwise a caller that waits
// in the system for its own answer would wake the polling thread each time.
type ChildPipe struct {
	fd    int
	hear  func(p []byte)
	ended func(err error)
	ready chan struct{} // has a token when Read should try again

	turn    sync.Mutex // held by the goroutine that reads and passes on what it read
	watched bool       // by the set; under turn
	resting bool       // the set will watch it again soon; under turn
	used    bool       // a caller has read since the set looked; under turn
	awaited bool       // a caller has left before its answer, and nothing came since; under turn
	over    bool       // no more comes; under turn
	full    int        // reads in a row that filled the chunk; under turn
	left    int        // bytes that may still be read after Cut; under turn

	followed   atomic.Bool
	unattended atomic.Bool // neither watched nor read, until it has rested
	draining   atomic.Bool // a goroutine is about to take the turn and drain it
	cut        atomic.Bool
}

// OpenChildPipe makes a pipe. The write end blocks, which is what programs expect.
func OpenChildPipe() (in *ChildPipe, out *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	in = &ChildPipe{fd: ends[0], ready: make(chan struct{}, 1), left: PipeMax}
	if err = unix.SetNonblock(in.fd, true); err == nil {
		err = watchedPipes.add(in.fd, in)
	}
	if err != nil {
		unix.Close(ends[1])
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, os.NewFile(uintptr(ends[1]), "|1"), nil
}

// Follow is described at [ChildPipe].
func (in *ChildPipe) Follow(hear func(p []byte), ended func(err error)) {
	in.turn.Lock()
	defer in.turn.Unlock()
	in.hear, in.ended = hear, ended
	in.followed.Store(true)
	in.watch()
}

// longRead is how many bytes a read brings where a server is in the middle of long answers.
const longRead = 16 << 10

// drain passes on what has come, and lets the set watch for more. Between two reads it yields the
// turn and its processor. Callers that have their answers then ask again, and the next read brings
// all of their answers. A caller that is alone by then takes the turn. After a long read drain waits
// for the next: that comes soon, and the set would switch threads for each.
func (in *ChildPipe) drain() {
	in.turn.Lock()
	in.draining.Store(false)
	in.unattended.Store(false)
	in.watched = false // or about to wake it once more, which does no harm
	for !in.over {
		n, err := in.pass()
		if err != nil {
			in.over = true
			if err == io.EOF {
				err = nil
			}
			in.ended(err)
		} else if n == 0 {
			in.watch()
			break
		} else if n < capability.ChunkSize {
			in.turn.Unlock()
			runtime.Gosched()
			if !in.turn.TryLock() {
				return // that goroutine reads, rests or wakes the pipe
			}
			if n >= longRead {
				in.await()
			}
		}
	}
	in.turn.Unlock()
}

// pass reads once and passes the bytes on. 0 bytes without an error mean that nothing was there.
// The caller has the turn.
func (in *ChildPipe) pass() (n int, err error) {
	buf := capability.GetChunk()
	n, err = in.read(buf[:])
	if in.awaited && (n > 0 || err != nil) {
		in.awaited = false
		awaited.Add(-1)
	}
	if n > 0 {
		in.hear(buf[:n])
	}
	capability.PutChunk(buf)
	return n, err
}

// read reads into p without waiting. After Cut, no bytes means the end. The caller has the turn.
func (in *ChildPipe) read(p []byte) (n int, err error) {
	cut := in.cut.Load()
	if cut {
		p = p[:min(len(p), in.left)]
	}
	n, err = unix.Read(in.fd, p)
	switch {
	case err == unix.EINTR, err == unix.EAGAIN && !cut:
		return 0, nil
	case err != nil && !cut:
		return 0, os.NewSyscallError("read", err)
	case n <= 0:
		return 0, io.EOF
	case cut:
		in.left -= n
	case n < capability.ChunkSize:
		in.full = 0
	default:
		if in.full++; in.full == growAfter {
			unix.FcntlInt(uintptr(in.fd), unix.F_SETPIPE_SZ, PipeMax)
		}
	}
	return n, nil
}

// ReadFor is described at [hostio.AnswerReader].
func (in *ChildPipe) ReadFor(w hostio.Waiter) {
	if w.Others() || !in.turn.TryLock() {
		// Another goroutine passes on this answer too. It is the caller's business only if a caller has
		// left the pipe to rest, and did not see that there is another.
		if in.unattended.Load() {
			in.wake()
		}
		return
	}
	in.unattended.Store(false)
	if in.over {
		in.turn.Unlock()
		return
	}
	in.unwatch()
	answered := w.Over()
	for !answered && (in.hold() || in.await()) {
		if n, err := in.pass(); n == 0 || err != nil {
			break // drain finds the end again
		}
		if answered = w.Over(); !answered {
			runtime.Gosched() // lets those run that this was for: else a flood piles up in the queue
		}
	}
	if answered {
		in.rest()
	} else if !in.awaited {
		in.awaited = true
		awaited.Add(1)
	}
	in.turn.Unlock()
	if !answered || w.Others() {
		in.wake()
	}
}

// rest leaves the pipe unwatched for a moment. The caller has the turn.
func (in *ChildPipe) rest() {
	in.used = true
	in.unattended.Store(true)
	if !in.resting {
		in.resting = true
		watchedPipes.rest(in)
	}
}

// rested is described at [member].
func (in *ChildPipe) rested() bool {
	if !in.turn.TryLock() {
		return false
	}
	defer in.turn.Unlock()
	if in.resting = in.used && !in.over; in.resting {
		in.used = false
		return false
	}
	if !in.over && !in.watched {
		in.watch()
	}
	return true
}

// brief is how long a caller keeps the only processor of the runtime while it waits.
const brief = 100 * time.Microsecond

// awaited counts the pipes whose field awaited is true.
var awaited atomic.Int32

// hold is await for a runtime with one processor, and keeps the processor while it waits. In await
// the runtime takes the processor away after 20 µs, which costs two switches of threads. While
// another caller's answer is left to the set, hold does not wait.
func (in *ChildPipe) hold() bool {
	if runtime.GOMAXPROCS(0) > 1 || awaited.Load() > 0 {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(in.fd), Events: unix.POLLIN}}
	limit := unix.NsecToTimespec(brief.Nanoseconds())
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	return int(n) > 0
}

// patience is how long a goroutine waits for a silent process before it leaves the reading to the
// set. A server with its answer at hand sends it sooner. The wait occupies a processor of the
// runtime, until the runtime finds other work for that.
var patience = 250 * time.Microsecond // tests wait for longer

// patient counts the goroutines that wait in the system, each with a thread.
var patient atomic.Int32

// await waits until there is something to read, and reports whether there is. At most as many
// goroutines wait as there are processors; a further one does not wait.
func (in *ChildPipe) await() bool {
	defer patient.Add(-1)
	if patient.Add(1) > int32(runtime.GOMAXPROCS(0)) {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(in.fd), Events: unix.POLLIN}}
	limit := unix.NsecToTimespec(patience.Nanoseconds())
	n, err := unix.Ppoll(fds[:], &limit, nil)
	return n > 0 && err == nil
}

// wake makes a goroutine of its own, or Read, read the pipe. It implements [member], and may be
// called from anywhere.
func (in *ChildPipe) wake() {
	if !in.followed.Load() {
		select {
		case in.ready <- struct{}{}:
		default:
		}
	} else if !in.draining.Swap(true) {
		go in.drain()
	}
}

// watch makes the set wake the pipe when there is something to read. The caller has the turn.
func (in *ChildPipe) watch() {
	in.watched = true
	in.unattended.Store(false)
	watchedPipes.watch(in.fd, unix.EPOLLIN)
}

// unwatch undoes watch. A wake may still be running.
func (in *ChildPipe) unwatch() {
	if in.watched {
		in.watched = false
		watchedPipes.watch(in.fd, 0)
	}
}

// Read waits until bytes have come, and reads them.
func (in *ChildPipe) Read(p []byte) (int, error) {
	for waited := false; ; waited = true {
		in.turn.Lock()
		if !waited {
			in.await()
		}
		n, err := in.read(p)
		if n == 0 && err == nil {
			in.watch()
		}
		in.turn.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		<-in.ready
	}
}

// Cut is described at [Reader.Cut].
func (in *ChildPipe) Cut() {
	in.cut.Store(true)
	in.wake()
}

// Close closes the pipe. It must have ended, or never have been followed or read.
func (in *ChildPipe) Close() error {
	in.turn.Lock()
	defer in.turn.Unlock()
	in.over = true
	watchedPipes.remove(in.fd)
	return unix.Close(in.fd)
}
