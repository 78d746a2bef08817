package term

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		c := &Console{To: &screen}
		a := &Terminal{Err: c, ErrTTY: true}

		a.Busy("being fast")()
		if screen.Len() > 0 {
			t.Errorf("what is fast was shown: %q", screen.String())
		}

		progress, done := a.Progress("being\x1bslow")
		time.Sleep(BusyAfter + busyEvery/2) // of the bubble's clock
		synctest.Wait()
		progress.Report(mcp.Progress{Done: 2, Total: 5, Message: "\x1b"})
		time.Sleep(busyEvery)
		synctest.Wait()
		c.Write([]byte("[server] a line\n"))
		done()
		want := clearLine + "⠋ being\\x1bslow …" + clearLine + "⠙ ━━━━━━━━──────────── 40% 2/5 \\x1b" + clearLine + "[server] a line\n"
		if screen.String() != want {
			t.Errorf("screen %q, want %q", screen.String(), want)
		}
		time.Sleep(10 * busyEvery)
		if screen.String() != want {
			t.Errorf("it goes on: %q", screen.String())
		}
	})
}

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name     string
		progress mcp.Progress
		want     string
	}{
		{"an end that is known", mcp.Progress{Done: 1.5, Total: 3, Message: "half\nway"}, "⠋ ━━━━━━━━━━────────── 50% 1.5/3 half way"},
		{"no end", mcp.Progress{Done: 1e6, Message: "rows"}, "⠋ 1e+06 rows"},
		{"no words", mcp.Progress{Done: 7}, "⠋ 7 asking …"},
		{"beyond the end", mcp.Progress{Done: 9, Total: 3}, "⠋ ━━━━━━━━━━━━━━━━━━━━ 100% 9/3 asking …"},
		{"before the beginning", mcp.Progress{Done: -9, Total: 3}, "⠋ ──────────────────── 0% -9/3 asking …"},
		{"a negative end", mcp.Progress{Done: 9, Total: -3}, "⠋ 9 asking …"},
		{"almost", mcp.Progress{Done: 999, Total: 1000}, "⠋ ━━━━━━━━━━━━━━━━━━━─ 99% 999/1000 asking …"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &Progress{what: "asking", began: time.Now(), strokes: &unicodeStrokes}
				p.Report(tt.progress)
				if got := p.line(0); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := &Progress{what: "asking", began: time.Now(), strokes: &unicodeStrokes}
		time.Sleep(95500 * time.Millisecond) // of the bubble's clock
		if got, want := p.line(3), "⠸ 1m35s asking …"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		a := &Terminal{Err: &Console{To: &screen, ASCII: true}}
		progress, done := a.Progress("asking")
		time.Sleep(BusyAfter + busyEvery/2) // of the bubble's clock
		progress.Report(mcp.Progress{Done: 2, Total: 5})
		time.Sleep(busyEvery)
		done()
		if want := clearLine + "| asking ..." + clearLine + "/ ########------------ 40% 2/5 asking ..." + clearLine; screen.String() != want {
			t.Errorf("screen %q, want %q", screen.String(), want)
		}
	})
}

// A terminal of another locale than one of UTF-8 gets no other letters.
func TestLocale(t *testing.T) {
	for locale, want := range map[string]bool{
		"": true, "C": false, "POSIX": false, "C.UTF-8": true, "en_US.utf8": true, "de_DE.UTF-8@euro": true, "de_DE.ISO-8859-15@euro": false, "de_DE": true,
	} {
		t.Setenv("LC_ALL", locale)
		t.Setenv("LC_CTYPE", "")
		t.Setenv("LANG", "")
		if got := drawsUnicode(); got != want {
			t.Errorf("%q: %t, want %t", locale, got, want)
		}
	}
	t.Setenv("LC_ALL", "")
	t.Setenv("LANG", "C.UTF-8")
	if t.Setenv("LC_CTYPE", "C"); drawsUnicode() {
		t.Error("LANG counts before LC_CTYPE")
	}
}

// A line that is wider than the terminal would leave pieces of itself behind.
func TestMovingLineFits(t *testing.T) {
	var screen strings.Builder
	c := &Console{To: &screen, Size: func() (int, int) { return 10, 5 }}
	for text, want := range map[string]string{
		"ascii in a line": "ascii in ", "日本語の長い行": "日本語の", "⠋ ━━━━━━━━━━━": "⠋ ━━━━━━━", "🚢🚢🚢🚢🚢🚢": "🚢🚢🚢🚢", "short": "short",
	} {
		c.Clear()
		screen.Reset()
		if c.Show(text); screen.String() != clearLine+want {
			t.Errorf("%q: shown %q, want %q", text, screen.String(), want)
		}
	}
}

// As many lines as fit are taken away as they were put there.
func TestMovingLines(t *testing.T) {
	var screen strings.Builder
	c := &Console{To: &screen, Size: func() (int, int) { return 80, 5 }}
	c.Show("a\nb\nc")
	c.Show("1\n2\n3\n4\n5\n6")
	c.Write([]byte("[files] a line\n"))
	c.Clear()
	want := clearLine + "a\nb\nc" + clearLine + clearUp + clearUp + "1\n2\n3\n… and 3 more lines" + clearLine + clearUp + clearUp + clearUp + "[files] a line\n"
	if screen.String() != want {
		t.Errorf("got %q, want %q", screen.String(), want)
	}
}

// What is printed while a person is asked something stands above the question, on
// whichever stream it goes to the terminal.
func TestPrintMakesRoom(t *testing.T) {
	var screen, question, stdout strings.Builder
	c := &Console{To: &screen}
	a := &Terminal{Err: c, Out: &stdout, ErrTTY: true, OutTTY: true}
	c.Show("moving")
	c.typing(&question, "")
	if err := a.Print("a result\n"); err != nil || question.String() != "a result\n" || stdout.Len() > 0 {
		t.Errorf("%v: beside the question: %q, on it: %q", err, stdout.String(), question.String())
	}
	if want := clearLine + "moving" + clearLine; screen.String() != want {
		t.Errorf("screen %q, want %q", screen.String(), want)
	}
	c.typing(nil, "")
	if err := a.Print("another\n"); err != nil || stdout.String() != "another\n" {
		t.Errorf("%v: stdout %q", err, stdout.String())
	}
	c.typing(&question, "")
	a.OutTTY = false
	if err := a.Print("data\n"); err != nil || stdout.String() != "another\ndata\n" {
		t.Errorf("%v: no terminal got %q", err, stdout.String())
	}
}

// Text that comes while the line editor handles a key is written when it waits for the next one, with
// the question below it, or when the line has ended.
func TestTextWaitsForTheLineEditor(t *testing.T) {
	var screen, line strings.Builder
	c := &Console{To: &screen}
	c.typing(&line, "who asks\n")
	c.pause()
	c.Write([]byte("one\n"))
	c.Write([]byte("two\n"))
	if line.Len()+screen.Len() > 0 {
		t.Errorf("while a key is handled: %q, %q", line.String(), screen.String())
	}
	c.typing(&line, "who asks\n")
	c.pause()
	c.Write([]byte("three\n"))
	c.typing(nil, "")
	if want := "one\ntwo\nwho asks\nthree\n"; line.String() != want || screen.Len() > 0 {
		t.Errorf("%q, and %q; want %q", line.String(), screen.String(), want)
	}
}

// A terminal that can take nothing back gets nothing that moves.
func TestDumbTerminal(t *testing.T) {
	var screen strings.Builder
	c := &Console{To: &screen, Dumb: true}
	c.Show("moving")
	c.Write([]byte("a line\n"))
	c.Clear()
	if screen.String() != "a line\n" {
		t.Errorf("screen %q", screen.String())
	}
	for name, want := range map[string]bool{"dumb": true, "": runtime.GOOS != "windows", "xterm": false} {
		t.Setenv("TERM", name)
		if dumb() != want {
			t.Errorf("TERM=%q: dumb is %v", name, !want)
		}
	}
}

func TestBusyIsSilentForPrograms(t *testing.T) {
	var stderr strings.Builder
	a := &Terminal{Err: &stderr}
	a.Busy("anything")()
	if stderr.Len() > 0 {
		t.Errorf("stderr %q", stderr.String())
	}
}

// A question is not shown again where nothing was written above it.
func TestNothingIsWritten(t *testing.T) {
	var screen, line strings.Builder
	c := &Console{To: &screen}
	c.typing(&line, "who asks\n")
	c.Write(nil)
	(&HeldLog{to: c}).Release()
	c.Write([]byte("a line\n"))
	if want := "a line\nwho asks\n"; line.String() != want || screen.Len() > 0 {
		t.Errorf("%q, and %q above; want %q", line.String(), screen.String(), want)
	}
}

// Moving lines are taken away as a whole, also where the terminal has broken them since.
func TestMadeNarrower(t *testing.T) {
	var screen strings.Builder
	columns := 20
	c := &Console{To: &screen, Size: func() (int, int) { return columns, 24 }}
	c.Show("one of ten\nand six")
	columns = 5
	screen.Reset()
	c.Show("one of ten")
	if want := clearLine + strings.Repeat(clearUp, 3); !strings.HasPrefix(screen.String(), want) || strings.Count(screen.String(), clearUp) != 3 {
		t.Errorf("%q, want %q before the line", screen.String(), want)
	}
}
