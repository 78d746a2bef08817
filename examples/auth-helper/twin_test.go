//go:build !wasip1

package main

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// twin returns the plugin that is shipped, which is in C. That it is what its source gives
// is tested in host/pluginbuild.
func twin(t testing.TB) func(export string, in []byte) ([]byte, error) {
	t.Helper()
	return exampletest.Provider(t, plugins.Builtin()["helper"]())
}

// live runs a flow of a provider: a start, and what comes of the command.
func live(t testing.TB, call func([]byte) ([]byte, error), start step.Start, result step.Event) []step.Action {
	t.Helper()
	var reply step.Reply
	result.Kind = step.EventRun
	for _, e := range []step.Event{{Kind: step.EventStart, Start: &start}, result} {
		e.Now, e.Entropy = now.UnixMilli(), make([]byte, 32)
		in, err := json.Marshal(step.Call{State: reply.State, Event: e})
		if err != nil {
			t.Fatal(err)
		}
		out, err := call(in)
		reply = step.Reply{}
		if err == nil {
			err = json.Unmarshal(out, &reply)
		}
		if err != nil {
			t.Fatalf("%.300s: %v", in, err)
		}
		if reply.Actions[0].Kind != step.ActionRun {
			break
		}
	}
	return reply.Actions
}

var place = regexp.MustCompile(`at about byte \d+`)

// wantTwins has both live through a flow. They count the bytes before what is broken each
// in its own way, and of several headers that cannot be sent the one in Go names any.
func wantTwins(t testing.TB, call func(string, []byte) ([]byte, error), start step.Start, result step.Event) {
	t.Helper()
	start.Server.Name = "tracker"
	want := live(t, func(in []byte) ([]byte, error) { return auth.Step(helper{}, in) }, start, result)
	got := live(t, func(in []byte) ([]byte, error) { return call(step.ExportStep, in) }, start, result)
	for _, actions := range [][]step.Action{want, got} {
		if fail := actions[0].Fail; fail != nil {
			fail.Message = place.ReplaceAllString(fail.Message, "at a byte")
		}
	}
	if a, b := got[0].Fail, want[0].Fail; a != nil && b != nil && ofHeaders(a) && ofHeaders(b) {
		b.Message = a.Message
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v: in C\n%s\nand in Go\n%s", result.Run, marshalled(got), marshalled(want))
	}
}

// ofHeaders tells the failures of which there can be several.
func ofHeaders(fail *step.Fail) bool {
	return strings.Contains(fail.Message, "headers that cannot be sent") || strings.Contains(fail.Message, "printed a header ") ||
		strings.Contains(fail.Message, "the header Authorization, which")
}

func marshalled(actions []step.Action) string {
	text, err := json.Marshal(actions)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestTwinsDescribeThemselves(t *testing.T) {
	out, err := twin(t)(step.ExportDescribe, nil)
	var got, want any
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(auth.Describe(manifest), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("in C\n%s\nand in Go\n%s", out, auth.Describe(manifest))
	}
}

// good are texts that commands print.
var good = []string{
	`{"Authorization":"Bearer abc"}`, "\uFEFF\r\n {\"Authorization\" : \"Bearer abc\" }\r\n", `{"headers":{"A":"1","B":"2"},"expires_in":3600}`,
	`{"A":"1","expires_in":3600.0}`, `{"A":"1","expires_in":1.001}`, `{"A":"1","expires_in":1e-9}`, `{"A":"1","expires_in":12.5E1}`,
	`{"A":"1","expires_in":316224000}`, `{"A":"1","expires_in":316224000.1}`, `{"A":"1","expires_at":1800000000.5}`, `{"A":"1","expires_at":99999999999}`,
	`{"A":"1","expires_at":"2026-01-31T14:00:00+01:00"}`, `{"A":"1","expires_at":"2036-02-29T23:59:59.123456789Z"}`,
	`{"A":"1","expires_at":"2037-02-29T23:59:59Z"}`, `{"A":"1","expires_at":"2036-12-31T4:05:06,5-24:60"}`, `{"A":"1","expires_at":"2036-12-31T24:05:06Z"}`,
	`{"A":"1","expires_at":"2036-13-01T04:05:06Z"}`, `{"A":"1","expires_at":"2036-1-01T04:05:06Z"}`, `{"A":"1","expires_at":"2036-01-01T04:05:60Z"}`,
	`{"A":"1","expires_at":"2036-01-01t04:05:06Z"}`, `{"A":"1","expires_at":"2036-01-01T04:05:06z"}`, `{"A":"1","expires_at":"2036-01-01T04:05:06+25:00"}`,
	`{"A":"1","expires_at":"2036-01-01T04:05:06.Z"}`, `{"A":"1","expires_at":"2036-01-01T04:05:06Z "}`, `{"A":"1","expires_at":"5139-01-01T04:05:06Z"}`,
	`{"A":"1","expires_at":"1999-12-31T23:59:59Z"}`, `{"A":"1","expires_at":951782400}`, `{"A":"1","expires_at":1}`,
	`{"token":"abc"}`, `{"token":"abc","headers":{}}`, `{"token":"abc","headers":{"X-Tenant":"blue"}}`, `{"token":"abc","X-Tenant":"blue"}`,
	`{"A":"\ud83d\ude00\ud83d<&>\/"}`, `{"A":"\x"}`, `{"A":"\u12"}`, `{"A":01}`, `{"A":1.}`, `{"A":-}`, `{"A":1e}`, `{"A":tru}`, `{"A":truex}`, `{"A":[1,]}`,
	`{"A":[,1]}`, `{"A":{"b"}}`, `{"A":{"b":1,}}`, `{"A":{}}`, `{"A":[]}`, `{,}`, `{"A"}`, `{"A" "1"}`, `{"A":"1" "B":"2"}`, `{"A":"1"`, `{`, `{"A":"a b"}`,
}

func TestTwins(t *testing.T) {
	call := twin(t)
	for _, tt := range bad {
		good = append(good, tt.text)
	}
	for _, text := range append(good, many(maxHeaders), strings.Repeat("\n", 9)+`{"A":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+"}",
		`{"A":`+strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001)+"}", `{"A":"`+strings.Repeat("x", maxBytes-1)+`"}`) {
		wantTwins(t, call, step.Start{}, printed(text))
	}
	challenge := &step.Challenge{Token: "abc"}
	for _, text := range []string{`{"Authorization":"Bearer abc"}`, `{"authorization":"abc"}`, `{"token":"abc"}`, `{"token":"abd"}`, `{"X":"abc"}`, `{"Authorization":"a abc d"}`} {
		wantTwins(t, call, step.Start{Reason: "challenged", Challenge: challenge}, printed(text))
		wantTwins(t, call, step.Start{Reason: "challenged", Challenge: &step.Challenge{Token: "Bearer abc"}}, printed(text))
	}
	wantTwins(t, call, step.Start{Reason: "logout"}, printed(""))
	for _, code := range []string{"unavailable", "refused", "timeout", "network", "cancelled", "another"} {
		wantTwins(t, call, step.Start{}, step.Event{Problem: &step.Problem{Code: code, Text: "why \"it\" is\nso"}})
	}
	for _, stderr := range []string{
		"", "warning: x\nno login\n\n", "\x1b[31mred\x07\u202e\u0085 alert\r", strings.Repeat("ü", 400), strings.Repeat("x", 299) + "üü",
		"a\u2028b\u2067c\u009fd\u00a0\u3000", strings.Repeat("x", 300), "x" + strings.Repeat("\U0001F600", 100),
	} {
		for _, code := range []int{1, 255, -1} {
			wantTwins(t, call, step.Start{}, step.Event{Run: &step.RunResult{Code: code, Stdout: `{"token":"abc"}`, Stderr: stderr}})
		}
	}
}

// What is no call of the contract is an error, and no trap.
func TestTwinRefusesCalls(t *testing.T) {
	call := twin(t)
	for _, in := range []string{
		"", "null", "{}", `{"event":{}}`, `{"event":{"kind":"start"}}`, `{"event":{"kind":"run_result","run":{"code":0,"stdout":""}}}`,
		`{"state":{"start":{}},"event":{"kind":"run_result"}}`, `{"state":{"start":{}},"event":{"kind":"timer"}}`,
		`{"event":{"kind":"start","start":{}}`, `{"event":{"kind":"start","start":{}}}x`, `{"a":"` + strings.Repeat("x", step.MaxCall),
	} {
		if out, err := call(step.ExportStep, []byte(in)); err == nil || !strings.Contains(err.Error(), "not of this contract") {
			t.Errorf("%.60q: %s, %v", in, out, err)
		}
	}
}

func FuzzTwins(f *testing.F) {
	for _, text := range good {
		f.Add(text, "", "", 0)
	}
	for _, tt := range bad {
		f.Add(tt.text[:min(len(tt.text), 500)], "canary", "said", 0)
	}
	f.Add("", "", "no\nlogin \u202e", 3)
	call := twin(f)
	f.Fuzz(func(t *testing.T, stdout, refused, stderr string, code int) {
		start := step.Start{Challenge: &step.Challenge{Token: strings.ToValidUTF8(refused, "?")}}
		result := step.RunResult{Code: code, Stdout: strings.ToValidUTF8(stdout, "?"), Stderr: strings.ToValidUTF8(stderr, "?")}
		wantTwins(t, call, start, step.Event{Run: &result})
	})
}

// pieces are what random objects are made of.
var (
	keys = []string{`"A"`, `"a"`, `"B"`, `"Host"`, `"token"`, `"headers"`, `"expires_in"`, `"expires_at"`, `"\u0041"`, `"X Y"`, `""`, `"authorization"`}
	// Of numbers and times there are most, since each twin reads them by itself.
	values = []string{`"x"`, `""`, `"a\tb"`, `"\ud83d\ude00"`, `"é "`, `1`, `0`, `-0`, `-1`, `0.5`, `1.0005`, `3600`, `1e3`, `15E-1`, `316224000`, `1769864400.25`,
		`1800000000`, `1800000000.0625`, `99999999999.5`, `1e11`, `1e400`, `1e-400`, `12345678901234567890`, `0.1`, `true`, `null`, `[]`, `{}`, `[1,{"a":[]}]`, `{"A":"1"}`, `{"B":"2","b":"3"}`,
		`"2036-02-28T04:05:06Z"`, `"2036-02-30T04:05:06Z"`, `"2036-06-30T4:05:06.75+02:30"`, `"1970-01-01T00:00:00Z"`, `"2026-01-31T12:00:00-00:30"`}
	signs = " \t\n\"\\{}[]:,0123456789eE+-.tfnu\x00\x1f"
)

func TestTwinsOfRandomObjects(t *testing.T) {
	call, random := twin(t), rand.New(rand.NewPCG(1, 4))
	runs := 1000
	if testenv.Long() {
		runs = 100_000
	}
	for range runs {
		var members []string
		for range 1 + random.IntN(3) {
			members = append(members, keys[random.IntN(len(keys))]+":"+values[random.IntN(len(values))])
		}
		text := []byte("{" + strings.Join(members, ",") + "}")
		for range random.IntN(3) {
			at := random.IntN(len(text))
			switch sign := signs[random.IntN(len(signs))]; random.IntN(3) {
			case 0:
				text[at] = sign
			case 1:
				text = slices.Insert(text, at, sign)
			default:
				text = slices.Delete(text, at, min(at+1+random.IntN(2), len(text)-1))
			}
		}
		wantTwins(t, call, step.Start{}, printed(strings.ToValidUTF8(string(text), "?")))
		if t.Failed() {
			return
		}
	}
}
