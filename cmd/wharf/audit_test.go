package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/audit"
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

func TestWholeLines(t *testing.T) {
	for text, want := range map[string]int64{"x": 1, "a\nb": 2, "a\nb\n": 4, "ab": 1, strings.Repeat("x", 5000) + "\n" + strings.Repeat("y", 9000): 5001} {
		if got, err := wholeLines(strings.NewReader(text), 1, int64(len(text))); err != nil || got != want {
			t.Errorf("%.20q: %d, %v", text, got, err)
		}
	}
}
