package host_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

// short is a deadline that is meant to pass.
const short = 300 * time.Millisecond

// say calls echo and fails unless it answers.
func say(t *testing.T, s *host.Session) {
	t.Helper()
	result, err := s.CallTool(t.Context(), "echo", map[string]any{"message": "hello"})
	if err != nil {
		t.Fatalf("the connection is not what it was: %v", err)
	}
	if got := result.Content[0].Text; got != "hello" {
		t.Errorf("echo said %q", got)
	}
}

// A bad answer spoils its own call, at once where the call can be told, and
// nothing else: neither the next call nor another server notices.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Timeout: time.Hour})
	other := connect(t, h, server("modern"))
	for _, c := range []struct {
		tool string
		want string // of the error; "" where the call succeeds, "late" where only the deadline ends it
	}{
		{"wrong id", "late"},
		{"text id", "changed the id's type"},
		{"float id", "changed the id's type"},
		{"null id", "late"},
		{"both", "malformed"},
		{"neither", "malformed"},
		{"no version", "malformed"},
		{"old version", "malformed"},
		{"other case", "malformed"},
		{"twice a key", "malformed"},
		{"bad utf-8", "malformed"},
		{"surrogate", "malformed"},
		{"nul", "malformed"},
		{"deep", "malformed"},
		{"cut short", "malformed"},
		{"no tool", "unknown tool"},
		{"odd error", "malformed"},
		{"odd result", "invalid result"},
		{"array", ""},
		{"pretty lines", "late"},
		{"garbage", ""},
		{"half emoji", ""},
		{"rubbish", "not a JSON object, 100 times in a row"},
		{"twice", ""},
		{"strangers", ""},
		{"stderr", ""},
	} {
		t.Run(c.tool, func(t *testing.T) {
			for _, era := range []string{"modern", "legacy"} {
				s := connect(t, h, server(era))
				ctx := t.Context()
				if c.want == "late" {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, short)
					defer cancel()
				}
				_, err := s.CallTool(ctx, c.tool, nil)
				check(t, era, c.tool, c.want, err)
				say(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			say(t, other)
		})
	}
}

// TestNoiseOnStdout has a server that is up print lines which are no messages: the first
// of each connection is told.
func TestNoiseOnStdout(t *testing.T) {
	t.Parallel()
	heard := make(chan host.Event, 10)
	h := newHost(t, host.Config{Timeout: time.Hour, Event: func(e host.Event) { heard <- e }})
	for _, era := range []string{"modern", "legacy"} {
		s := connect(t, h, server(era))
		for range 2 {
			if _, err := s.CallTool(t.Context(), "garbage", nil); err != nil {
				t.Fatal(err)
			}
		}
		want := host.Event{Server: era, Warning: `it wrote "<html>" to stdout, where only messages of MCP may be`}
		if got := <-heard; !reflect.DeepEqual(got, want) {
			t.Errorf("heard %+v, want %+v", got, want)
		}
	}
	if len(heard) > 0 {
		t.Errorf("heard more: %+v", <-heard)
	}
	faulty := server("legacy")
	faulty.Name = "faulty"
	connect(t, h, faulty).CallTool(t.Context(), "surrogate", nil)
	if got, want := <-heard, `malformed message: lone surrogate in a name at offset`; !strings.HasPrefix(got.Warning, want) {
		t.Errorf("heard %+v, want %s…", got, want)
	}
}

func check(t *testing.T, era, tool, want string, err error) {
	t.Helper()
	switch {
	case tool == "array": // neither revision of the test has arrays
		if err == nil {
			t.Errorf("%s: an array was taken for an answer", era)
		}
	case want == "":
		if err != nil {
			t.Errorf("%s: %v", era, err)
		}
	case err == nil:
		t.Errorf("%s: the call succeeded", era)
	case want == "late":
		if !errors.Is(err, host.ErrTimeout) {
			t.Errorf("%s: %v", era, err)
		}
	case !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), era):
		t.Errorf("%s: %q does not say %q", era, err, want)
	}
}

// An answer over the cap fails its call without being kept. What is allocated
// beside the cap are chunks that a pool drops, as it does often under the race
// detector.
func TestLongLine(t *testing.T) {
	h := newHost(t, host.Config{Timeout: time.Hour})
	s := connect(t, h, server("modern"))
	say(t, s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.CallTool(t.Context(), "long", nil)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "larger than the message cap") {
		t.Errorf("the call ended with %v", err)
	}
	const most = 5 * 16 << 20
	if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
		t.Errorf("%d MiB were allocated for a message that was dropped", spent>>20)
	}
	say(t, s)
}

func TestManyNotifications(t *testing.T) {
	var heard atomic.Int64
	last := make(chan struct{})
	h := newHost(t, host.Config{Timeout: time.Hour, Event: func(e host.Event) {
		if e.Method == "notifications/note" && heard.Add(1) == manyNotes {
			close(last)
		}
	}})
	s := connect(t, h, server("modern"))
	if _, err := s.CallTool(t.Context(), "notes", nil); err != nil {
		t.Fatal(err)
	}
	<-last
	say(t, s)
}

// A server that writes a line without end is given up, and its memory with it.
func TestEndlessLine(t *testing.T) {
	h := newHost(t, host.Config{Timeout: time.Hour})
	entry := server("endless")
	entry.MessageCap = 1 << 20
	s := connect(t, h, entry)
	_, err := s.CallTool(t.Context(), "echo", nil)
	if !errors.Is(err, host.ErrUnreachable) || !strings.Contains(err.Error(), "without end") {
		t.Errorf("the call ended with %v", err)
	}
}

// A server that takes no more input costs a caller its deadline, and Close no
// time at all.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	s := connect(t, h, server("deaf"))
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	args := map[string]any{"message": strings.Repeat("x", 8<<20)}
	if _, err := s.CallTool(ctx, "echo", args); !errors.Is(err, host.ErrTimeout) {
		t.Errorf("the call ended with %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A server that dies takes the call with it, says why, and is started anew for
// the next one.
func TestServerDiesInTheMiddleOfACall(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, era := range []string{"modern", "legacy"} {
		s := connect(t, h, server(era))
		_, err := s.CallTool(t.Context(), "dies", nil)
		if !errors.Is(err, host.ErrUnreachable) {
			t.Errorf("%s: the call ended with %v", era, err)
		}
		for _, want := range []string{era, "exit status 7", "out of cheese"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", era, err, want)
			}
		}
		say(t, s)
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, c := range []struct {
		entry host.Server
		kind  error
		want  []string
	}{
		{server("exits"), host.ErrUnreachable, []string{"exits", "exit status 3", "no database at this address"}},
		{host.Server{Name: "none", Command: "no-such-command"}, host.ErrUnreachable, []string{"none", "no-such-command"}},
		{host.Server{Name: "folder", Command: t.TempDir()}, host.ErrUnreachable, []string{"folder"}},
		{host.Server{Name: "empty"}, host.ErrConfig, []string{"empty", "command"}},
		{host.Server{Name: "odd", Command: "x", Transport: "pigeon"}, host.ErrUnknownTransport, []string{"odd", "pigeon", "stdio"}},
		{host.Server{Name: "set", Command: "x", Settings: map[string]string{"wings": "2"}}, host.ErrConfig, []string{"set", "wings", "framing"}},
		{host.Server{Name: "web", URL: "http://127.0.0.1:1/mcp", Framing: "ndjson"}, host.ErrConfig, []string{`transport http has no setting "framing"; it has none: take it out of the entry`}},
		{host.Server{Name: "framed", Command: "cat", Framing: "morse"}, host.ErrConfig, []string{"framed", "morse", "ndjson"}},
	} {
		s, err := h.Connect(t.Context(), c.entry)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: %v is no %v", c.entry.Name, err, c.kind)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.entry.Name, err, want)
			}
		}
	}
}

// Nothing is left of a server that never answers.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	_, err := h.Connect(ctx, server("silent"))
	if !errors.Is(err, host.ErrTimeout) {
		t.Errorf("connecting ended with %v", err)
	}
}

// A server that reads nothing, and one that answers nothing, keep no other waiting.
func TestAStuckServerBlocksNoOther(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Timeout: time.Hour})
	deaf, mute, other := connect(t, h, server("deaf")), connect(t, h, server("legacy")), connect(t, h, server("modern"))
	ctx, cancel := context.WithCancel(t.Context())
	var stuck sync.WaitGroup
	stuck.Go(func() { deaf.CallTool(ctx, "echo", map[string]any{"message": strings.Repeat("x", 8<<20)}) })
	stuck.Go(func() { mute.CallTool(ctx, "mute", nil) })
	for range 100 { // each of which would wait an hour
		say(t, other)
	}
	cancel()
	stuck.Wait()
}
