// Package socket_test compares the module of the folder with its source, and the
// header with the contract. What the module does is tested beside the one in Go, in
// examples/transport-socket.
package socket_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// compiler is the one that the committed module is of.
const compiler = "Debian clang version 14.0.6"

// The module is what its source gives. Whoever has another compiler, or none, takes
// the word of somebody who has it.
func TestSource(t *testing.T) {
	version, err := exec.Command("clang", "--version").Output()
	if err != nil {
		t.Skip("clang is not here, so the module is not compared with its source: apt-get install clang lld")
	}
	for _, tool := range []string{"wasm-ld", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not here, so the module is not compared with its source: apt-get install lld")
		}
	}
	file := filepath.Join(t.TempDir(), "socket.wasm")
	if out, err := exec.Command("sh", "build", file).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if line, _, _ := strings.Cut(string(version), "\n"); !strings.HasPrefix(line, compiler) {
		t.Skipf("the committed module is of %s; this is %s", compiler, line)
	}
	if !bytes.Equal(read(t, file), read(t, "socket.wasm")) {
		t.Error("socket.wasm is not what its source gives: run ./build")
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// numbers are what the header must say.
var numbers = map[string]int{
	"DESCRIBE": int(abi.EventDescribe), "OPEN": int(abi.EventOpen), "MESSAGE": int(abi.EventMessage), "CANCEL": int(abi.EventCancel),
	"OPENED": int(abi.EventOpened), "HEAD": int(abi.EventHead), "DATA": int(abi.EventData), "END": int(abi.EventEnd),
	"ERROR": int(abi.EventError), "EXIT": int(abi.EventExit), "TIMER": int(abi.EventTimer), "RESUME": int(abi.EventResume), "CLOSE": int(abi.EventClose),
	"LATER": int(abi.Later), "HANDED_OVER": int(abi.HandedOver),
	"LAST": int(abi.Last), "HEAD_LAST": int(abi.HeadLast), "SEALED": int(abi.Sealed),
	"MORE": int(abi.More), "FIN": int(abi.End), "ABORT": int(abi.Abort),
	"PROCESS": int(abi.OpenProcess), "STREAM": int(abi.OpenStream), "HTTP": int(abi.OpenHTTP),
	"ESSENTIAL": int(abi.Essential), "UPGRADE": int(abi.Upgrade),
	"MANIFEST": int(abi.ReportManifest), "UP": int(abi.ReportUp), "DONE": int(abi.ReportDone),
	"FAILED": int(abi.ReportFailed), "EXPIRED": int(abi.ReportExpired), "ENDED": int(abi.ReportEnded),
	"DEBUG": int(abi.LevelDebug), "INFO": int(abi.LevelInfo), "WARN": int(abi.LevelWarn), "ERROR_LEVEL": int(abi.LevelError),
	"PENDING": int(abi.VerdictPending), "ANSWER": int(abi.VerdictAnswer), "NOTE": int(abi.VerdictNote), "REQUEST": int(abi.VerdictRequest),
	"BLANK": int(abi.VerdictBlank), "NO_MESSAGE": int(abi.VerdictMalformed), "WRONG_ID": int(abi.VerdictWrongID),
	"LATE": int(abi.VerdictLate), "TOO_BIG": int(abi.VerdictTooBig),
	"OK": int(abi.OK), "DENIED": int(abi.Denied), "UNAVAILABLE": int(abi.Unavailable), "MALFORMED": int(abi.Malformed),
	"LIMIT": int(abi.LimitReached), "CLOSED": int(abi.Closed), "NOT_FOUND": int(abi.NotFound), "UNREACHABLE": int(abi.Unreachable),
	"TIMED_OUT": int(abi.TimedOut), "RESET": int(abi.Reset), "PROTOCOL": int(abi.ProtocolFailed), "TOO_LARGE": int(abi.TooLarge),
	"STALLED": int(abi.Stalled), "INTERNAL": int(abi.Internal), "REFUSED": int(abi.Refused),
	"UNAUTHORIZED": int(abi.Unauthorized),
	"BY_MESSAGE":   int(abi.CancelByMessage), "BY_STREAM": int(abi.CancelByStream),
}

var (
	enums    = regexp.MustCompile(`(?s)enum \{(.*?)\};`)
	member   = regexp.MustCompile(`WHARF_([A-Z0-9_]+)(?: = ([-0-9]+)(?: << ([0-9]+))?)?`)
	imported = regexp.MustCompile(`WHARF_CALL\("([a-z_]+)"\) \w+ \w+\(([^)]*)\)`)
)

// The header says what the contract says.
func TestHeader(t *testing.T) {
	header := string(read(t, "../../sdk/c/wharf.h"))
	for _, name := range []string{abi.Module, abi.ExportMarker, abi.ExportEvent} {
		if !strings.Contains(header, strconv.Quote(name)) {
			t.Errorf("the header lacks %q", name)
		}
	}
	found := map[string]bool{}
	for _, enum := range enums.FindAllStringSubmatch(header, -1) {
		next := 0
		for _, m := range member.FindAllStringSubmatch(enum[1], -1) {
			if m[2] != "" {
				next, _ = strconv.Atoi(m[2])
				shift, _ := strconv.Atoi(m[3])
				next <<= shift
			}
			if want, known := numbers[m[1]]; known && want != next {
				t.Errorf("WHARF_%s is %d, want %d", m[1], next, want)
			}
			found[m[1]] = true
			next++
		}
	}
	for name := range numbers {
		if !found[name] {
			t.Errorf("WHARF_%s is missing", name)
		}
	}
	calls := map[string]int{}
	for _, m := range imported.FindAllStringSubmatch(header, -1) {
		calls[m[1]] = 1 + strings.Count(m[2], ",")
	}
	for _, c := range abi.Calls() {
		if calls[c.String()] != c.Params() {
			t.Errorf("%s has %d parameters, want %d", c, calls[c.String()], c.Params())
		}
	}
}
