package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const (
	busyAfter = 300 * time.Millisecond // what is faster needs no sign of life
	busyEvery = 100 * time.Millisecond
	clearLine = "\r\x1b[K"

	spinnerFrames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
)

// console is a terminal's stderr: lines of many writers, and below them a line
// that moves while something takes its time. Safe for concurrent use.
type console struct {
	to io.Writer

	mu    sync.Mutex
	shown bool   // the moving line is on the screen
	held  int    // who keeps it away
	news  string // how far things are, as the server tells; shown in the line
}

// Write puts text above the moving line, which comes back with its next turn.
func (c *console) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	return c.to.Write(text)
}

// clear takes the moving line away. The caller holds mu.
func (c *console) clear() {
	if c.shown {
		io.WriteString(c.to, clearLine)
		c.shown = false
	}
}

func (c *console) show(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held > 0 {
		return
	}
	io.WriteString(c.to, clearLine+text+c.news)
	c.shown = true
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

// tell changes the news in the moving line, from its next turn on.
func (c *console) tell(news string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news = news
}

// spin shows text as the moving line until stop is closed, and takes it away.
func (c *console) spin(text string, stop <-chan struct{}) {
	frames := []rune(spinnerFrames)
	next := time.NewTimer(busyAfter)
	defer next.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-next.C:
			c.show(string(frames[turn%len(frames)]) + " " + text)
			next.Reset(busyEvery)
		case <-stop:
			c.mu.Lock()
			defer c.mu.Unlock()
			c.clear()
			c.news = ""
			return
		}
	}
}

// busy shows on a terminal that something takes its time. The caller calls the
// function it returns before it prints: the line is gone then.
func (a *app) busy(what string) (done func()) {
	c, ok := a.err.(*console)
	if !ok {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.spin(clip(line(what), 60)+" …", stop)
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// hear takes what servers and plugins say without being asked: warnings are
// printed, and progress is news for the moving line.
func (a *app) hear(e host.Event) {
	if e.Warning != "" {
		about := ""
		if e.Server != "" {
			about = plain(e.Server) + ": "
		}
		fmt.Fprintf(a.err, "%s %s%s\n", a.styled(a.errTTY, styleBold, "warning:"), about, plain(e.Warning))
	}
	a.hearLog(e)
	if c, ok := a.err.(*console); ok && e.Method == mcp.NotificationProgress {
		c.tell(progressText(e.Params))
	}
}

// progressText is a progress notification for people, or "".
func progressText(params json.RawMessage) string {
	var p struct {
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
		Message  string  `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	text := fmt.Sprintf(" %g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf("/%g", p.Total)
	}
	return clip(strings.TrimRight(text+" "+line(p.Message), " "), 60)
}
