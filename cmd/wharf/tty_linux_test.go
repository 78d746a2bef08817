package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What the program writes to take moving lines away, and what those begin with.
const (
	clearLine     = "\r\x1b[K"
	clearUp       = "\x1b[A\x1b[K"
	spinnerFrames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
)

// onTerminal runs a command whose stdout and stderr are a terminal of 80
// columns, and returns what it has shown.
func onTerminal(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	s := newScreen(t, env, name, args...)
	s.Stdin = nil
	s.start()
	shown, _ := s.end()
	return shown
}

// screen is a terminal with a command on it, and a person before it.
type screen struct {
	t *testing.T
	*exec.Cmd
	master, slave *os.File
	before, after *unix.Termios // the command; after is set when gone is closed
	gone          chan struct{}
	shown         chan string // what is written to it, as it comes
	seen          string      // and what await has not passed over
}

func newScreen(t *testing.T, env []string, name string, args ...string) *screen {
	t.Helper()
	s := blankScreen(t)
	s.Cmd = exec.CommandContext(t.Context(), name, args...)
	s.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "TERM=xterm", "LC_ALL=C.UTF-8"), env...)
	s.Stdin, s.Stdout, s.Stderr = s.slave, s.slave, s.slave
	return s
}

// blankScreen is a terminal that the test itself is before and behind.
func blankScreen(t *testing.T) *screen {
	t.Helper()
	master, slave := openTerminal(t)
	s := &screen{t: t, master: master, slave: slave, shown: make(chan string, 64)}
	s.before = s.modes()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(s.shown)
		for text := make([]byte, 4096); ; {
			n, err := master.Read(text) // ends with EIO when the terminal is let go
			if err != nil {
				return
			}
			s.shown <- string(text[:n])
		}
	}()
	if end, limited := t.Deadline(); limited { // before it await fails, and says what it has seen
		hung := time.AfterFunc(time.Until(end)-10*time.Second, func() { master.Close() })
		t.Cleanup(func() { hung.Stop() })
	}
	t.Cleanup(func() {
		master.Close() // and with it every read of the terminal
		for range s.shown {
		}
		<-read
	})
	return s
}

func (s *screen) start() {
	s.t.Helper()
	if err := s.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.gone = make(chan struct{})
	go func() {
		defer close(s.gone)
		s.Wait() // the exit code tells
		s.after, _ = unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
		s.slave.Close() // which ends what is to be seen
	}()
}

// modes are what the terminal makes of keys.
func (s *screen) modes() *unix.Termios {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return modes
}

// await reads until text is on the screen, and returns what was there before it.
func (s *screen) await(text string) (before string) {
	s.t.Helper()
	for !strings.Contains(s.seen, text) {
		more, open := <-s.shown
		if s.see(more); !open {
			s.t.Fatalf("the screen ended without %q: %q", text, s.seen)
		}
	}
	before, s.seen, _ = strings.Cut(s.seen, text)
	return before
}

func (s *screen) see(more string) { s.seen = unseen.Replace(s.seen + more) }

// unseen takes away what the line editor writes to keep what it draws in place.
var unseen = strings.NewReplacer("\r\n", "\n", " \b", "", "\x1b[0K", "")

// answer types text, when there is a question that begins with the prompt.
func (s *screen) answer(prompt, text string) {
	s.t.Helper()
	s.await(prompt)
	if _, err := io.WriteString(s.master, text); err != nil {
		s.t.Fatal(err)
	}
}

// restored wants the terminal as it was before.
func (s *screen) restored(after *unix.Termios) {
	s.t.Helper()
	if after == nil || *after != *s.before {
		s.t.Errorf("the terminal was left as %+v, and found as %+v", after, s.before)
	}
}

// end waits for the command, and wants the terminal as it was before. It returns
// what was still to be seen.
func (s *screen) end() (shown string, code int) {
	s.t.Helper()
	for more := range s.shown {
		s.see(more)
	}
	<-s.gone
	s.restored(s.after)
	return s.seen, s.ProcessState.ExitCode()
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	number := 0
	raw, err := master.SyscallConn() // not Fd, so that Close ends a Read
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
			err = errors.Join(err, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0),
				unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

func TestTerminalGetsTables(t *testing.T) {
	shown := onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "tools", "demo")
	if !strings.Contains(shown, "TOOL  ARGUMENTS") || !strings.Contains(shown, "\necho  message=string     Say a message back.\n") {
		t.Errorf("shown: %s", shown)
	}
	if says := "THE SERVER SAYS\n  This server is for trying things out: nothing it does lasts.\n\nTOOL  ARGUMENTS"; !strings.Contains(withoutSpinner(shown), says) {
		t.Errorf("shown: %s", shown)
	}
	if shown = onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "tools", "demo", "--search", "echo"); strings.Contains(shown, "SAYS") {
		t.Errorf("with --search: %s", shown)
	}
	if shown = onTerminal(t, nil, "wharf", "tools", "demo", "--json"); !strings.Contains(shown, `"name": "add"`) || !strings.HasSuffix(shown, "\n]\n") {
		t.Errorf("with --json: %s", shown)
	}
	for format, want := range map[string]string{"json": "\n  \"content\": [", "raw": `"content":[{`} {
		shown := onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "call", "demo", "echo", "message=hello", "-o", format)
		if !strings.Contains(withoutSpinner(shown), want) {
			t.Errorf("-o %s: %q", format, shown)
		}
	}
}

// TestTerminalGetsToolPages looks at all that is shown of a tool.
func TestTerminalGetsToolPages(t *testing.T) {
	shown := withoutSpinner(onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "demo", "add", "--help"))
	want := "add\n\n  Add two numbers.\n\nARGUMENTS\n  a number, required\n  b number, required\n\n" +
		"RESULT\n  sum number, required\n\nEXAMPLE\n  wharf call demo add a=1 b=1\n"
	if shown != want {
		t.Errorf("shown: %s", shown)
	}
}

// The members of objects stand below the argument that has them.
func TestToolPageHasMembers(t *testing.T) {
	tool := mcp.Tool{Name: "edit", InputSchema: []byte(`{"required":["edits"],"properties":{
		"edits":{"type":"array","description":"what to change","items":{"type":"object","required":["old"],"properties":{
			"old":{"type":"string","description":"this \u001b[2Jtext"},"how":{"enum":["once","all"],"default":"once"}}}},
		"loop":{"$ref":"#/$defs/loop"}, "far":{"properties":{"b":{"properties":{"c":{"properties":{"d":{"properties":{"e":{"properties":{"f":{}}}}}}}}}}},
		"grid":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}, "labels":{"type":"object","additionalProperties":{"type":"string"}}, "kind":{"const":"edit"}, "to":{"anyOf":[{"type":"object","properties":{"id":{"type":"integer"}}},{"type":"object","properties":{"name":{"type":"string"}}}]}},
		"$defs":{"loop":{"type":"object","properties":{"next":{"$ref":"#/$defs/loop"}}}}}`)}
	a := &app{Terminal: &term.Terminal{Width: 80}}
	want := `edit

ARGUMENTS
  edits array of object, required
      what to change
      old string, required
          this \x1b[2Jtext
      how string, default "once"
          one of "once", "all"
  loop object
      next object
          with the members of loop, as above
  far any value
      b any value
          c any value
              d any value
                  e any value
                      … (the JSON form has its members)
  grid array of array of integer
  labels object of string
  kind string, always "edit"
  to object
      either:
        id integer
      or:
        name string

EXAMPLE
  wharf call edit 'edits=[{"old":"…"}]' -- COMMAND…
`
	if got := a.toolPage(tool); got != want {
		t.Errorf("got: %s", got)
	}
	a.flags.output = formatMarkdown
	page := a.toolPage(tool)
	for _, part := range []string{"- loop object\n    - next object\n", "- to object\n    - either:\n      - id integer\n    - or:\n", "### EXAMPLE\n\n    wharf call edit "} {
		if !strings.Contains(page, part) {
			t.Errorf("as Markdown, expected %q: %s", part, page)
		}
	}
	if a.flags.output = ""; strings.ContainsAny(page, "\x1b`<") {
		t.Errorf("as Markdown: %q", page)
	}
	var wide strings.Builder
	for i := range 3 * mostMembers {
		fmt.Fprintf(&wide, `,"m%d":{"type":"string"}`, i)
	}
	tool.InputSchema = []byte(`{"properties":{"a":{"type":"object","properties":{` + wide.String()[1:] + `}}}}`)
	if got := a.toolPage(tool); strings.Count(got, "\n      m") != mostMembers || !strings.Contains(got, "\n      … (the JSON form has all of them)\n") {
		t.Errorf("of many: %s", got)
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
		{"tools", "--stderr", "--", "server-steers"},
		{"call", "steer", "--stderr", "--", "server-steers"},
		{"call", "steer", "--json", "--stderr", "--", "server-steers"},
		{"call", "no\x1b[2Jtool", "--stderr", "--", "server-steers"},
	} {
		shown := withoutSpinner(onTerminal(t, []string{"NO_COLOR=1"}, "wharf", args...))
		if strings.IndexFunc(shown, cleantext.IsUnsafe) >= 0 {
			t.Errorf("%q: shown: %q", args, shown)
		}
		if !strings.Contains(shown, `[server-steers] \x1b]0;owned\x07`) {
			t.Errorf("%q: the server's stderr is missing: %q", args, shown)
		}
	}
}

func TestColourOnATerminalOnly(t *testing.T) {
	if shown := onTerminal(t, []string{"NO_COLOR="}, "wharf", "bogus"); !strings.HasPrefix(shown, term.Red+"error:"+"\x1b[0m") {
		t.Errorf("shown: %q", shown)
	}
}

// The table of servers is drawn in place while it fills up, and printed once.
func TestTerminalGetsStatus(t *testing.T) {
	shown := onTerminal(t, []string{"NO_COLOR=1"}, "wharf", "servers", "--status")
	const headings = "SERVER  STATE      TRANSPORT  ERA     PROTOCOL    LATENCY"
	last := shown[strings.LastIndex(shown, clearLine)+len(clearLine):]
	if last = strings.ReplaceAll(last, clearUp, ""); !strings.HasPrefix(last, headings) || !strings.Contains(last, "\ndemo    connected  stdio      modern  2026-07-28  ") || strings.Count(last, "\n") != 2 {
		t.Errorf("left on the screen: %q of %q", last, shown)
	}
}

// withoutSpinner takes away what a slow machine may show of the moving line.
func withoutSpinner(shown string) string {
	parts := strings.Split(shown, clearLine)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return part != "" && strings.ContainsRune(spinnerFrames, []rune(part)[0])
	}), "")
}

// The ^C that a terminal shows is below the table, so that it makes no row of it longer than the terminal is wide.
func TestTerminalShowsAnInterrupt(t *testing.T) {
	s := newScreen(t, nil, "wharf", "servers", "--watch")
	s.start()
	s.answer("modern  2026-07-28", "\x03")
	if before := s.await("^C"); !strings.HasSuffix(before, "\n") {
		t.Errorf("before it: %q", before)
	}
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if shown, code := s.end(); code != exit.CodeInterrupted {
		t.Errorf("exit code %d, shown %q", code, shown)
	}
}

// What follows something is not left behind by its terminal: there, a SIGHUP is no
// wish to reload.
func TestClosedTerminalEndsWatching(t *testing.T) {
	hearHangups(t)
	s := newScreen(t, nil, "wharf", "servers", "--watch", "--json")
	s.start()
	s.await(`"state":"connected"`)
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if shown, code := s.end(); code != exit.CodeInterrupted || strings.Contains(shown, "error:") {
		t.Errorf("exit code %d, shown %q", code, shown)
	}
}

// On a terminal, a command that lists servers declares what one declares that asks the
// person, so that servers list the same tools to both; but it asks nothing.
func TestUnattendedDeclaresWhatOthersDo(t *testing.T) {
	a := &app{Terminal: &term.Terminal{InTTY: true, ErrTTY: true}}
	var c host.Config
	a.unattended(&c)
	result, err := c.Client.Elicit(t.Context(), "x", mcp.Elicitation{})
	if err != nil || result.Action != mcp.ElicitCancel {
		t.Errorf("a question got %+v, %v", result, err)
	}
	if result, err := c.Client.Sample(t.Context(), "x", nil); err == nil {
		t.Errorf("a sample is %s", result)
	}
}

// A terminal that is known to take pictures is given those of a result, but not any number of
// them, and a program none.
func TestTerminalGetsPictures(t *testing.T) {
	const frame = "\x1bP0;1;8q"
	call := []string{"call", "album", "--", "server-pictures"}
	for env, want := range map[string]int{"TERM=foot": mostPictures, "TERM=xterm": 0, "WHARF_PICTURES=sixel": mostPictures} {
		shown := onTerminal(t, []string{"NO_COLOR=1", "TMUX=", "WT_SESSION=", "KONSOLE_VERSION=", env}, "wharf", call...)
		if got := strings.Count(shown, frame); got != want || strings.Count(shown, "[image/png") != mostPictures+4 {
			t.Errorf("%s: %d pictures: %.300q", env, got, shown)
		}
	}
	cmd := exec.Command("wharf", append(call[:2:2], "-o", "text", "--", "server-pictures")...)
	cmd.Env = append(os.Environ(), "WHARF_PICTURES=sixel")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "\x1b") {
		t.Errorf("%v: %q", err, out)
	}
}
