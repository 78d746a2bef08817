package term

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// BusyAfter is how long something takes before a terminal shows that it is under way.
const BusyAfter = 300 * time.Millisecond

const (
	busyEvery = 100 * time.Millisecond
	busyLong  = 2 * time.Second // from then on the line says how long it has been

	barWidth = 20
)

// strokes are what a moving line is drawn with.
type strokes struct{ spinner, full, empty, more string }

var (
	unicodeStrokes = strokes{"⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "━", "─", "…"}
	asciiStrokes   = strokes{`|/-\`, "#", "-", "..."}
)

// Progress is the moving line of a task: its name, how far it is if that is known, and how
// long it has taken. Safe for concurrent use.
type Progress struct {
	what    string
	began   time.Time
	strokes *strokes

	mu     sync.Mutex
	known  bool // there has been a report
	report mcp.Progress
}

// Busy shows on a terminal that a task is under way. The caller calls the function
// it returns before it prints: the line is gone then.
func (t *Terminal) Busy(what string) (done func()) {
	_, done = t.Progress(what)
	return done
}

// Progress is [Terminal.Busy] for a task that may report how far it is.
func (t *Terminal) Progress(what string) (p *Progress, done func()) {
	p = &Progress{what: what, began: time.Now(), strokes: &unicodeStrokes}
	c, ok := t.Err.(*Console)
	if !ok || t.Quiet {
		return p, func() {}
	}
	if c.ASCII {
		p.strokes = &asciiStrokes
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.spin(c, stop)
	}()
	return p, func() {
		close(stop)
		<-stopped
	}
}

// Report takes a report of the task. The line shows it at its next turn: however many
// reports there are, the terminal is written to ten times a second.
func (p *Progress) Report(report mcp.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.report = true, report
}

// spin shows the progress as the moving line until stop is closed, and takes it away.
func (p *Progress) spin(c *Console, stop <-chan struct{}) {
	defer c.Clear()
	next := time.NewTimer(BusyAfter)
	defer next.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-next.C:
			c.Show(p.line(turn))
			next.Reset(busyEvery)
		case <-stop:
			return
		}
	}
}

// line returns the line for a turn of the spinner. If the server has said what it does, its
// words replace the name of the task. They come last, because a narrow terminal cuts the end.
func (p *Progress) line(turn int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	frames := []rune(p.strokes.spinner)
	words := []string{string(frames[turn%len(frames)])}
	if p.known {
		words = append(words, p.strokes.bar(p.report))
	}
	if past := time.Since(p.began); past >= busyLong {
		words = append(words, past.Truncate(time.Second).String())
	}
	about := cmp.Or(plain.Line(p.report.Message), plain.Line(p.what)+" "+p.strokes.more)
	return strings.Join(append(words, about), " ")
}

// bar shows how far a task is: a bar where the end is known, else the number.
func (s *strokes) bar(p mcp.Progress) string {
	if !(p.Total > 0) {
		return fmt.Sprintf("%g", p.Done)
	}
	share := min(max(p.Done/p.Total, 0), 1)
	full := int(share * barWidth)
	return fmt.Sprintf("%s%s %d%% %g/%g", strings.Repeat(s.full, full), strings.Repeat(s.empty, barWidth-full),
		int(math.Floor(share*100)), p.Done, p.Total)
}
