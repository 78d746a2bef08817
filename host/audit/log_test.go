package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/policy"
)

var sample = Record{
	At:     time.Date(2026, 7, 28, 9, 0, 0, 1000, time.UTC),
	Caller: policy.Caller{Kind: policy.Gateway, Name: "a\n\"b", Principal: "ci", Peer: "127.0.0.1:9", Era: "legacy"},
	Server: "files", Method: "tools/call", Name: "read", Took: 1203 * time.Microsecond, OK: true, IsError: true, Code: -5, Sent: "no", Allowed: true,
	Rule: "access.a", Trace: "00-1-2-01", ArgsBytes: 2, ArgsSHA256: "ab", Args: []byte("{}"),
}

const sampleLine = `{"at":"2026-07-28T09:00:00.000001Z","kind":"gateway","client":"a\n\"b","principal":"ci","peer":"127.0.0.1:9","era":"legacy",` +
	`"server":"files","method":"tools/call","name":"read","ms":1.203,"ok":true,"isError":true,"code":-5,"sent":"no","decision":"allow","rule":"access.a",` +
	`"trace":"00-1-2-01","argsBytes":2,"argsSha256":"ab","args":{}}` + "\n"

func opened(t *testing.T, path string, o Options, most int64) *Log {
	t.Helper()
	l, err := open(path, o, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// read returns the whole lines of a file, and how many are broken.
func read(t *testing.T, path string) (records []Record, broken int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range Read(bytes.NewReader(text)) {
		if errors.Is(err, ErrBroken) {
			broken++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, line.Record)
	}
	return records, broken
}

func TestLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "audit.jsonl")
	l := opened(t, path, Options{}, fileCap)
	r := sample
	if err := l.Write(&r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != sampleLine {
		t.Errorf("%v, wrote\n%s", err, text)
	}
	if got, broken := read(t, path); broken != 0 || len(got) != 1 || !reflect.DeepEqual(got[0], sample) {
		t.Errorf("read %+v", got)
	}
	for _, name := range []string{path, path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	r = Record{At: sample.At, Name: strings.Repeat("é", maxText)}
	if err := l.Write(&r); err != nil || len(r.Name) > maxText+4 {
		t.Errorf("%v; a name of %d bytes is kept", err, len(r.Name))
	}
}

// Several programs write to one log, which is renamed when it is full. No line is torn or lost, but for those
// of a file that was replaced.
func TestSharedLogRolls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const most, programs, each = 2000, 3, 5
	logs := make([]*Log, programs)
	for i := range logs {
		logs[i] = opened(t, path, Options{}, most)
	}
	var running sync.WaitGroup
	for i, l := range logs {
		running.Go(func() {
			for n := range each {
				r := sample
				r.Name = fmt.Sprint(i, n)
				if err := l.Write(&r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	old, broken := read(t, path+".1")
	now, more := read(t, path)
	info, err := os.Stat(path + ".1")
	if err != nil || info.Size() < most || info.Size() > most+1000 {
		t.Errorf("the older file has %d bytes, %v", info.Size(), err)
	}
	if broken+more != 0 || len(old) == 0 || len(now) == 0 || len(old)+len(now) > programs*each {
		t.Errorf("%d and %d lines, %d broken", len(old), len(now), broken+more)
	}
}

// A line of a program that was killed while it wrote costs no other line.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(sampleLine+sampleLine[:40]), 0o600); err != nil {
		t.Fatal(err)
	}
	r := sample
	if err := opened(t, path, Options{}, fileCap).Write(&r); err != nil {
		t.Fatal(err)
	}
	if got, broken := read(t, path); len(got) != 2 || broken != 1 {
		t.Errorf("%d lines, %d broken", len(got), broken)
	}
}

// While the log cannot be written to, calls go on unless it is required; and the log says how many lines are
// missing.
func TestLogFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	required, other := opened(t, path, Options{Required: true}, 1), opened(t, path, Options{}, 1)
	r := sample
	if err := errors.Join(required.Write(&r), other.Ready(), required.Ready()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".1", 0o700); err != nil { // in the way of the next file
		t.Fatal(err)
	}
	if err := required.Write(&r); err == nil {
		t.Fatal("it was written")
	}
	if first, again := required.Ready(), required.Ready(); first == nil || again == nil || other.Ready() != nil {
		t.Error("calls go on although the log is required, or do not although it is not")
	}
	if err := os.Remove(path + ".1"); err != nil {
		t.Fatal(err)
	}
	if err := required.Ready(); err != nil {
		t.Error(err)
	}
	if got, broken := read(t, path); len(got) != 1 || got[0].Missing != 1 || broken != 0 {
		t.Errorf("%+v", got)
	}
}

// A file that is no log is neither written to nor replaced.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "is not a log of calls") {
		t.Error(err)
	}
	if err := os.Symlink(path, filepath.Join(dir, "link")); err == nil {
		if _, err := Open(filepath.Join(dir, "link"), Options{}); err == nil {
			t.Error("it follows a link")
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "precious" {
		t.Errorf("the file is %q now", text)
	}
}

func BenchmarkWrite(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "audit.jsonl"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	r := sample
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Write(&r); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sampleLine + sampleLine[:50]))
	f.Add([]byte(`{"at":"2026-07-28T09:00:00Z","ms":1e999,"args":[[[[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for line, err := range Read(bytes.NewReader(text)) {
			if err == nil && line.At.IsZero() || err != nil && !errors.Is(err, ErrBroken) {
				t.Errorf("%q: %+v, %v", text, line, err)
			}
		}
	})
}
