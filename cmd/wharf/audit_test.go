package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/policy"
)

// A log is followed where it goes on in another file, and no line is shown twice or left out.
func TestAuditFollow(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "wharf.toml")
	if err := os.WriteFile(file, []byte("[audit]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func(name string) {
		t.Helper()
		if err := log.Write(&audit.Record{At: time.Now(), Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	out, in := io.Pipe()
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: in, Err: io.Discard}}
	a.flags.config, a.flags.json = file, true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	write("a")
	go func() {
		done <- (&auditShow{app: a, follow: true}).run(ctx)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	want := func(name string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), `"name":"`+name+`"`) {
			t.Fatalf("got %q, want the line %s", lines.Text(), name)
		}
	}
	want("a")
	write("b")
	want("b")
	write("c")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("d")
	want("c")
	want("d")
	cancel()
	if err := <-done; err == nil {
		t.Error("it ended by itself")
	}
}

// Where the log says that no person answered, the text does not say that a person was asked: Wharf may have had no
// way to ask one.
func TestAuditOfAPerson(t *testing.T) {
	for person, want := range map[string]string{
		"":     "",
		"none": "          a person was to be asked, and none has answered\n",
		"no":   "          a person was asked, and said no\n",
	} {
		if got := new(auditShow).row(&audit.Line{Record: audit.Record{Allowed: true, Person: person}}).text; got != want {
			t.Errorf("%q: %q, want %q", person, got, want)
		}
	}
}

// A log is shown in the order in which the calls began, over both of its files, in columns as wide as is needed.
func TestAuditOrderAndColumns(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "wharf.toml")
	if err := os.WriteFile(file, []byte("[audit]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	record := func(second int, client, server, name string) audit.Record {
		return audit.Record{
			At: time.Date(2026, 1, 2, 3, 4, second, 0, time.Local), Caller: policy.Caller{Name: client}, Server: server,
			Method: "tools/call", Name: name, OK: true, Allowed: true, Took: time.Millisecond,
		}
	}
	long := strings.Repeat("n", 40)
	for _, tt := range []struct {
		client, server, name string
		want                 string
	}{
		{"claude-code", "d", "t", `TIME      CLIENT       SERVER  RESULT       MS  CALL
2026-01-02
03:04:05  claude-code  d       ok          1.0  tools/call t
03:04:06  pet          d       ok          1.0  tools/call second
03:04:07  pet          d       ok          1.0  tools/call third
`},
		{long, "数", long, `TIME      CLIENT                SERVER  RESULT       MS  CALL
2026-01-02
03:04:05  ` + long + `  数      ok          1.0
          tools/call ` + long + `
03:04:06  pet                   d       ok          1.0  tools/call second
03:04:07  pet                   d       ok          1.0  tools/call third
`},
	} {
		os.Remove(path + ".1")
		for n, records := range [][]audit.Record{{record(6, "pet", "d", "second")}, {record(7, "pet", "d", "third"), record(5, tt.client, tt.server, tt.name)}} {
			os.Remove(path)
			log, err := audit.Open(path, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if err := log.Write(&r); err != nil {
					t.Fatal(err)
				}
			}
			log.Close()
			if n == 0 {
				err = os.Rename(path, path+".1")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, json := range []bool{false, true} {
			var out strings.Builder
			a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: &out, Err: &term.Console{To: io.Discard}}}
			a.flags.config, a.flags.json, a.flags.output = file, json, formatText
			if json {
				a.flags.output = formatJSON
			}
			if err := (&auditShow{app: a}).run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if !json && got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
			if at := strings.Index; json && !(at(got, ":05") < at(got, ":06") && at(got, ":06") < at(got, ":07")) {
				t.Error(got)
			}
		}
	}
}

func TestWholeLines(t *testing.T) {
	for text, want := range map[string]int64{"x": 1, "a\nb": 2, "a\nb\n": 4, "ab": 1, strings.Repeat("x", 5000) + "\n" + strings.Repeat("y", 9000): 5001} {
		if got, err := wholeLines(strings.NewReader(text), 1, int64(len(text))); err != nil || got != want {
			t.Errorf("%.20q: %d, %v", text, got, err)
		}
	}
}

// Of a long log, the lines are not kept in memory until they are printed.
func TestAuditOfALongLog(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wharf.toml")
	if err := os.WriteFile(file, []byte("[audit]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(dir, "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const lines, width = 4000, 4 << 10
	for n := range lines {
		r := audit.Record{At: time.Unix(int64(lines-n), 0), Name: strings.Repeat("n", width), Allowed: true, OK: true}
		if err := log.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	log.Close()
	for _, as := range []format{formatText, formatJSON} {
		out := &heapWatch{before: heapInUse()}
		a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: out, Err: io.Discard}}
		a.flags.config, a.flags.json, a.flags.output = file, as == formatJSON, as
		if err := (&auditShow{app: a}).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out.held > 1<<20 {
			t.Errorf("%s: %d bytes are held when the first line is printed", as, out.held)
		}
		if out.lines < lines {
			t.Errorf("%s: %d lines", as, out.lines)
		}
	}
}

// heapWatch notes how much more of the heap is in use at the first write, and counts lines.
type heapWatch struct {
	before, held int64
	lines        int
}

func (w *heapWatch) Write(p []byte) (int, error) {
	if w.lines += bytes.Count(p, []byte("\n")); w.held == 0 {
		w.held = max(heapInUse()-w.before, 1)
	}
	return len(p), nil
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
