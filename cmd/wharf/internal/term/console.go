package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

const (
	clearLine = "\r\x1b[K"
	clearUp   = "\x1b[A\x1b[K" // from the beginning of a line, the one above it
)

// Console is a terminal's stderr: it shows lines of many writers, and below them lines that
// change. Those show the progress of a task, or the line at which a person types. All writes to
// the terminal go through it, so that no line is torn apart. It is safe for concurrent use.
type Console struct {
	To   io.Writer
	Size func() (columns, rows int) // 0 = unknown; nil: both are unknown
	Dumb bool                       // the terminal cannot take a line back: none moves

	ASCII bool // moving lines are drawn with nothing else

	mu    sync.Mutex
	shown []int     // the columns of each moving line that is on the screen
	held  int       // how many callers keep them away
	typed io.Writer // the line at which a person types; it makes room for text
	above string    // what stands right above that line
	later []byte    // text for which there is no room yet
	busy  bool      // the line editor handles a key, and must not be disturbed
}

// Write puts text above the lines that change. Lines that move come back at their next turn.
func (c *Console) Write(text []byte) (int, error) { return c.writeTo(c.To, text) }

// writeTo does what Write does, but to stdout, if that is the same terminal. While a person types,
// only the line editor can make room for text.
func (c *Console) writeTo(to io.Writer, text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	if len(text) == 0 {
		return 0, nil
	}
	if c.busy {
		c.later = append(c.later, text...)
		return len(text), nil
	}
	if c.typed != nil { // the question stays next to its answer, whatever is written
		if _, err := c.typed.Write(slices.Concat(text, []byte(c.above))); err != nil {
			return 0, err
		}
		return len(text), nil
	}
	return to.Write(text)
}

// erase takes the moving lines away. The caller holds mu.
func (c *Console) erase() {
	if len(c.shown) > 0 {
		io.WriteString(c.To, clearLine+strings.Repeat(clearUp, c.rows()-1))
		c.shown = nil
	}
}

// rows returns how many rows the moving lines take. A terminal that was made narrower has broken
// those that are now too wide.
func (c *Console) rows() int {
	columns, _ := c.room()
	rows := len(c.shown)
	for _, width := range c.shown {
		rows += max(width-1, 0) / columns
	}
	return max(rows, 1)
}

// Show makes text the moving lines. It cuts them to the size of the terminal, since text beyond
// the edge or the top could not be erased.
func (c *Console) Show(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held > 0 || c.Dumb {
		return
	}
	columns, rows := c.room()
	lines := strings.Split(text, "\n")
	if more := len(lines) - (rows - 1); more > 0 {
		lines = append(lines[:rows-2], fmt.Sprintf("… and %d more lines", more+1))
	}
	again := clearLine + strings.Repeat(clearUp, c.rows()-1)
	c.shown = nil
	for i := range lines {
		lines[i] = plain.Fit(lines[i], columns-1)
		c.shown = append(c.shown, plain.Width(lines[i]))
	}
	io.WriteString(c.To, again+strings.Join(lines, "\n"))
}

// room is how many columns and rows text may have.
func (c *Console) room() (columns, rows int) {
	if c.Size != nil {
		columns, rows = c.Size()
	}
	if columns <= 0 || rows < 3 {
		return 80, 24
	}
	return columns, rows
}

// Clear takes the moving lines away.
func (c *Console) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
}

// hold keeps the moving lines away until release is called.
func (c *Console) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.held++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held--
	}
}

// typing says that the editor of the line at which a person types waits for a key: other text goes
// above that line, and the text above stays directly over it. If at is nil, no person types any
// more. It writes the text that was kept since [Console.pause].
func (c *Console) typing(at io.Writer, above string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.later; len(kept) > 0 {
		to := at
		if at == nil {
			to = c.typed // whose line has ended
		} else {
			kept = append(kept, above...)
		}
		to.Write(kept) // an error cannot be reported: the terminal is where it would go
	}
	c.typed, c.above, c.later, c.busy = at, above, nil, false
}

// pause keeps text until the next [Console.typing]. A line editor that handles a key cannot make room
// for it: readline changes the line and the state of its screen without a lock.
func (c *Console) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
}
