// Package term connects a command with the person and the programs around it: its three standard
// streams, which of them are a terminal, and how to write to a terminal and ask at one.
//
// Text of others is made harmless at the last moment, by the function that prints
// it: see package plain, and [Terminal.Quote] for what stands in a question.
package term

import (
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// Terminal is where a command reads and writes. Its fields are set before it is used.
// Its methods are safe for concurrent use, except that only the holder of a dialog
// may ask, see [Terminal.Dialog].
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY  bool  // a person types
	Mode   *Mode // of stdin; nil = it is not a terminal
	OutTTY bool  // a person reads stdout
	ErrTTY bool  // a person reads stderr as it is written
	Width  int   // columns of stdout; 0 = unknown
	Colour bool  // NO_COLOR is not set

	OneLine bool // JSON is one line, on a terminal too
	Quiet   bool // errors, questions and results only

	Life      context.Context // ends with an interrupt; nil = never
	Interrupt func()          // what Ctrl-C does while a line is edited; may be nil only if nothing is asked

	dialogs dialogs
}

// Standard returns the terminal of this process.
func Standard() *Terminal {
	t := &Terminal{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Colour: os.Getenv("NO_COLOR") == "" && !dumb(),
	}
	if t.ErrTTY {
		t.Err = &Console{To: os.Stderr, Size: func() (int, int) { return sizeOf(os.Stderr) }, Dumb: dumb(), ASCII: !drawsUnicode()}
	}
	if t.InTTY {
		t.Mode = &Mode{Terminal: os.Stdin}
	}
	if t.OutTTY {
		t.Width, _ = sizeOf(os.Stdout)
	}
	return t
}

// Attended reports whether the program depends on a terminal, which may be closed.
func (t *Terminal) Attended() bool { return t.InTTY || t.OutTTY || t.ErrTTY }

// CanAsk reports whether a person can answer while a command waits: one at a
// terminal. Scripts and cron jobs are never held up by a question.
func (t *Terminal) CanAsk() bool { return t.ErrTTY && t.InTTY }

// Interrupted reports whether the program was interrupted.
func (t *Terminal) Interrupted() bool { return t.Life != nil && t.Life.Err() != nil }

// dumb reports whether terminals take text and nothing else. Those of Windows have no
// name, and are not dumb.
func dumb() bool {
	name := os.Getenv("TERM")
	return name == "dumb" || name == "" && runtime.GOOS != "windows"
}

// drawsUnicode reports whether the locale is one whose text is UTF-8, which it is unless the locale says otherwise:
// many environments have none, and a terminal that takes UTF-8.
func drawsUnicode() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	if locale == "C" || locale == "POSIX" {
		return false
	}
	_, charset, named := strings.Cut(locale, ".")
	charset, _, _ = strings.Cut(charset, "@")
	return !named || strings.EqualFold(strings.ReplaceAll(charset, "-", ""), "utf8")
}

// sizeOf returns how many columns and rows a terminal has; 0 = unknown.
func sizeOf(terminal *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(terminal.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// Styles of a terminal.
const (
	Bold = "\x1b[1m"
	Dim  = "\x1b[2m"
	Red  = "\x1b[1;31m"

	styleOff = "\x1b[0m"
)

// StyleOut styles text for stdout, where that is a terminal with colours.
func (t *Terminal) StyleOut(style, text string) string { return t.styled(t.OutTTY, style, text) }

// StyleErr styles text for stderr, where that is a terminal with colours.
func (t *Terminal) StyleErr(style, text string) string { return t.styled(t.ErrTTY, style, text) }

func (t *Terminal) styled(tty bool, style, text string) string {
	if !tty || !t.Colour {
		return text
	}
	return style + text + styleOff
}
