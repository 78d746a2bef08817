package plugintest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// A framing that no profile describes is learned from the guest.
func TestLearnedFraming(t *testing.T) {
	r := try(t, "length32", Options{Profile: &Profile{}, Only: []string{
		"request", "response", "revisions", "out-of-order", "joined", "server-request", "notification-in", "split-answer", "backpressure",
	}})
	if wantOK(t, r); !strings.Contains(r.Plugin.Wire, "learned") {
		t.Errorf("the wire is %q", r.Plugin.Wire)
	}
}

// One that cannot be learned is not called a failure, and no success either.
func TestUnknownFraming(t *testing.T) {
	r := try(t, "numbered", Options{Profile: &Profile{}, Only: []string{"request"}})
	if c := r.Check("request"); r.OK || c.Result != Skipped || !strings.Contains(c.Got, "describe it in a profile") {
		t.Errorf("%+v", c)
	}
	r = try(t, "copies", Options{Profile: &Profile{}, Only: []string{"request"}})
	if wantOK(t, r); r.Plugin.Wire != "ndjson" {
		t.Errorf("the wire is %q", r.Plugin.Wire)
	}
}

// What is longer than the wire carries is played as long as that.
func TestProfile(t *testing.T) {
	p, err := ReadProfile("testdata/numbered.json")
	if err != nil {
		t.Fatal(err)
	}
	r := try(t, "numbered", Options{Profile: p, Only: []string{"request", "response", "out-of-order", "joined", "split-answer", "notification-in", "large-in"}})
	wantOK(t, r)
	if c := r.Check("large-in"); !strings.HasPrefix(c.Got, "played with messages of up to 100000 bytes: the profile says") {
		t.Errorf("%+v", c)
	}
	p.Largest = 100
	r = try(t, "numbered", Options{Profile: p, Only: []string{"request", "opaque", "fuel"}})
	if c := r.Check("opaque"); r.OK || c.Result != Skipped || !strings.HasPrefix(c.Got, "it has messages of more than 100 bytes") {
		t.Errorf("%+v", c)
	}
	if c := r.Check("fuel"); c.Result != Skipped || !strings.HasPrefix(c.Got, "messages of more than 100 bytes are needed") {
		t.Errorf("%+v", c)
	}
}

// What a framing of the kit's own says, a peer of it hears, in whatever pieces.
func TestFramings(t *testing.T) {
	for _, name := range []string{"ndjson", "content-length"} {
		f := framingNamed(name)
		for _, m := range []string{"{}", request(1, 100), request(1, 70_000)} {
			p, err := f.say([]byte(m), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for cut := 0; cut < len(p); cut += 1 + len(p)/50 {
				if got, err := f.hear(nil, p[:cut]); got.size != 0 || err != nil {
					t.Errorf("%s: %d of %d bytes are a message of %d (%v)", name, cut, len(p), got.size, err)
				}
			}
			if got, err := f.hear(nil, append(bytes.Clone(p), "more"...)); string(got.message) != m || got.size != len(p) || err != nil {
				t.Errorf("%s: got %s, %d, %v", name, short(got.message), got.size, err)
			}
		}
	}
}

func TestWebSocket(t *testing.T) {
	f := framingNamed("websocket")
	for _, size := range []int{2, 125, 126, 65535, 65536} {
		m := bytes.Repeat([]byte("x"), size)
		p, err := f.say(m, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.hear(nil, p); err != errUnmasked {
			t.Errorf("%d bytes without a mask: %v", size, err)
		}
		masked := mask(p, size)
		for _, cut := range []int{0, 1, 3, len(masked) - 1} {
			if got, err := f.hear(nil, masked[:cut]); got.size != 0 || err != nil {
				t.Errorf("%d of %d bytes: %d, %v", cut, len(masked), got.size, err)
			}
		}
		if got, err := f.hear(nil, masked); !bytes.Equal(got.message, m) || got.size != len(masked) || err != nil {
			t.Errorf("%d bytes: got %s, %d, %v", size, short(got.message), got.size, err)
		}
	}
}

// The fragments of a message are one frame, with a ping between them; a ping alone is a
// frame without a message.
func TestWebSocketFragments(t *testing.T) {
	ping := []byte("\x89\x80\x01\x02\x03\x04")
	first, last := mask([]byte("\x01\x02ah"), 2), mask([]byte("\x80\x02oy"), 2)
	whole := slices.Concat(first, ping, last)
	for cut := range whole {
		if got, err := (webSocket{}).hear(nil, whole[:cut]); got.size != 0 || err != nil {
			t.Errorf("%d of %d bytes: %d, %v", cut, len(whole), got.size, err)
		}
	}
	if got, err := (webSocket{}).hear(nil, slices.Concat(whole, first)); string(got.message) != "ahoy" || got.size != len(whole) || err != nil {
		t.Errorf("got %s, %d, %v", short(got.message), got.size, err)
	}
	if got, err := (webSocket{}).hear(nil, slices.Concat(ping, whole)); got.message != nil || got.size != len(ping) || err != nil {
		t.Errorf("got %s, %d, %v", short(got.message), got.size, err)
	}
}

// mask makes the frame of a client of that of a server.
func mask(p []byte, size int) []byte {
	key := []byte{1, 2, 3, 4}
	head := bytes.Clone(p[:len(p)-size])
	head[1] |= 0x80
	out := append(head, key...)
	for i, c := range p[len(p)-size:] {
		out = append(out, c^key[i%4])
	}
	return out
}

func FuzzHear(f *testing.F) {
	for _, s := range []string{"{}\n", "Content-Length: 2\r\n\r\n{}", "Content-Length: -1\r\n\r\n", "\x81\x82\x01\x02\x03\x04\x7a\x7f", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, name := range []string{"ndjson", "content-length", "websocket"} {
			if got, err := framingNamed(name).hear(nil, p); got.size < 0 || got.size > len(p) || got.size > 0 && err != nil {
				t.Fatalf("%s: %d of %d bytes, %v", name, got.size, len(p), err)
			}
		}
	})
}

func FuzzScenario(f *testing.F) {
	for _, s := range Scenarios() {
		f.Add(string(must(files.ReadFile("scenarios/" + s.ID + ".txt"))))
	}
	f.Add("title: x\nrepeat 3\nsend $n {\"x\":\"$fill(100)\"}\nagain\n")
	f.Fuzz(func(_ *testing.T, text string) {
		if len(text) < 4<<10 && !strings.Contains(text, "00000") {
			_, _ = ParseScenario("x", text)
		}
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestParseScenario(t *testing.T) {
	s, err := ParseScenario("x", "# prose\ntitle: A title: with a colon\nlevel: fault\npoints: R1 P6\ncap: 7\n\nopen\nrepeat 2\nsend $n {\"id\":$n,\"x\":\"$fill(40)\"}\nagain\nshut\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "A title: with a colon" || s.Level != Fault || s.Cap != 7 || len(s.Steps) != 4 || s.largest != 40 {
		t.Errorf("%+v", s)
	}
	if got := strings.TrimPrefix(s.Steps[2].Text, "2 "); len(got) != 40 || !strings.HasPrefix(got, `{"id":2,"x":"0123`) {
		t.Errorf("filled to %d bytes: %s", len(got), got)
	}
	for text, want := range map[string]string{
		"open\n":                                      "expected a title",
		"title: x\n":                                  "expected a title and steps",
		"colour: x\n":                                 "unknown header",
		"title: x\nlevel: low\n":                      "unknown level",
		"title: x\npoints: R99\n":                     "unknown point",
		"title: x\ncuts: some\n":                      "unknown cuts",
		"title: x\ncap: x\n":                          "expected a number",
		"title: x\nfly\n":                             "unknown verb",
		"title: x\nrepeat x\nagain\n":                 "expected a number, steps and again",
		"title: x\nrepeat 2\nopen\n":                  "expected a number, steps and again",
		"title: x\nrepeat 99999\nopen\nopen\nagain\n": "expected a number, steps and again",
		"title: x\nsend 1 {$fill(x)}\n":               "cannot fill",
		"title: x\nsend 1 {$fill(1)}\n":               "cannot fill",
	} {
		if _, err := ParseScenario("x", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A reader of a report gets nothing that moves the cursor.
func TestTextIsSafe(t *testing.T) {
	r := newReport(nil)
	r.Plugin.Name = "\x1b[31mred\u202e\u200b"
	r.add(&Check{ID: "x", Level: Required, Trace: "--> event(\x07)\n" + strings.Repeat("line\n", 50)}, Failed, "a\nb\x00")
	r.conclude()
	text := r.Text(5)
	if strings.ContainsAny(text, "\x1b\x07\x00\u202e\u200b") || !strings.Contains(text, "46 lines before") || !strings.Contains(text, "it does not pass: x (1 of 1)") {
		t.Errorf("%q", text)
	}
	if n := strings.Count(r.Text(0), "line\n"); n != 50 {
		t.Errorf("%d lines of the whole trace", n)
	}
}

func TestStatusNames(t *testing.T) {
	if s, err := statusNamed("RESET"); err != nil || s != abi.Reset {
		t.Error(s, err)
	}
	if _, err := statusNamed("SAD"); err == nil {
		t.Error("SAD is a status")
	}
}
