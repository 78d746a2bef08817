package template_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk/assemblyscript"
	"github.com/wharf-mcp/wharf/sdk/c"
	"github.com/wharf-mcp/wharf/sdk/rust"
)

// A number of the contract: what package abi calls it, and the files of other
// languages, beside what it is.
type number struct {
	name string
	is   int64
}

var numbers = map[string]number{
	"EventDescribe": {"DESCRIBE", int64(abi.EventDescribe)}, "EventOpen": {"OPEN", int64(abi.EventOpen)},
	"EventMessage": {"MESSAGE", int64(abi.EventMessage)}, "EventCancel": {"CANCEL", int64(abi.EventCancel)},
	"EventOpened": {"OPENED", int64(abi.EventOpened)}, "EventHead": {"HEAD", int64(abi.EventHead)},
	"EventData": {"DATA", int64(abi.EventData)}, "EventEnd": {"END", int64(abi.EventEnd)},
	"EventError": {"ERROR", int64(abi.EventError)}, "EventExit": {"EXIT", int64(abi.EventExit)},
	"EventTimer": {"TIMER", int64(abi.EventTimer)}, "EventResume": {"RESUME", int64(abi.EventResume)},
	"EventClose": {"CLOSE", int64(abi.EventClose)},

	"Later": {"LATER", int64(abi.Later)}, "HandedOver": {"HANDED_OVER", int64(abi.HandedOver)},
	"Last": {"LAST", int64(abi.Last)}, "HeadLast": {"HEAD_LAST", int64(abi.HeadLast)}, "Sealed": {"SEALED", int64(abi.Sealed)},
	"More": {"MORE", int64(abi.More)}, "End": {"FIN", int64(abi.End)}, "Abort": {"ABORT", int64(abi.Abort)},
	"OpenProcess": {"PROCESS", int64(abi.OpenProcess)}, "OpenStream": {"STREAM", int64(abi.OpenStream)}, "OpenHTTP": {"HTTP", int64(abi.OpenHTTP)},
	"Essential": {"ESSENTIAL", int64(abi.Essential)}, "Upgrade": {"UPGRADE", int64(abi.Upgrade)},

	"ReportManifest": {"MANIFEST", int64(abi.ReportManifest)}, "ReportUp": {"UP", int64(abi.ReportUp)},
	"ReportDone": {"DONE", int64(abi.ReportDone)}, "ReportFailed": {"FAILED", int64(abi.ReportFailed)},
	"ReportExpired": {"EXPIRED", int64(abi.ReportExpired)}, "ReportEnded": {"ENDED", int64(abi.ReportEnded)},
	"LevelDebug": {"DEBUG", int64(abi.LevelDebug)}, "LevelInfo": {"INFO", int64(abi.LevelInfo)},
	"LevelWarn": {"WARN", int64(abi.LevelWarn)}, "LevelError": {"ERROR_LEVEL", int64(abi.LevelError)},

	"VerdictPending": {"PENDING", int64(abi.VerdictPending)}, "VerdictAnswer": {"ANSWER", int64(abi.VerdictAnswer)},
	"VerdictNote": {"NOTE", int64(abi.VerdictNote)}, "VerdictRequest": {"REQUEST", int64(abi.VerdictRequest)},
	"VerdictBlank": {"BLANK", int64(abi.VerdictBlank)}, "VerdictMalformed": {"NO_MESSAGE", int64(abi.VerdictMalformed)},
	"VerdictWrongID": {"WRONG_ID", int64(abi.VerdictWrongID)}, "VerdictLate": {"LATE", int64(abi.VerdictLate)},
	"VerdictTooBig": {"TOO_BIG", int64(abi.VerdictTooBig)},

	"OK": {"OK", int64(abi.OK)}, "Denied": {"DENIED", int64(abi.Denied)}, "Unavailable": {"UNAVAILABLE", int64(abi.Unavailable)},
	"Malformed": {"MALFORMED", int64(abi.Malformed)}, "LimitReached": {"LIMIT", int64(abi.LimitReached)},
	"Closed": {"CLOSED", int64(abi.Closed)}, "NotFound": {"NOT_FOUND", int64(abi.NotFound)},
	"Unreachable": {"UNREACHABLE", int64(abi.Unreachable)}, "TimedOut": {"TIMED_OUT", int64(abi.TimedOut)},
	"Reset": {"RESET", int64(abi.Reset)}, "ProtocolFailed": {"PROTOCOL", int64(abi.ProtocolFailed)},
	"TooLarge": {"TOO_LARGE", int64(abi.TooLarge)}, "Stalled": {"STALLED", int64(abi.Stalled)},
	"Internal": {"INTERNAL", int64(abi.Internal)}, "Refused": {"REFUSED", int64(abi.Refused)},
	"Unauthorized": {"UNAUTHORIZED", int64(abi.Unauthorized)},

	"CancelByMessage": {"BY_MESSAGE", int64(abi.CancelByMessage)}, "CancelByStream": {"BY_STREAM", int64(abi.CancelByStream)},
}

// unsaid are numbers that no file has: those of facts, which a guest reads that wants
// to know more of a message than its bytes, and those of a probe.
var unsaid = []string{"Request", "Notification", "Reply"}

// tags are those of a manifest and of an open request, which package abi has in its
// encoders alone; the vectors of the codec hold them to its text.
var tags = map[string]int64{
	"NAME": 1, "VERSION": 2, "SUMMARY": 3, "SETTING": 4, "GRANT": 5, "CANCELS": 6, "PROBE": 7, "UNSOLICITED": 8,
	"GRANT_NAME": 1, "FLAGS": 2, "METHOD": 3, "TARGET": 4, "HEADER": 5,
}

// A number that package abi has is in the table above.
func TestNumbersAreAll(t *testing.T) {
	set := token.NewFileSet()
	for _, file := range []string{"kinds.go", "status.go"} {
		syntax, err := parser.ParseFile(set, "../../abi/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.GenDecl)
			if !ok || spec.Tok != token.CONST {
				return true
			}
			for _, s := range spec.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					if _, known := numbers[name.Name]; name.IsExported() && !known && !slices.Contains(unsaid, name.Name) {
						t.Errorf("abi.%s is not compared", name.Name)
					}
				}
			}
			return false
		})
	}
}

// contract is what a file says: the numbers by name, and the signatures of calls.
type contract struct {
	numbers map[string]int64
	calls   map[string]string
}

// The files that are copied say what package abi says: every number, and every host
// call with its parameters.
func TestContract(t *testing.T) {
	for lang, got := range map[string]contract{"c": readC(t), "rust": readRust(t), "assemblyscript": readAssemblyScript(t)} {
		want := maps.Clone(tags)
		for _, n := range numbers {
			want[n.name] = n.is
		}
		for name, n := range want {
			if is, there := got.numbers[name]; !there || is != n {
				t.Errorf("%s: %s is %d (there: %v), want %d", lang, name, is, there, n)
			}
		}
		for name := range got.numbers {
			if _, known := want[name]; !known {
				t.Errorf("%s: %s is no number of the contract", lang, name)
			}
		}
		for _, call := range abi.Calls() {
			want := fmt.Sprintf("%d %v", call.Params(), call.HasResult())
			if got.calls[call.String()] != want {
				t.Errorf("%s: %s has %q, want %q", lang, call, got.calls[call.String()], want)
			}
		}
		if len(got.calls) != len(abi.Calls()) {
			t.Errorf("%s: calls %v", lang, got.calls)
		}
	}
	for lang, text := range map[string]string{"c": c.Header, "rust": rust.Wharf, "assemblyscript": assemblyscript.Wharf} {
		for _, name := range []string{`"` + abi.Module + `"`, abi.ExportMarker} {
			if !strings.Contains(text, name) {
				t.Errorf("%s lacks %s", lang, name)
			}
		}
	}
}

var (
	enumC   = regexp.MustCompile(`(?s)enum \{(.*?)\};`)
	memberC = regexp.MustCompile(`WHARF_([A-Z0-9_]+)(?: = ([-0-9]+)(?: << ([0-9]+))?)?`)
	callC   = regexp.MustCompile(`WHARF_CALL\("([a-z_]+)"\) (\w+) \w+\(([^)]*)\)`)

	constRust = regexp.MustCompile(`pub const ([A-Z0-9_]+): [ui](?:16|32) = (-?\d+);`)
	callRust  = regexp.MustCompile(`pub fn (\w+)\(([^)]*)\)( -> i32)?;`)

	constAS = regexp.MustCompile(`export const ([A-Z0-9_]+): [ui]32 = (-?\d+);`)
	callAS  = regexp.MustCompile(`@external\("` + abi.Module + `", "(\w+)"\)\nexport declare function \w+\(([^)]*)\): (\w+);`)
)

func signature(params string, result bool) string {
	return fmt.Sprintf("%d %v", 1+strings.Count(params, ","), result)
}

func readC(t *testing.T) contract {
	got := contract{map[string]int64{}, map[string]string{}}
	for _, enum := range enumC.FindAllStringSubmatch(c.Header, -1) {
		var next int64
		for _, m := range memberC.FindAllStringSubmatch(enum[1], -1) {
			if m[2] != "" {
				next = integer(t, m[2])
			}
			if m[3] != "" {
				next <<= integer(t, m[3])
			}
			got.numbers[m[1]] = next
			next++
		}
	}
	for _, m := range callC.FindAllStringSubmatch(c.Header, -1) {
		got.calls[m[1]] = signature(m[3], m[2] == "int32_t")
	}
	return got
}

func readRust(t *testing.T) contract {
	got := contract{constants(t, constRust, rust.Wharf), map[string]string{}}
	for _, m := range callRust.FindAllStringSubmatch(rust.Wharf, -1) {
		got.calls[m[1]] = signature(m[2], m[3] != "")
	}
	return got
}

func readAssemblyScript(t *testing.T) contract {
	got := contract{constants(t, constAS, assemblyscript.Wharf), map[string]string{}}
	for _, m := range callAS.FindAllStringSubmatch(assemblyscript.Wharf, -1) {
		got.calls[m[1]] = signature(m[2], m[3] == "i32")
	}
	return got
}

func constants(t *testing.T, pattern *regexp.Regexp, text string) map[string]int64 {
	found := map[string]int64{}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		found[m[1]] = integer(t, m[2])
	}
	return found
}

func integer(t *testing.T, digits string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
