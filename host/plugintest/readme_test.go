package plugintest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// README.md is what other hosts and authors go by: it names everything that a
// scenario can say, and its profile is one.
func TestReadme(t *testing.T) {
	text := string(read(t, "README.md"))
	for verb := range verbs {
		if !strings.Contains(text, "`"+verb+"`") && !strings.Contains(text, "`"+verb+" ") {
			t.Errorf("it does not name the verb %s", verb)
		}
	}
	for order := range authVerbs {
		if !strings.Contains(text, "`"+order+"`") && !strings.Contains(text, "`"+order+" ") {
			t.Errorf("it does not name the order %s", order)
		}
	}
	for _, id := range []string{"module", "describe", "fuel", "fuel-size", "host-calls", "memory-size", "memory-growth", "same-twice", "same-together", "same-interpreted", "same-unmetered", "handover"} {
		if !Known(id) || !strings.Contains(text, "`"+id+"`") {
			t.Errorf("it does not name the check %s", id)
		}
	}
	_, policies, _ := strings.Cut(text, "\n## Policies\n")
	policies, _, _ = strings.Cut(policies, "\n## ")
	for _, c := range policyChecks {
		if !Known(c.check.ID) || !strings.Contains(policies, "| `"+c.check.ID+"` |") {
			t.Errorf("it does not name the check %s of policies", c.check.ID)
		}
	}
	if p, err := parseProfile([]byte(blocks(policies, "json")[0])); err != nil {
		t.Errorf("the profile of a policy: %v", err)
	} else {
		wantOK(t, tryPolicy(t, read(t, "../../examples/policy-paths-c/paths.wasm"), Options{Profile: p, Only: []string{"cases"}}))
	}
	for form := range lengthForms {
		if !strings.Contains(text, "`"+form+"`") {
			t.Errorf("it does not name the form %s of lengths", form)
		}
	}
	blocks := blocks(text, "json")
	if p, err := parseProfile([]byte(blocks[len(blocks)-1])); err != nil || len(p.SignIn.Answers) != 1 {
		t.Errorf("the profile of a provider: %v", err)
	}
	p, err := parseProfile([]byte(blocks[0]))
	if err != nil {
		t.Fatal(err)
	}
	n, _, ok := p.answer([]byte("SUB _INBOX.x.* 1\r\nPING\r\n"), map[string]string{})
	if !ok || n != len("SUB _INBOX.x.* 1\r\n") {
		t.Errorf("the profile takes %d bytes, %v", n, ok)
	}
}

// The number of the kit is the last one that README.md tells of, and is in the report.
func TestVersion(t *testing.T) {
	_, table, _ := strings.Cut(string(read(t, "README.md")), "\n| kit | what it brought |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if want := fmt.Sprintf("| %d | ", Version); len(rows) != Version || !strings.HasPrefix(rows[len(rows)-1], want) {
		t.Errorf("the table ends with %q, want %s", rows[len(rows)-1], want)
	}
	r := newReport(nil)
	if text := r.Text(0); r.Kit != Version || !strings.Contains(text, fmt.Sprintf(", kit %d\n", Version)) {
		t.Errorf("kit %d in\n%s", r.Kit, text)
	}
}

// blocks are those of README.md that are written in this language.
func blocks(text, language string) (list []string) {
	for {
		_, rest, found := strings.Cut(text, "\n```"+language+"\n")
		if !found {
			return list
		}
		var block string
		block, text, _ = strings.Cut(rest, "```")
		list = append(list, block)
	}
}

// The protocol of frames that README.md describes is one that a guest speaks. It
// does not pass with a profile, or a scenario, that says another one.
func TestReadmeFrames(t *testing.T) {
	text := string(read(t, "README.md"))
	_, text, _ = strings.Cut(text, "### A protocol of frames")
	profile, story := blocks(text, "json")[0], blocks(text, "text")[0]
	ping, err := ParseScenario("ping", story)
	if err != nil {
		t.Fatal(err)
	}
	only := []string{"ping", "request", "response", "split", "joined", "server-request", "large-in", "large-out", "garbage-message"}
	play := func(fault, was, is string) *Report {
		p, err := parseProfile([]byte(strings.Replace(profile, was, is, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return try(t, fault, Options{Profile: p, Scenarios: []*Scenario{ping}, Only: only})
	}
	wantOK(t, play("framed-typed", "", ""))
	for _, c := range []struct{ fault, was, is, id, says string }{
		{"framed-typed", "u32be", "u32le", "request", "expected the server to have message 1"},
		{"framed-typed", "u32be", "u16be", "request", `a length of "\x00\x00\x00d", expected 2 bytes`},
		{"framed-typed", "u32be", "decimal", "request", "expected decimal digits (profile: sent, length)"},
		{"framed-typed", "length+1", "length", "response", "expected the host to get"},
		{"framed", "", "", "request", "the server got what was not sent"},
		{"framed-mute", "", "", "ping", "scenario ping, line 5, sees"},
		{"framed-typed", "0006s3cret", "0006secret", "request", `open: expected report(UP) once what the guest opened is there; nothing came; the server was sent "FRMD\x01\x00\x06s3cret", which no rule of the profile answers`},
	} {
		r := play(c.fault, c.was, c.is)
		if got := r.Check(c.id); r.OK || got.Result != Failed || !strings.Contains(got.Got, c.says) {
			t.Errorf("%s: %s: %s, want %q", c.is, got.Result, got.Got, c.says)
		}
	}
}

// Every point of the proposal has a check, and every scenario has a level that
// fits its points.
func TestPointsAreCovered(t *testing.T) {
	covered := map[string]bool{"R1": true} // by the module and its description
	for _, s := range Scenarios() {
		for _, p := range s.Points {
			covered[p] = true
			if s.Level == Required && p[0] == 'P' && len(s.Points) == 1 {
				t.Errorf("%s is required, and %s recommended", s.ID, p)
			}
		}
	}
	for _, p := range points {
		if !covered[p.ID] {
			t.Errorf("no check is about %s", p.ID)
		}
	}
}

// The publishing protocol that README.md describes is one that a guest speaks, with
// lengths of one to three groups. It does not pass if it reads one group alone.
func TestReadmeVarint(t *testing.T) {
	_, text, _ := strings.Cut(string(read(t, "README.md")), "### Lengths in groups of seven bits")
	p, err := parseProfile([]byte(blocks(text, "json")[0]))
	if err != nil {
		t.Fatal(err)
	}
	only := []string{"request", "response", "split", "joined", "server-request", "large-in", "large-out", "garbage-message"}
	wantOK(t, try(t, "publishes", Options{Profile: p, Only: only}))
	r := try(t, "publishes-short", Options{Profile: p, Only: only})
	if got := r.Check("large-in"); r.OK || got.Result != Failed {
		t.Errorf("%+v", got)
	}
}

// The sign-in of README.md: a guest that proves itself passes. One that proves something
// else fails, and the report says what it sent.
func TestReadmeChallenge(t *testing.T) {
	_, text, _ := strings.Cut(string(read(t, "README.md")), "### A sign-in with a challenge")
	text = blocks(text, "json")[0]
	only := []string{"request", "response", "split-answer", "joined", "same-twice"}
	play := func(fault, was, is string) *Report {
		p, err := parseProfile([]byte(strings.Replace(text, was, is, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return try(t, fault, Options{Profile: p, Only: only})
	}
	wantOK(t, play("challenge", "", ""))
	for _, c := range []struct{ fault, was, is, says string }{
		{"challenge-no-nonce", "", "", `the server got what was not sent: "PROOF `},
		{"challenge", `"s3cret"`, `"secret"`, `the server got what was not sent: "PROOF `},
		{"challenge", `"WELCOME\n"`, `"WELL\n"`, "the server does not know the secret"},
		{"challenge", "NONCE 00", "NONCE 01", `the server got what was not sent: "PROOF `},
	} {
		r := play(c.fault, c.was, c.is)
		if got := r.Check("request"); r.OK || got.Result != Failed || !strings.Contains(got.Got, c.says) {
			t.Errorf("%s: %s: %s, want %q", c.is, got.Result, got.Got, c.says)
		}
	}
	r := play("challenge-no-nonce", `"framing": "ndjson"`, `"framing": "learned"`)
	if got := r.Check("request"); r.OK || got.Result != Skipped || !strings.Contains(got.Got, "which no rule of the profile answers") {
		t.Errorf("learned: %+v", got)
	}
	wantOK(t, play("challenge", `"framing": "ndjson"`, `"framing": "learned"`))
}

// A name in a rule is a value that was found before, or a setting. The rule matches
// nothing before there is one.
func TestRulesWithNames(t *testing.T) {
	p, err := parseProfile([]byte(`{"settings":{"key":"a.b"},"replies":[{"to":"BYE ${who}\n","say":"${who}"},{"to":"HI (?P<who>\\w+) ${key}\n","say":"${who}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"key": "a.b"}
	for _, c := range []struct{ heard, answer string }{{"BYE x\n", "none"}, {"HI x axb\n", "none"}, {"HI x a.b\n", "x"}, {"BYE y\n", "none"}, {"BYE x\n", "x"}} {
		got := "none"
		if _, answer, ok := p.answer([]byte(c.heard), values); ok {
			got = string(answer)
		}
		if got != c.answer {
			t.Errorf("%q is answered %q, want %q", c.heard, got, c.answer)
		}
	}
}

// The 101 of a WebSocket names the protocol that the server takes, and nothing that a host
// would keep from the guest.
func TestUpgradeHeaders(t *testing.T) {
	got := upgradeHeaders([]abi.Pair{{Key: "upgrade", Value: "websocket"}, {Key: "Sec-WebSocket-Protocol", Value: "mcp, chat"}})
	if len(got) != 1 || got[0] != (abi.Pair{Key: "sec-websocket-protocol", Value: "mcp"}) {
		t.Errorf("%+v", got)
	}
}
