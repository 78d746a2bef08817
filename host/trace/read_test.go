package trace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

func sample() Record {
	return Record{
		Kind: Response, Time: time.Date(2026, 7, 28, 1, 2, 3, 4000, time.UTC), At: 5 * time.Microsecond,
		Server: "files", Connection: 2, Era: "legacy", Protocol: "2025-11-25", Direction: Received,
		Method: "tools/call", ID: []byte(`"x"`), Took: 6 * time.Microsecond, Timed: true, Failed: true,
		Size: 7, Message: []byte(`{"a":[1]}`),
	}
}

// lineOf returns the line of a record.
func lineOf(r *Record) []byte {
	var l jsonl.Line
	l.Begin(nil)
	r.members(&l)
	return l.End()
}

func TestRecordsAreReadAsWritten(t *testing.T) {
	at := time.Date(2026, 7, 28, 1, 2, 3, 4000, time.UTC)
	for _, want := range []Record{
		sample(),
		{Kind: Start, Format: Format, Time: at},
		{Kind: End, Time: at, At: time.Hour, Missing: 3},
		{Kind: Gap, Time: at, Missing: 1},
		{Kind: Opened, Time: at, Server: "s\n\"", Connection: 1, Transport: "http"},
		{Kind: Lost, Time: at, Server: "s", Connection: 1, Why: "exit\x1b"},
		{Kind: Malformed, Time: at, Server: "s", Connection: 1, Direction: Received, Size: 3, Text: "\u202e<>"},
	} {
		line := lineOf(&want)
		if got, err := parse(bytes.TrimSuffix(line, []byte("\n"))); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s got %+v, %v\nwant %+v", line, got, err, want)
		}
	}
}

func TestForeignLines(t *testing.T) {
	for line, want := range map[string]string{
		`hello`:                                 "not a line",
		`{}`:                                    "its kind",
		`[]`:                                    "not a line",
		`{"kind":"request"}`:                    "no time",
		`{"kind":"request","time":"yesterday"}`: "no time",
		`{"kind":5,"time":"2026-07-28T00:00:00Z"}`:                                "a string",
		`{"kind":"gap","time":"2026-07-28T00:00:00Z","missing":"x"}`:              "an integer",
		`{"kind":"request","time":"2026-07-28T00:00:00Z","direction":"up"}`:       "no direction",
		`{"kind":"start","time":"2026-07-28T00:00:00Z","format":"wharf-trace/2"}`: "expected wharf-trace/1",
		`{"kind":"gap","time":"2026-07-28T00:00:00Z"`:                             "not a line",
	} {
		if _, err := parse([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	if _, err := parse([]byte(`{"kind":"gap","time":"2026-07-28T00:00:00Z","news":[1]}`)); err != nil {
		t.Errorf("a line that says more than is known: %v", err)
	}
}

// What is damaged is reported with the number of its line, and stepped over.
func TestReadStepsOver(t *testing.T) {
	r := sample()
	good := string(lineOf(&r))
	long := strings.Repeat("x", maxLine+1)
	in := good + "\n\nfoo\n" + long + "\n" + strings.TrimSuffix(good, "\n") + "\r\n" + good[:20] + "\n" + strings.TrimSuffix(good, "\n")
	var bad []int
	lines := 0
	for _, err := range Read(strings.NewReader(in)) {
		if damage := (*LineError)(nil); errors.As(err, &damage) {
			bad = append(bad, damage.Line)
		} else if err != nil {
			t.Fatal(err)
		} else {
			lines++
		}
	}
	if lines != 3 || !reflect.DeepEqual(bad, []int{4, 5, 7}) {
		t.Errorf("%d lines are good, and %v are not", lines, bad)
	}
	broken := errors.New("broken disk")
	var last error
	for _, last = range Read(io.MultiReader(strings.NewReader(good), iotest.ErrReader(broken))) {
	}
	if !errors.Is(last, broken) {
		t.Errorf("got %v", last)
	}
	for range Read(strings.NewReader(in)) {
		break // the reader is left early
	}
}

// A line without an end costs no more than the longest that is read.
func TestReadIsBounded(t *testing.T) {
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, err := range Read(io.LimitReader(letters{}, size)) {
		if err == nil {
			t.Error("a line of 64 MiB is good")
		}
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 8*maxLine {
		t.Errorf("%d bytes were allocated", spent)
	}
}

type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// FuzzParse holds that no line is too much for the reader, and that what it
// reads is written again so that it reads the same.
func FuzzParse(f *testing.F) {
	r := sample()
	f.Add(lineOf(&r))
	f.Add([]byte(`{"kind":"start","format":"wharf-trace/1","time":"2026-07-28T00:00:00Z","at_us":-1}`))
	f.Add([]byte(`{"kind":"malformed","time":"2026-07-28T00:00:00+23:59","direction":"sent","text":"\u0000","id":[],"took_us":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		first, err := parse(line)
		if err != nil {
			return
		}
		again := lineOf(&first)
		second, err := parse(bytes.TrimSuffix(again, []byte("\n")))
		if err != nil {
			if first.Time.UTC().Year() > 9999 || first.Time.UTC().Year() < 1 || bytes.ContainsAny(line, "\n\r") {
				return // years that RFC 3339 cannot write
			}
			t.Fatalf("%q is written as %q: %v", line, again, err)
		}
		if third := lineOf(&second); !bytes.Equal(again, third) {
			t.Fatalf("%q is written as %q and then as %q", line, again, third)
		}
	})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.ndjson")
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	mustCreate(t, path).Close()
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if runtime.GOOS != "windows" {
		mustCreate(t, path).Close() // a trace may be replaced, even where it is still open
		mustCreate(t, write("empty", "")).Close()
		for _, p := range []string{path, filepath.Join(dir, "empty")} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", p, info.Mode(), err)
			}
		}
	}
	precious := write("precious", "{\"kind\":\"start\"}\n")
	for _, p := range []string{"", "-", dir, precious, filepath.Join(dir, "no", "folder")} {
		if r, err := Create(p); err == nil {
			r.Close()
			t.Errorf("%q is taken", p)
		}
	}
	if text, _ := os.ReadFile(precious); string(text) != "{\"kind\":\"start\"}\n" {
		t.Errorf("it is overwritten: %q", text)
	}
	if os.Symlink(path, filepath.Join(dir, "link")) == nil {
		if _, err := Create(filepath.Join(dir, "link")); err == nil {
			t.Error("a link is followed")
		}
	}
}

func mustCreate(t *testing.T, path string) *Recorder {
	t.Helper()
	r, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
