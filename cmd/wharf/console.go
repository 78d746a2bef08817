package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

const (
	clearLine = "\r\x1b[K"
	clearUp   = "\x1b[A\x1b[K" // from the beginning of a line, the one above it
)

// console is a terminal's stderr: lines of many writers, and below them some that
// change. Those move while something takes its time, or are one at which a person
// types. Nobody else writes to the terminal, so none is ever torn apart. Safe for
// concurrent use.
type console struct {
	to   io.Writer
	size func() (columns, rows int) // 0 = unknown; nil: both are
	dumb bool                       // the terminal cannot take a line back: none moves

	mu    sync.Mutex
	shown int       // how many moving lines are on the screen
	held  int       // who keeps them away
	typed io.Writer // the line at which a person types; it makes room for text
	above string    // what stands right above that line
}

// Write puts text above the lines that change. Moving ones come back with their
// next turn.
func (c *console) Write(text []byte) (int, error) { return c.writeTo(c.to, text) }

// writeTo is Write for another way to the same terminal, which is stdout. While a
// person types there is one alone that can make room.
func (c *console) writeTo(to io.Writer, text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.typed != nil { // whatever others have to say, the question stays next to its answer
		if _, err := c.typed.Write(slices.Concat(text, []byte(c.above))); err != nil {
			return 0, err
		}
		return len(text), nil
	}
	return to.Write(text)
}

// clear takes the moving lines away. The caller holds mu.
func (c *console) clear() {
	if c.shown > 0 {
		io.WriteString(c.to, clearLine+strings.Repeat(clearUp, c.shown-1))
		c.shown = 0
	}
}

// show makes text the moving lines. They are cut to the terminal: what goes over
// its edge, or out at its top, could not be taken away.
func (c *console) show(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held > 0 || c.dumb {
		return
	}
	columns, rows := c.room()
	lines := strings.Split(text, "\n")
	if more := len(lines) - (rows - 1); more > 0 {
		lines = append(lines[:rows-2], fmt.Sprintf("… and %d more", more+1))
	}
	for i := range lines {
		lines[i] = plain.Fit(lines[i], columns-1)
	}
	io.WriteString(c.to, clearLine+strings.Repeat(clearUp, max(c.shown-1, 0))+strings.Join(lines, "\n"))
	c.shown = len(lines)
}

// room is how many columns and rows text may have.
func (c *console) room() (columns, rows int) {
	if c.size != nil {
		columns, rows = c.size()
	}
	if columns <= 0 || rows < 3 {
		return 80, 24
	}
	return columns, rows
}

// take takes the moving lines away.
func (c *console) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

// hold keeps the moving lines away until release is called.
func (c *console) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	c.held++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held--
	}
}

// typing says at which line a person types, so that text goes above it, and what
// always stands right above that line; nil says that no person types.
func (c *console) typing(at io.Writer, above string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.typed, c.above = at, above
}

// hear takes what servers and plugins say without being asked: warnings are
// printed, and so is what a server logs, for whoever follows it.
func (a *app) hear(e host.Event) {
	if e.Warning != "" {
		about := ""
		if e.Server != "" {
			about = e.Server + ": "
		}
		a.warn("%s", about+plain.Line(e.Warning))
	}
	a.hearLog(e)
}

// warn tells the person of something after which the command goes on.
func (a *app) warn(format string, args ...any) {
	text := "warning: " + fmt.Sprintf(format, args...)
	if a.errTTY {
		text = a.folded(text)
	}
	fmt.Fprintf(a.err, "%s%s\n", a.styled(a.errTTY, styleBold, "warning:"), strings.TrimPrefix(plain.Text(text), "warning:"))
}
