package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/wharf-mcp/wharf/host"
)

const clearLine = "\r\x1b[K"

// console is a terminal's stderr: lines of many writers, and below them one line
// that changes. That is a line that moves while something takes its time, or one
// at which a person types. Nobody else writes to the terminal, so neither is ever
// torn apart. Safe for concurrent use.
type console struct {
	to    io.Writer
	width func() int // columns, 0 = unknown; nil is unknown

	mu    sync.Mutex
	shown bool      // the moving line is on the screen
	held  int       // who keeps it away
	typed io.Writer // the line at which a person types; it makes room for text
}

// Write puts text above the line that changes. A moving one comes back with its
// next turn.
func (c *console) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.typed != nil {
		return c.typed.Write(text)
	}
	return c.to.Write(text)
}

// clear takes the moving line away. The caller holds mu.
func (c *console) clear() {
	if c.shown {
		io.WriteString(c.to, clearLine)
		c.shown = false
	}
}

// show makes text the moving line. It is cut to the width of the terminal: a line
// that goes over the edge could not be taken away.
func (c *console) show(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held > 0 {
		return
	}
	io.WriteString(c.to, clearLine+fit(text, c.columns()-1))
	c.shown = true
}

// columns is how many columns text may have.
func (c *console) columns() int {
	if c.width != nil {
		if n := c.width(); n > 0 {
			return n
		}
	}
	return 80
}

// take takes the moving line away.
func (c *console) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

// hold keeps the moving line away until release is called.
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

// typing says at which line a person types, so that text goes above it; nil says
// that nobody does.
func (c *console) typing(at io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.typed = at
}

// hear takes what servers and plugins say without being asked: warnings are
// printed, and so is what a server logs, for whoever follows it.
func (a *app) hear(e host.Event) {
	if e.Warning != "" {
		about := ""
		if e.Server != "" {
			about = plain(e.Server) + ": "
		}
		fmt.Fprintf(a.err, "%s %s%s\n", a.styled(a.errTTY, styleBold, "warning:"), about, plain(e.Warning))
	}
	a.hearLog(e)
}
