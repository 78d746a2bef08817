package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command whose stdout and stderr are a terminal of 80
// columns, and returns what it has shown.
func onTerminal(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	master, slave := openTerminal(t)
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "TERM=xterm"), env...)
	command.Stdout, command.Stderr = slave, slave
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	shown, _ := io.ReadAll(master) // ends with EIO when the terminal is let go
	command.Wait()                 // the screen tells
	return strings.ReplaceAll(string(shown), "\r\n", "\n")
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func TestTerminalGetsTables(t *testing.T) {
	shown := onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "tools", "demo")
	if !strings.Contains(shown, "TOOL  ARGUMENTS") || !strings.Contains(shown, "\necho  message=string     Say a message back.\n") {
		t.Errorf("shown: %s", shown)
	}
	if shown = onTerminal(t, nil, "wharf", "tools", "demo", "--json"); !strings.Contains(shown, `"name":"add"`) {
		t.Errorf("with --json: %s", shown)
	}
}

func TestTerminalGetsText(t *testing.T) {
	shown := onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "call", "demo", "echo", "message=hello")
	if withoutSpinner(shown) != "hello\n" {
		t.Errorf("shown: %q", shown)
	}
}

// Nothing that a server says, on whichever stream, reaches a terminal as a
// control.
func TestTerminalIsNotSteered(t *testing.T) {
	for _, args := range [][]string{
		{"tools", "--", "server-steers"},
		{"call", "steer", "--", "server-steers"},
		{"call", "steer", "--json", "--", "server-steers"},
		{"call", "no\x1b[2Jtool", "--", "server-steers"},
	} {
		shown := withoutSpinner(onTerminal(t, []string{"NO_COLOR=1"}, "wharf", args...))
		if strings.IndexFunc(shown, unsafe) >= 0 {
			t.Errorf("%q: shown: %q", args, shown)
		}
		if !strings.Contains(shown, `[server-steers] \x1b]0;owned\x07`) {
			t.Errorf("%q: the server's stderr is missing: %q", args, shown)
		}
	}
}

func TestColourOnATerminalOnly(t *testing.T) {
	if shown := onTerminal(t, []string{"NO_COLOR="}, "wharf", "bogus"); !strings.HasPrefix(shown, styleRed+"error:"+styleOff) {
		t.Errorf("shown: %q", shown)
	}
}

// withoutSpinner takes away what a slow machine may show of the moving line.
func withoutSpinner(shown string) string {
	parts := strings.Split(shown, clearLine)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return part != "" && strings.ContainsRune(spinnerFrames, []rune(part)[0])
	}), "")
}
