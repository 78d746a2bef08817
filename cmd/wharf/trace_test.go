package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/trace"
)

// showTrace runs `wharf trace show` on the story, on a terminal if it has a width.
func showTrace(t *testing.T, width int, args ...string) (out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	std := &term.Terminal{In: strings.NewReader(""), Out: &stdout, Err: &stderr, OutTTY: width > 0, Width: width, Colour: true}
	root := newRoot(&app{Terminal: std})
	root.SetArgs(append([]string{"trace", "show", filepath.Join("testdata", "trace", "story.ndjson")}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return stdout.String(), filepath.ToSlash(stderr.String())
}

// What people see, character by character; -update writes it anew.
func TestTraceShow(t *testing.T) {
	for name, c := range map[string]struct {
		width int
		args  []string
	}{
		"piped":    {0, nil},
		"terminal": {110, nil},
		"eighty":   {80, nil},
		"forty":    {40, nil},
		"narrow":   {20, nil},
		"full":     {0, []string{"--full"}},
		"method":   {0, []string{"--method", "tools/*"}},
		"server":   {0, []string{"--server", "a-server-with-a-long-name"}},
		"json":     {0, []string{"--json", "--server", "files", "--method", "roots/list"}},
		"jsontty":  {80, []string{"--json", "--method", "roots/list"}},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr := showTrace(t, c.width, c.args...)
			got := stdout + "--- stderr\n" + stderr
			golden := filepath.Join("testdata", "trace", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != strings.ReplaceAll(string(want), "\r\n", "\n") {
				t.Errorf("%v; got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// Of a trace in two files, each says where the other is.
func TestTraceShowOfTwoFiles(t *testing.T) {
	d := &diagram{terminal: new(term.Terminal)}
	var rows string
	for line, err := range trace.Read(strings.NewReader(`
{"kind":"start","format":"wharf-trace/1","time":"2026-01-01T00:00:00Z","at_us":9,"why":"what was before is in t.1"}
{"kind":"end","time":"2026-01-01T00:00:00Z","at_us":10,"why":"the file is full; t goes on"}
`[1:])) {
		if err != nil {
			t.Fatal(err)
		}
		rows += d.draw(&line)
	}
	if !strings.HasPrefix(rows, "goes on 2026-01-01T00:00:00Z; what was before is in t.1\n") || !strings.HasSuffix(rows, "  the file is full; t goes on\n") {
		t.Error(rows)
	}
}

// What comes after the end of a connection does not begin it anew.
func TestTraceShowAfterTheEnd(t *testing.T) {
	d := &diagram{terminal: new(term.Terminal)}
	var rows string
	for line, err := range trace.Read(strings.NewReader(strings.ReplaceAll(`
{"kind":"notification","time":"2026-01-01T00:00:00Z","at_us":1,OF,"direction":"received","method":"x","message":{}}
{"kind":"closed","time":"2026-01-01T00:00:00Z","at_us":2,OF}
{"kind":"dropped","time":"2026-01-01T00:00:00Z","at_us":3,OF,"direction":"received","why":"late"}
`[1:], "OF", `"server":"files","connection":1,"era":"legacy","protocol":"2025-11-25"`))) {
		if err != nil {
			t.Fatal(err)
		}
		rows += d.draw(&line)
	}
	if strings.Count(rows, "speaks") != 1 {
		t.Error(rows)
	}
}

// Whatever a server has said, the terminal is not steered by it.
func TestTraceShowIsHarmless(t *testing.T) {
	own := regexp.MustCompile("\x1b\\[(0|1|1;31)?m")
	for _, args := range [][]string{nil, {"--full"}, {"--json"}} {
		out, stderr := showTrace(t, 100, args...)
		if strings.IndexFunc(own.ReplaceAllString(out+stderr, ""), cleantext.IsUnsafe) >= 0 {
			t.Errorf("%v: the terminal is steered: %q", args, out)
		}
	}
}

// No row is longer than the terminal is wide.
func TestTraceShowKeepsTheWidth(t *testing.T) {
	own := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, width := range []int{20, 40, 60, 80, 100, 120, 300} {
		out, _ := showTrace(t, width)
		for row := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(own.ReplaceAllString(row, ""), "\n")); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, row)
			}
		}
	}
}

func TestTraceShowOfWhatIsNone(t *testing.T) {
	for text, want := range map[string]string{"": "is not a trace", "hello\n": "is not a trace", strings.Repeat("x\n", 30): "20 more lines were skipped"} {
		path := filepath.Join(t.TempDir(), "t")
		if strings.HasPrefix(want, "20") { // one good line makes it a trace
			text += `{"kind":"start","format":"wharf-trace/1","time":"2026-07-28T10:00:00Z"}` + "\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		a := &app{Terminal: &term.Terminal{Out: new(bytes.Buffer), Err: &stderr}}
		err := (&traceShow{app: a}).run(t.Context(), path)
		if err != nil {
			a.report(t.Context(), err)
		}
		if !strings.Contains(stderr.String(), want) || err != nil && strings.Contains(stderr.String(), "warning") {
			t.Errorf("%.20q: %v, %s", text, err, &stderr)
		}
	}
}

// An interrupt ends the reading of a trace, however long it is.
func TestTraceShowStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(exit.ErrInterrupted)
	a := &app{Terminal: &term.Terminal{Out: new(bytes.Buffer), Err: new(bytes.Buffer)}}
	if err := (&traceShow{app: a}).run(ctx, filepath.Join("testdata", "trace", "story.ndjson")); !errors.Is(err, exit.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"tools/*", "tools/call", true}, {"tools/*", "xtools/call", false}, {"*list*", "notifications/tools/list_changed", true},
		{"ping", "ping", true}, {"ping", "pings", false}, {"*", "", true}, {"a.c", "abc", false}, {"(", "(", true}, {"*", "a\nb", true},
	} {
		if glob(c.pattern).MatchString(c.text) != c.want {
			t.Errorf("%q fits %q: want %v", c.pattern, c.text, c.want)
		}
	}
}
