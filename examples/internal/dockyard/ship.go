package dockyard

import (
	"bytes"
	"os/exec"
	"sync"
	"testing"
)

// A Ship is a program that runs until it is killed, at the latest when the test
// ends.
type Ship struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it is
}

// Launch starts a program, and returns when it has said that it is ready, on its
// stdout or stderr.
func Launch(t testing.TB, ready string, cmd *exec.Cmd) *Ship {
	t.Helper()
	said := &log{want: []byte(ready), heard: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	s := &Ship{cmd: cmd, gone: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	go func() {
		cmd.Process.Wait() // and not for what it has started, which may have its stderr
		close(s.gone)
	}()
	select {
	case <-said.heard:
	case <-s.gone:
		t.Fatalf("%s ended: %s", cmd.Path, said.text())
	}
	return s
}

// Kill returns when the program is gone, and its port is free.
func (s *Ship) Kill() {
	s.cmd.Process.Kill()
	<-s.gone
}

// ID is that of the process.
func (s *Ship) ID() int { return s.cmd.Process.Pid }

// log keeps what a program says, and hears when that is what was waited for.
type log struct {
	want  []byte
	heard chan struct{}
	once  sync.Once

	mu   sync.Mutex
	said bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said.Write(b)
	if bytes.Contains(l.said.Bytes(), l.want) {
		l.once.Do(func() { close(l.heard) })
	}
	return len(b), nil
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}
