//go:build !wasip1

package sdktest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Read reads a trace from a file and ends the test where it cannot.
func Read(tb testing.TB, file string) *Trace {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	trace, err := Parse(file, text)
	if err != nil {
		tb.Fatal(err)
	}
	return trace
}

// RunFiles runs every trace that pattern matches as a subtest, each with a
// transport of its own and all of them in parallel.
func RunFiles(t *testing.T, pattern string, m abi.Manifest, make func() sdk.Transport) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces match %q (%v)", pattern, err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, m, make(), Read(t, file))
		})
	}
}

// Run plays a trace to a transport, natively.
func Run(tb testing.TB, m abi.Manifest, t sdk.Transport, trace *Trace) {
	tb.Helper()
	Play(tb, New(m, t), trace)
}

// Play plays a trace to the guest of h and compares everything it does, line by
// line. Between the events it sends others of kinds that no version knows yet;
// a guest returns 0 from them and does nothing.
func Play(tb testing.TB, h *Host, trace *Trace) {
	tb.Helper()
	for i := range trace.Steps {
		s := &trace.Steps[i]
		h.script = s.Calls
		h.Event(s.Kind, s.Handle, s.Arg, s.Payload)
		if diff := Diff(s, h.entries); diff != "" {
			tb.Fatalf("%s: - is the trace, + is what the guest did\n%s", s.Pos, diff)
		}
		grease(tb, h)
	}
}

// unknown are event kinds that later versions of the ABI may have.
var unknown = []abi.Kind{0, abi.EventClose + 1, 77, 1 << 16, 1<<32 - 1}

func grease(tb testing.TB, h *Host) {
	tb.Helper()
	for _, k := range unknown {
		if result := h.Event(k, 1, 1, []byte("grease\n")); result != 0 || len(h.entries) != 2 {
			tb.Fatalf("the guest does not ignore an unknown event:\n%s", Text(h.entries))
		}
	}
}

// Diff compares the entries of one event with its step in a trace; it returns
// "" where they agree, and otherwise a text with both. Bytes that the trace
// leaves out are not compared.
func Diff(want *Step, got []Entry) string {
	wanted := want.entries()
	for i := range wanted {
		if i < len(got) && wanted[i].Bytes == nil {
			wanted[i].Bytes = got[i].Bytes
		}
	}
	var out []byte
	same := len(wanted) == len(got)
	for i := range max(len(wanted), len(got)) {
		switch {
		case i >= len(wanted):
			out = appendMarked(out, "+ ", got[i])
		case i >= len(got):
			out = appendMarked(out, "- ", wanted[i])
		case wanted[i].Line == got[i].Line && bytes.Equal(wanted[i].Bytes, got[i].Bytes):
			out = appendMarked(out, "  ", got[i])
		default:
			same = false
			out = appendMarked(out, "- ", wanted[i])
			out = appendMarked(out, "+ ", got[i])
		}
	}
	if same {
		return ""
	}
	return string(out)
}

// entries returns the step in the form in which it would be recorded.
func (s *Step) entries() []Entry {
	list := []Entry{{Line: s.Line(), Bytes: s.Payload}}
	if isSealed(s.Kind, s.Arg) {
		list[0].Bytes = nil
	}
	for _, c := range s.Calls {
		list = append(list, Entry{c.Line, c.Data})
	}
	return append(list, Entry{Line: s.End})
}

func appendMarked(dst []byte, mark string, e Entry) []byte {
	for line := range strings.Lines(Text([]Entry{e})) {
		dst = append(append(dst, mark...), line...)
	}
	return dst
}

// Text returns entries as the text of a trace, with their bytes.
func Text(entries []Entry) string {
	var dst []byte
	for _, e := range entries {
		dst = append(append(dst, e.Line...), '\n')
		dst = appendBytes(dst, blockOf(e.Line), e.Bytes)
	}
	return string(dst)
}

// blockOf returns the block that the bytes of a line begin with, if any.
func blockOf(line string) string {
	for prefix, block := range map[string]string{
		"--> event(OPEN,":    "settings",
		"--> event(MESSAGE,": "facts",
		"--> event(HEAD,":    "head",
		"  <-- report(MANIF": "manifest",
	} {
		if strings.HasPrefix(line, prefix) {
			return block
		}
	}
	return ""
}
