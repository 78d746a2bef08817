package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
)

// Site is a [Web] or a [Socket] in a process of its own. It must be closed.
type Site struct {
	command *exec.Cmd
	control io.WriteCloser
	said    *bufio.Scanner
	address string // as the process says it
}

// OpenSite starts a command that calls [ServeWeb] or [ServeSocket].
func OpenSite(command []string) (*Site, error) {
	if len(command) == 0 {
		return nil, errors.New("there is no command that serves")
	}
	s := &Site{command: exec.Command(command[0], command[1:]...)}
	var err error
	if s.control, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	s.said = bufio.NewScanner(out)
	if s.address, err = s.line(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// URL returns the address at which a [Web] answers requests in one of the forms.
func (s *Site) URL(f Form) string { return s.address + "/" + string(f) }

// Path returns the path of a [Socket].
func (s *Site) Path() string { return s.address }

// Opened returns how many connections there were until now. It makes none itself.
func (s *Site) Opened() (int, error) {
	if _, err := io.WriteString(s.control, "\n"); err != nil {
		return 0, err
	}
	line, err := s.line()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(line)
}

func (s *Site) line() (string, error) {
	if !s.said.Scan() {
		return "", fmt.Errorf("the server ended: %w", errors.Join(io.ErrUnexpectedEOF, s.said.Err()))
	}
	return s.said.Text(), nil
}

// Close ends the process, and returns when it has ended.
func (s *Site) Close() error {
	s.control.Close()
	return s.command.Wait()
}
