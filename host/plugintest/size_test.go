package plugintest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// framedProfile is that of frames whose length has this form, and counts a type.
func framedProfile(t *testing.T, length, dots string) *Profile {
	t.Helper()
	p, err := parseProfile([]byte(`{
		"sealed": "s3cret", "replies": [{"to": "FRMD\u0001\u0000\u0006s3cret", "say": "OK\u0001"}],
		"framing": "pattern", "length": "` + length + `",
		"sent": "(?P<length>` + dots + `)(?P<counted>\u0000)", "said": "${length+1}\u0000${message}"
	}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sizable are the checks in which there are long messages.
var sizable = []string{"large-in", "large-out", "at-cap", "over-cap", "backpressure", "cancel-unsent"}

// A wire whose lengths have few bits is tested with what it carries, and passes.
func TestShortLengths(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	checks := append(slices.Clone(sizable), "request")
	if testenv.Long() {
		checks = nil
	}
	for _, c := range []struct {
		fault, length, dots, says string
		only                      []string // nil = all
	}{
		{"framed-16", "u16be", "..", "played with messages of up to 65534 bytes: a length of u16be says no more", append(slices.Clone(sizable), "request", "fuel", "fuel-size", "memory-size")},
		{"framed-8", "u8", ".", "played with messages of up to 254 bytes: a length of u8 says no more", checks},
	} {
		r := try(t, c.fault, Options{Profile: framedProfile(t, c.length, c.dots), Only: c.only})
		wantOK(t, r)
		for _, id := range sizable {
			if got := r.Check(id); got.Result != Passed || !strings.HasPrefix(got.Got, c.says) {
				t.Errorf("%s: %+v", c.fault, got)
			}
		}
		if got := r.Check("request"); got.Got != "" {
			t.Errorf("%s: %+v", c.fault, got)
		}
		if !strings.Contains(r.Text(0), c.says) {
			t.Errorf("%s: the report does not say %q", c.fault, c.says)
		}
	}
}

// A guest that has no room for what the wire carries fails, and so does one that does
// not keep what it must hold back.
func TestShortLengthsCanFail(t *testing.T) {
	r := try(t, "framed-16-short", Options{Profile: framedProfile(t, "u16be", ".."), Only: []string{"large-out"}})
	if c := r.Check("large-out"); r.OK || c.Result != Failed || !strings.Contains(c.Got, "a frame has no room for it") || !strings.Contains(c.Got, "(played with messages of up to 65534 bytes") {
		t.Errorf("%+v", c)
	}
}

func TestCarries(t *testing.T) {
	const any = math.MaxInt
	for text, want := range map[string]int{
		`"framing":"ndjson","largest":7`: 7,
		`"framing":"ndjson"`:             any,
		`"framing":"pattern","sent":"(?P<length>.)","said":"${message}"`:                                                                any,
		`"framing":"pattern","length":"u32be","sent":"(?P<length>....)","said":"${length}${message}"`:                                   any,
		`"framing":"pattern","length":"u16le","sent":"(?P<length>..)","said":"${length}${message}"`:                                     65535,
		`"framing":"pattern","length":"u16le","largest":99,"sent":"(?P<length>..)","said":"${length}${message}"`:                        99,
		`"framing":"pattern","length":"u16le","sent":"(?P<length>..)","said":"${length+300}${message}"`:                                 65235,
		`"framing":"pattern","length":"u16le","sent":"(?P<length>..)","said":"${length}${message}","noted":"${length+2+400}${message}"`: 65133,
		`"framing":"pattern","length":"u8","sent":"(?P<length>.)(?P<counted>\\w+)","said":"${length+4}${message}"`:                      251,
		`"framing":"pattern","length":"u8","sent":"(?P<length>.)(?P<who>..)","said":"${length+who}${message}"`:                          255,
		`"framing":"pattern","length":"varint","sent":"(?P<length>.)","said":"${length}${message}"`:                                     any,
	} {
		p, err := parseProfile([]byte("{" + text + "}"))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, why := p.carries(); got != want || (why == "") != (want == any) {
			t.Errorf("%s: %d, %s; want %d", text, got, why, want)
		}
	}
}

// All sizes of a scenario are brought down in one proportion.
func TestWithin(t *testing.T) {
	for _, s := range Scenarios() {
		for _, most := range []int{65535, 255, 240} {
			fit, ok := s.within(most)
			if !ok && (most > 240 || s.ID != "opaque") {
				t.Errorf("%s: it does not fit into %d bytes", s.ID, most)
			}
			if ok && (fit.largest > most || s.largest > most && fit.largest != most || s.largest <= most && fit != s) {
				t.Errorf("%s: %d bytes of %d", s.ID, fit.largest, most)
			}
		}
	}
	s, err := ParseScenario("x", "title: x\ncap: 100\nopen\nsays 1 {\"x\":\"$fill(200)\"}\nsays 1 {\"y\":\"$fill(100)\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	fit, _ := s.within(50)
	if fit.Cap != 25 || len(fit.Steps[1].Text) != len("1 ")+50 || len(fit.Steps[2].Text) != len("1 ")+25 {
		t.Errorf("%+v", fit)
	}
	if s.Cap != 100 || len(s.Steps[1].Text) != len("1 ")+200 {
		t.Errorf("the scenario itself has changed: %+v", s)
	}
	if fit, ok := s.within(-45); ok {
		t.Errorf("%+v: nothing fits into less than nothing", fit)
	}
	if fit, ok := s.within(15); ok {
		t.Errorf("%+v: the second message is longer than 7 bytes", fit)
	}
}
