package stream

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeSet watches the pipes that no goroutine reads, and the ends of processes. One goroutine waits
// for all of them. It exists while there are any.
type pipeSet struct {
	mu      sync.Mutex
	epoll   *os.File // nil while there is no member
	fd      int      // the descriptor of epoll; the same while there are members
	members map[int32]member
	resting []member // were read by callers lately, and are not watched now
}

// member is a pipe of the set, or a [Readiness]. The set calls it from its own goroutine, or a timer's.
type member interface {
	wake()        // called when there is something to read
	rested() bool // resumes watching and returns true, unless a caller has read since the last call
}

// watchedPipes is the pipeSet of this process.
var watchedPipes = &pipeSet{members: make(map[int32]member)}

// restTime is how long a pipe that a caller has read is not watched: watching it between two calls
// would cost each of them two system calls. A message that the server sends by itself at that time
// waits for at most twice restTime.
const restTime = time.Millisecond

// add makes the owner of fd a member, which must ask to be watched later. It must be removed even
// after an error.
func (s *pipeSet) add(fd int, in member) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoll == nil {
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return os.NewSyscallError("epoll_create1", err)
		}
		unix.SetNonblock(epoll, true) // so that the runtime polls it, and no thread waits for it
		s.fd, s.epoll = epoll, os.NewFile(uintptr(epoll), "epoll")
		raw, err := s.epoll.SyscallConn()
		if err != nil {
			return err
		}
		go s.run(raw)
	}
	s.members[int32(fd)] = in
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(s.fd, unix.EPOLL_CTL_ADD, fd, watchFor(fd, 0)))
}

// remove must be called before fd is closed.
func (s *pipeSet) remove(fd int) {
	s.mu.Lock()
	unix.EpollCtl(s.fd, unix.EPOLL_CTL_DEL, fd, nil)
	delete(s.members, int32(fd))
	var last *os.File
	if len(s.members) == 0 {
		last, s.epoll = s.epoll, nil
	}
	s.mu.Unlock()
	last.Close() // waits for run, which waits for mu; there is rarely anything to close
}

// watch wakes the member that owns fd once, on the first of events.
func (s *pipeSet) watch(fd int, events uint32) {
	unix.EpollCtl(s.fd, unix.EPOLL_CTL_MOD, fd, watchFor(fd, events))
}

// watchFor returns the registration for the system. Without EPOLLONESHOT the system would report
// the end of a pipe without pause, whatever the events.
func watchFor(fd int, events uint32) *unix.EpollEvent {
	return &unix.EpollEvent{Fd: int32(fd), Events: events | unix.EPOLLONESHOT}
}

// run wakes members until the set is closed.
func (s *pipeSet) run(epoll syscall.RawConn) {
	var events [64]unix.EpollEvent
	epoll.Read(func(fd uintptr) (over bool) {
		for {
			n, err := unix.EpollWait(int(fd), events[:], 0)
			if n == 0 {
				return false
			}
			if err != nil && err != unix.EINTR {
				return true
			}
			s.mu.Lock()
			for _, e := range events[:max(n, 0)] {
				if in := s.members[e.Fd]; in != nil { // else it was removed meanwhile
					in.wake()
				}
			}
			s.mu.Unlock()
			if n < len(events) {
				return false // the runtime reports what comes from now on
			}
		}
	})
}

// Readiness calls a function when there is something to read from a file descriptor.
type Readiness struct {
	fd   int
	once sync.Once
	call func()
}

// WhenReadable calls f once when there is something to read from fd. A pidfd counts as readable
// when its process has ended. f does not wait, and does not call the Readiness. After the owner of
// fd has called Forget, and not before, it may close fd.
func WhenReadable(fd int, f func()) (*Readiness, error) {
	r := &Readiness{fd: fd, call: f}
	if err := watchedPipes.add(fd, r); err != nil {
		r.Forget()
		return nil, err
	}
	watchedPipes.watch(fd, unix.EPOLLIN)
	return r, nil
}

// Forget returns when f has been called, or never will be.
func (r *Readiness) Forget() { watchedPipes.remove(r.fd) }

func (r *Readiness) wake() { r.once.Do(r.call) }

func (r *Readiness) rested() bool { return true } // it never rests

// rest leaves a pipe unwatched until no caller has read it for restTime.
func (s *pipeSet) rest(in member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resting) == 0 {
		time.AfterFunc(restTime, s.rested)
	}
	s.resting = append(s.resting, in)
}

// rested makes the set watch each resting pipe that no caller has read since the last look.
func (s *pipeSet) rested() {
	s.mu.Lock()
	resting := s.resting
	s.resting = nil
	s.mu.Unlock()
	for _, in := range resting {
		if in.rested() {
			continue
		}
		s.rest(in)
	}
}
