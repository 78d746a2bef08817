package exampletest

import (
	"bytes"
	"os/exec"
	"sync"
	"testing"
)

// A Process is a program that runs until it is killed, at the latest when the test
// ends.
type Process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the program has ended
}

// StartProcess starts a program, and returns when it has said that it is ready, on its
// stdout or stderr.
func StartProcess(t testing.TB, ready string, cmd *exec.Cmd) *Process {
	t.Helper()
	said := &outputLog{want: []byte(ready), heard: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	s := &Process{cmd: cmd, gone: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	go func() {
		cmd.Process.Wait() // not cmd.Wait: a child of the program may keep its stderr open
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
func (s *Process) Kill() {
	s.cmd.Process.Kill()
	<-s.gone
}

// ID returns the id of the process.
func (s *Process) ID() int { return s.cmd.Process.Pid }

// outputLog keeps the output of a program, and closes heard when want is in it.
type outputLog struct {
	want  []byte
	heard chan struct{}
	once  sync.Once

	mu   sync.Mutex
	said bytes.Buffer
}

func (l *outputLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said.Write(b)
	if bytes.Contains(l.said.Bytes(), l.want) {
		l.once.Do(func() { close(l.heard) })
	}
	return len(b), nil
}

func (l *outputLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}
