package main

import (
	"io"
	"os"
	"runtime"

	"golang.org/x/term"
)

// stdio is where a command reads and writes, and what it may do there.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	inTTY    bool  // people type
	mode     *mode // of stdin; nil = it is no terminal
	outTTY   bool  // people read stdout
	errTTY   bool  // people read stderr as it is written
	width    int   // columns of stdout; 0 = unknown
	colour   bool  // NO_COLOR is not set
}

func standardIO() stdio {
	std := stdio{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		outTTY: term.IsTerminal(int(os.Stdout.Fd())),
		errTTY: term.IsTerminal(int(os.Stderr.Fd())),
		colour: os.Getenv("NO_COLOR") == "" && !dumb(),
	}
	if std.errTTY {
		std.err = &console{to: os.Stderr, size: func() (int, int) { return sizeOf(os.Stderr) }, dumb: dumb()}
	}
	if std.inTTY {
		std.mode = &mode{terminal: os.Stdin}
	}
	if std.outTTY {
		std.width, _ = sizeOf(os.Stdout)
	}
	return std
}

// attended reports whether the program hangs on a terminal, which may be closed.
func (s stdio) attended() bool { return s.inTTY || s.outTTY || s.errTTY }

// dumb reports whether terminals take text and nothing else. Those of Windows have no
// name, and are none of these.
func dumb() bool {
	name := os.Getenv("TERM")
	return name == "dumb" || name == "" && runtime.GOOS != "windows"
}

// sizeOf returns how many columns and rows a terminal has; 0 = unknown.
func sizeOf(terminal *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(terminal.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// Styles of a terminal, each with its own way back to plain text.
const (
	styleBold = "\x1b[1m"
	styleDim  = "\x1b[2m"
	styleRed  = "\x1b[1;31m"
	styleOff  = "\x1b[0m"
)

// styled dresses text for a terminal, and leaves it alone for anything else.
func (s stdio) styled(tty bool, style, text string) string {
	if !tty || !s.colour {
		return text
	}
	return style + text + styleOff
}
