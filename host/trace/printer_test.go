package trace

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

func TestParse(t *testing.T) {
	for list, want := range map[string]layer{
		"rpc": layerRPC, "abi": layerABI, "io": layerIO, "rpc,abi": layerRPC | layerABI, " io , rpc ,": layerIO | layerRPC, "rpc,rpc": layerRPC,
	} {
		tr, err := NewPrinter(list, io.Discard)
		if err != nil || tr.layers != want {
			t.Errorf("%q: %v, %v", list, tr, err)
		}
	}
	for _, list := range []string{"", " ", ",,"} {
		if tr, err := NewPrinter(list, io.Discard); tr != nil || err != nil {
			t.Errorf("%q: %v, %v", list, tr, err)
		}
	}
	for _, list := range []string{"rcp", "RPC", "rpc;abi", "rpc,all"} {
		if _, err := NewPrinter(list, io.Discard); err == nil || !strings.Contains(err.Error(), "rpc, abi or io") {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// A layer that is off costs nothing: there is no function to call.
func TestOffIsNil(t *testing.T) {
	var off *Printer
	if off.ABI("s") != nil || off.RPC("s") != nil || off.Dropped("s") != nil || off.on(layerRPC) {
		t.Error("a nil tracer traces")
	}
	rpc, _ := NewPrinter("rpc", io.Discard)
	abi, _ := NewPrinter("abi", io.Discard)
	if rpc.ABI("s") != nil || abi.RPC("s") != nil || abi.Dropped("s") != nil {
		t.Error("a layer is on that was not asked for")
	}
}

// The secrets of the configuration are hidden on every layer.
func TestTracedSecrets(t *testing.T) {
	var out strings.Builder
	tr, err := NewPrinter("rpc,abi,io", &out)
	if err != nil {
		t.Fatal(err)
	}
	tr.Secrets().Hide("open-sesame", "short")
	tr.Secrets().HideNamed("pw4x")
	tr.RPC("files")(true, []byte(`{"a":"open-sesame","b":"short"}`))
	tr.ABI("files")([]byte("--> event"), []byte("\"pw4x\""))
	want := "[files] -> {\"a\":\"[secret]\",\"b\":\"short\"}\n[files] --> event\n    | \"\\\"[secret]\\\"\"\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", payloadCap) + "yyy"
	cut := strings.Repeat("x", payloadCap) + "… (2051 bytes)"
	for _, c := range []struct {
		layers string
		say    func(*Printer)
		want   string
	}{
		{"rpc", func(tr *Printer) { tr.RPC("files")(true, []byte(`{"id":1}`)) }, "[files] -> {\"id\":1}\n"},
		{"rpc", func(tr *Printer) { tr.RPC("files")(false, []byte(`{"id":1}`)) }, "[files] <- {\"id\":1}\n"},
		{"rpc", func(tr *Printer) { tr.Dropped("files")(errors.New("late"), []byte("{}")) }, "[files] dropped: late: {}\n"},
		{"rpc", func(tr *Printer) { tr.RPC("files")(false, []byte(long)) }, "[files] <- " + cut + "\n"},
		{"abi", func(tr *Printer) { tr.ABI("files")([]byte("<-- return 0"), []byte("bytes")) }, "[files] <-- return 0\n"},
		{"io", func(tr *Printer) { tr.ABI("files")([]byte("<-- return 0"), nil) }, "[files] <-- return 0\n"},
		{"io", func(tr *Printer) { tr.ABI("files")([]byte("--> event"), []byte("a\n\x1b")) }, "[files] --> event\n    | \"a\\n\\x1b\"\n"},
	} {
		var out strings.Builder
		tr, err := NewPrinter(c.layers, &out)
		if err != nil {
			t.Fatal(err)
		}
		if c.say(tr); out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.layers, out.String(), c.want)
		}
	}
}

// A server cannot write a line of its own into a trace, nor reach the terminal
// behind it.
func TestRudeMessages(t *testing.T) {
	var out strings.Builder
	tr, _ := NewPrinter("rpc", &out)
	rude := "{\r\n[files] -> {}\x1b[2J\u009b\xff\u202e\u3164\t}"
	tr.RPC("files")(false, []byte(rude))
	tr.Dropped("files")(errors.New("no\x1b"), []byte(rude))
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("two messages made %d lines: %q", got, out.String())
	}
	for _, bad := range []string{"\x1b", "\r", "\u009b", "\xff", "\u202e", "\u3164"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in the trace: %q", bad, out.String())
		}
	}
}

// The id of a session is as good as a password.
func TestSessionsAreKeptOut(t *testing.T) {
	var out strings.Builder
	tr, _ := NewPrinter("abi", &out)
	tr.ABI("web")([]byte(`<-- open(http, 3, "main", POST "/say?session=f81d4fae#x", "accept: a?b", "mcp-session-id: f81d\"4fae", "mcp-method: ping") = 513`), nil)
	want := `[web] <-- open(http, 3, "main", POST "/say?…", "accept: a?b", "mcp-session-id: …", "mcp-method: ping") = 513` + "\n"
	if out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
}

// The lines of many goroutines are not mixed.
func TestConcurrentLines(t *testing.T) {
	var out strings.Builder
	tr, _ := NewPrinter("rpc", &out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			say := tr.RPC("s")
			for range 50 {
				say(true, []byte("{}"))
			}
		})
	}
	wg.Wait()
	if want := strings.Repeat("[s] -> {}\n", 400); out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}
}
