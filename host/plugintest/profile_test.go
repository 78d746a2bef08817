package plugintest

import (
	"strings"
	"testing"
)

// hello is what a guest has to hear before its framing can be learned.
const hello = `{"sealed": "s3cret", "framing": "learned", "replies": [{"to": "FRMD\u0001\u0000\u0006s3cret", "say": "OK\u0001"}]}`

// What a profile says of a handshake holds while the framing is learned, with what
// signs in.
func TestLearnedBehindAHandshake(t *testing.T) {
	only := []string{"request", "response", "split", "joined", "server-request", "garbage-message"}
	p, err := parseProfile([]byte(hello))
	if err != nil {
		t.Fatal(err)
	}
	r := try(t, "framed", Options{Profile: p, Only: only})
	if wantOK(t, r); !strings.Contains(r.Plugin.Wire, "learned") {
		t.Errorf("the wire is %q", r.Plugin.Wire)
	}
	if c := r.Check("garbage-message"); c.Result != NotApplicable || !strings.Contains(c.Got, "is learned from the guest") {
		t.Errorf("%+v", c)
	}
	for _, c := range []struct{ was, is, says string }{
		{"0006s3cret", "0006secret", `the server was sent "FRMD\x01\x00\x06s3cret", which no rule of the profile answers`},
		{`"sealed": "s3cret", `, "", `the server was sent "FRMD\x01\x00\x00", which no rule of the profile answers`},
		{`OK`, "O", "all that the server was sent has an answer"},
	} {
		p, err := parseProfile([]byte(strings.Replace(hello, c.was, c.is, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r := try(t, "framed", Options{Profile: p, Only: []string{"request"}})
		if got := r.Check("request"); got.Result != Skipped || !strings.Contains(got.Got, c.says) || strings.Contains(got.Got, "describe it") {
			t.Errorf("%s: %s, want %q", got.Result, got.Got, c.says)
		}
	}
}

// What a step expects to see is no message on any wire: also where lines are, and where
// the framing is learned. Only there: elsewhere it is a message that was not sent.
func TestSees(t *testing.T) {
	scenario := func(steps string) *Scenario {
		s, err := ParseScenario("ping", "title: A ping is answered\nopen\n"+steps+"shut\n")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	framed, err := parseProfile([]byte(hello))
	if err != nil {
		t.Fatal(err)
	}
	const framedPing = `bytes "\x00\x00\x00\x02\x01ab"` + "\n"
	lines := &Profile{Framing: "ndjson"}
	replied, err := parseProfile([]byte(`{"framing":"ndjson","replies":[{"to":"PONG\n"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fault, steps, says string
		profile            *Profile
	}{
		{"pongs", "bytes \"PING\\n\"\nsees \"PONG\\n\"\n", "", lines},
		{"pongs", "bytes \"PING\\nPING\\n\"\nsees PONG\nsees \"\\n\"\nsees \"PONG\\n\"\n", "", lines},
		{"pongs", "bytes \"PING\\n\"\n", `the server got what was not sent: "PONG"`, lines},
		{"pongs", "bytes \"PING\\n\"\nsees PING\n", `the server got what was not sent: "PONG"`, lines},
		{"pongs", "sees PONG\n", `expected the server to be sent "PONG"; there is nothing`, lines},
		{"pongs", "sees \"PONG\n", "expected a quote that ends with the line", lines},
		{"pongs", "bytes\n", "expected a text, in quotes or as it stands", lines},
		{"framed", framedPing + `sees "\x00\x00\x00\x02\x02ab"` + "\n", "", framed},
		{"framed", framedPing, "the guest wrote what it does not write for any message", framed},
		{"pongs", "bytes \"PING\\n\"\nsees \"PONG\\n\"\n", "there is nothing", replied}, // a rule has taken it
		{"pongs", "bytes \"PING\\n\"\n", "", replied},
		{"framed-mute", framedPing + `sees "\x00\x00\x00\x02\x02ab"` + "\n", "there is nothing", framed},
	} {
		r := try(t, c.fault, Options{Profile: c.profile, Scenarios: []*Scenario{scenario(c.steps)}, Only: []string{"ping"}})
		if got := r.Check("ping"); r.OK != (c.says == "") || !strings.Contains(got.Got, c.says) {
			t.Errorf("%s, %q: %s, want %q", c.fault, c.steps, got.Got, c.says)
		}
	}
}

// A guest that waits until the server has what it sent is told so, also while the kit
// learns.
func TestLearnedWithAWindow(t *testing.T) {
	text := strings.Replace(hello, "{", `{"taken": "\u0000\u0000\u0000\u0000\u0003",`, 1)
	only := []string{"request", "response", "joined", "revisions", "server-request"}
	for _, text := range []string{text, hello} {
		p, err := parseProfile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := try(t, "framed-window", Options{Profile: p, Only: only})
		if text != hello {
			wantOK(t, r)
		} else if c := r.Check("response"); c.Result != Skipped {
			t.Errorf("without: %+v", c)
		}
	}
}

// A guest with two streams that is done with a message when the server has it: all
// that its lengths count, where the server speaks and what it acknowledges is told.
func TestQueue(t *testing.T) {
	text := string(read(t, "testdata/queue.json"))
	only := []string{"request", "notification-out", "server-leaves", "server-crashes", "idle-leaves", "joined-split", "backpressure", "large-out"}
	play := func(fault, was, is string, only ...string) *Report {
		p, err := parseProfile([]byte(strings.Replace(text, was, is, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return try(t, fault, Options{Profile: p, Only: only})
	}
	wantOK(t, play("queue", "", "", only...))
	for _, c := range []struct{ fault, was, is, id, says string }{
		{"queue-forgets", "", "", "notification-out", "at its end: MESSAGE returned LATER for exchange 1, and neither DONE nor FAILED followed"},
		{"queue-hasty", "", "", "joined-split", "LATE; there is report(DONE) for request 1, which ends it without an answer"},
		{"queue", "+${who}\\r\\n", "", "notification-out", "neither DONE nor FAILED followed"},
		{"queue", `"saidOn": 1`, `"saidOn": 2`, "joined-split", "expected the host to get"},
		{"queue", `"saidOn": 1`, `"saidOn": 3`, "joined-split", "the server speaks on stream 3 (profile: saidOn), and the guest has opened 2"},
		{"queue", "<counted>", "<besides>", "request", "expected the server to have message 1"},
		{"queue", "PUSH (?P<length>\\\\d+)", "PUSH (?P<length>\\\\d)\\\\d*", "request", "expected that it counts the 3 bytes of"},
		{"queue", `"sentEnd": "\r\n"`, `"sentEnd": "\n\n"`, "request", `stands "\r\n", expected "\n\n" (profile: sentEnd)`},
	} {
		r := play(c.fault, c.was, c.is, "request", c.id)
		if got := r.Check(c.id); r.OK || got.Result != Failed || !strings.Contains(got.Got, c.says) {
			t.Errorf("%s: %s: %s, want %q", c.is, got.Result, got.Got, c.says)
		}
	}
}

func TestLengthForms(t *testing.T) {
	for _, c := range []struct {
		form string
		n    int
		is   string
	}{
		{"decimal", 300, "300"}, {"hex", 300, "12c"}, {"u8", 200, "\xc8"},
		{"u16be", 300, "\x01\x2c"}, {"u16le", 300, "\x2c\x01"},
		{"u32be", 0x1020304, "\x01\x02\x03\x04"}, {"u32le", 0x1020304, "\x04\x03\x02\x01"},
		{"varint", 127, "\x7f"}, {"varint", 300, "\xac\x02"}, {"varint", 1 << 28, "\x80\x80\x80\x80\x01"},
		{"u64be", 300, "\x00\x00\x00\x00\x00\x00\x01\x2c"}, {"u64le", 300, "\x2c\x01\x00\x00\x00\x00\x00\x00"},
	} {
		if got, err := lengthForms[c.form].write(c.n); err != nil || string(got) != c.is {
			t.Errorf("%s: %d is said %q, %v", c.form, c.n, got, err)
		}
		if n, err := lengthForms[c.form].read([]byte(c.is)); err != nil || n != c.n {
			t.Errorf("%s: %q is %d, %v", c.form, c.is, n, err)
		}
	}
	for name, p := range map[string]string{
		"decimal": "-1", "hex": "0x1", "u8": "", "u16be": "abc", "u32le": "abc", "u64be": "\xff\xff\xff\xff\xff\xff\xff\xff", "varint": "\x80", " decimal": "99999999999999999999",
	} {
		form := lengthForms[strings.TrimSpace(name)]
		if n, err := form.read([]byte(p)); err == nil || !strings.Contains(err.Error(), form.wanted) {
			t.Errorf("%s: %q is %d, %v", name, p, n, err)
		}
	}
	if (&Profile{}).lengthForm() != lengthForms["decimal"] {
		t.Error("a profile without a form does not mean decimal")
	}
	if p, err := lengthForms["u16be"].write(65536); err == nil || !strings.Contains(err.Error(), "65536 does not fit into u16be") {
		t.Errorf("%q, %v", p, err)
	}
}

// Bytes are matched one by one, also where two of them would be a character.
func TestMatchIsOfBytes(t *testing.T) {
	p, err := parseProfile([]byte(`{"framing":"pattern","length":"u32be","sent":"(?P<length>....)\u00e9","said":"${message}"}`))
	if err != nil {
		t.Fatal(err)
	}
	f := pattern{p}
	size := 0xc3a9
	message := strings.Repeat("x", size)
	if got, err := f.hear(nil, []byte("\x00\x00\xc3\xa9\xe9"+message)); string(got.message) != message || got.size != size+5 || err != nil {
		t.Errorf("%d bytes, %d, %v", len(got.message), got.size, err)
	}
	if got, err := f.hear(nil, []byte("\x00\x00\x00\n\xe9xxxxxxxxxx")); string(got.message) != "xxxxxxxxxx" || got.size != 15 || err != nil {
		t.Errorf("a line feed in a length: %q, %d, %v", got.message, got.size, err)
	}
}

// What a profile describes never reads past what there is, whatever comes.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"\x00\x00\x00\x03\x00{}", "\xff\xff\xff\xff\x00", "\x00\x00\x00\x00\x00", "12\n{}\r\n", "\n"} {
		f.Add([]byte(s))
	}
	var framings []framing
	for _, text := range []string{
		`{"framing":"pattern","length":"u32be","sent":"(?P<length>....)(?P<counted>\u0000)","said":"${message}"}`,
		`{"framing":"pattern","length":"u64le","sent":"(?P<counted>(?P<length>........))","said":"${message}"}`,
		`{"framing":"pattern","sent":"(?P<length>.*)\n","sentEnd":"\r\n","said":"${message}"}`,
		`{"framing":"pattern","length":"varint","sent":"0(?P<length>[\u0080-\u00ff]*[\u0000-\u007f])(?P<counted>..)","said":"${message}"}`,
	} {
		p, err := parseProfile([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		framings = append(framings, pattern{p})
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, f := range framings {
			if got, err := f.hear(nil, p); got.size < 0 || got.size > len(p) || len(got.message) > got.size || got.size > 0 && err != nil {
				t.Fatalf("%d of %d bytes, %v", got.size, len(p), err)
			}
		}
	})
}
