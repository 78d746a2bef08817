package main

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const (
	busyAfter = 300 * time.Millisecond // what is faster needs no sign of life
	busyEvery = 100 * time.Millisecond
	busyLong  = 2 * time.Second // from then on it tells how long it has been

	spinnerFrames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	barFull       = "━"
	barEmpty      = "─"
	barWidth      = 20
)

// gauge is the moving line of something that takes its time: what it is, how far
// it is where that is known, and how long it has been. Safe for concurrent use.
type gauge struct {
	what  string
	began time.Time

	mu    sync.Mutex
	told  bool // there has been a word of progress
	state mcp.Progress
}

// hear takes a word of progress. It is shown with the next turn of the line:
// however many there are, the terminal is written to ten times a second.
func (g *gauge) hear(p mcp.Progress) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told, g.state = true, p
}

// line is what the gauge shows at a turn. The words of strangers come last, where
// a narrow terminal cuts; and what the server says of the step that it is at
// stands in place of what was asked of it.
func (g *gauge) line(turn int) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	frames := []rune(spinnerFrames)
	words := []string{string(frames[turn%len(frames)])}
	if g.told {
		words = append(words, measure(g.state))
	}
	if past := time.Since(g.began); past >= busyLong {
		words = append(words, past.Truncate(time.Second).String())
	}
	about := plain.Line(g.state.Message)
	if about == "" {
		about = plain.Line(g.what) + " …"
	}
	return strings.Join(append(words, about), " ")
}

// measure says how far something is: with a bar where the end is known, and else
// as the number that there is.
func measure(p mcp.Progress) string {
	if !(p.Total > 0) {
		return fmt.Sprintf("%g", p.Done)
	}
	share := min(max(p.Done/p.Total, 0), 1)
	full := int(share * barWidth)
	return fmt.Sprintf("%s%s %d%% %g/%g", strings.Repeat(barFull, full), strings.Repeat(barEmpty, barWidth-full),
		int(math.Floor(share*100)), p.Done, p.Total)
}

// spin shows the gauge as the moving line until stop is closed, and takes it away.
func (c *console) spin(g *gauge, stop <-chan struct{}) {
	defer c.take()
	next := time.NewTimer(busyAfter)
	defer next.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-next.C:
			c.show(g.line(turn))
			next.Reset(busyEvery)
		case <-stop:
			return
		}
	}
}

// busy shows on a terminal that something takes its time. The caller calls the
// function it returns before it prints: the line is gone then.
func (a *app) busy(what string) (done func()) {
	_, done = a.measured(what)
	return done
}

// measured is busy for what may tell how far it is.
func (a *app) measured(what string) (g *gauge, done func()) {
	g = &gauge{what: what, began: time.Now()}
	c, ok := a.err.(*console)
	if !ok {
		return g, func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.spin(g, stop)
	}()
	return g, func() {
		close(stop)
		<-stopped
	}
}
