package plugintest

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

func TestFormulas(t *testing.T) {
	known := map[string]string{"key": "Jefe", "data": "what do ya want for nothing?", "abc": "abc", "raw": "\x00\xff", "digits": "3q2+7w=="}
	for text, want := range map[string]string{
		"abc":                                "abc",
		"'a text, (of) some'":                "a text, (of) some",
		"'\u00ff'":                           "\xff",
		"hex(raw)":                           "00ff",
		"unhex('00ff')":                      "\x00\xff",
		"hex(unbase64(digits))":              "deadbeef",
		"base64(raw)":                        "AP8=",
		"hex(sha1(abc))":                     "a9993e364706816aba3e25717850c26c9cd0d89d",
		"hex(sha256('a', 'bc'))":             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"hex( hmac-sha1( key , data ) )":     "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
		"hex(hmac-sha256(key, data))":        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		"hex(hmac-sha256(key,data,'',data))": "672b5bfd96f10ceec440e21b3ad3ae62339ae9f474a20ba45bd239bc2eef63cb",
		"length-decimal(data)":               "28",
		"length-u16be(data, raw)":            "\x00\x1e",
		// RFC 6455, 1.3
		"base64(sha1('dGhlIHNhbXBsZSBub25jZQ==', '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'))": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
	} {
		if got, ok := valueOf(text, known); !ok || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"nobody", "hex(nobody)", "unhex(abc)", "unbase64('=')", "hmac-sha1(nobody, abc)", "length-u8(long)"} {
		known["long"] = strings.Repeat("x", 256)
		if got, ok := valueOf(text, known); ok {
			t.Errorf("%s is %q", text, got)
		}
	}
}

func TestFormulasThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "expected a name, a 'text' or a function",
		"'abc":               `expected a ' behind "'abc"`,
		"md5(a)":             "there is no function md5; expected one of base64, hex, hmac-sha1, hmac-sha256, length-decimal, ",
		"hex(":               "expected a name",
		"hex()":              `expected a name, a 'text' or a function at ")"`,
		"hex(a b)":           `expected , or ) at "b)"`,
		"hex(sha1(a)":        `expected , or ) behind "(sha1(a)"`,
		"hex(a,)":            "expected a name",
		"hex(a) b":           `expected nothing more at "b"`,
		"a b":                "expected nothing more",
		"hex(a))":            "expected nothing more",
		"hmac-sha256(a)":     "hmac-sha256: expected a key and what it signs",
		"length-u24be(a)":    "there is no function length-u24be",
		"hex(sha256(md4()))": "there is no function md4",
	} {
		if f, err := parseFormula(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, f, err, want)
		}
	}
}

func FuzzFormula(f *testing.F) {
	for _, s := range []string{"a", "'a'", "hex(a)", "hmac-sha256(a, 'b', hex(c))", "length-u8(a,a)", "unhex((", "'"} {
		f.Add(s)
	}
	known := map[string]string{"a": "\x00\xff", "b": "ab"}
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := parseFormula(text)
		if err != nil {
			return
		}
		value, ok := formula.value(known)
		if again, also := formula.value(known); again != value || also != ok {
			t.Fatalf("%q, then %q", value, again)
		}
	})
}

// The sign-in of README.md: a guest that proves itself passes, with a proof of this very nonce, session and
// secret. One that proves something else fails, and the report says what was awaited.
func TestChallenge(t *testing.T) {
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
		{"challenge-deaf", "", "", `replies[1].to is "PROOF `},
		{"challenge", "(secret, nonce", "('secret', nonce", `the server got what nobody sent: "PROOF `},
		{"challenge", "sha256(session, secret)", "sha256(secret, session)", "the loft does not know the secret"},
		{"challenge", "hex(nonce)", "base64(nonce)", `replies[1].to is "PROOF `},
		{"challenge", "HELLO (?P<session>[0-9a-f]+)", "HELLO [0-9a-f]+(?P<session>x)?", "replies[1].to needs something that is not known yet: ${hex(hmac-sha256(secret, nonce, session))}"},
	} {
		r := play(c.fault, c.was, c.is)
		if got := r.Check("request"); r.OK || got.Result != Failed || !strings.Contains(got.Got, c.says) {
			t.Errorf("%s: %s: %s, want %q", c.is, got.Result, got.Got, c.says)
		}
	}
	r := play("challenge-deaf", `"framing": "ndjson"`, `"framing": "learned"`)
	if got := r.Check("request"); r.OK || got.Result != Skipped || !strings.Contains(got.Got, `which no rule of the profile answers; replies[1].to is "PROOF `) {
		t.Errorf("learned: %+v", got)
	}
	wantOK(t, play("challenge", `"framing": "ndjson"`, `"framing": "learned"`))
}

// A nonce is another one for each scenario and stream, and the same when they are
// played again.
func TestNonces(t *testing.T) {
	p := &Profile{Nonces: map[string]int{"nonce": 16, "other": 16}}
	seen := map[string]bool{}
	for _, story := range []string{"request", "response"} {
		for stream := 1; stream <= 2; stream++ {
			for name, value := range p.nonces(story, stream) {
				if len(value) != 16 || seen[value] || p.nonces(story, stream)[name] != value {
					t.Errorf("%s, stream %d, %s: %x", story, stream, name, value)
				}
				seen[value] = true
			}
		}
	}
}

// The headers of a 101 can be made of those of the request.
func TestUpgradeHeaders(t *testing.T) {
	p, err := parseProfile([]byte(`{"upgrade": {"Sec-WebSocket-Accept": "${base64(sha1(header.sec-websocket-key, '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'))}", "B": "b"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := p.headers([]abi.Pair{{Key: "Sec-WebSocket-Key", Value: "dGhlIHNhbXBsZSBub25jZQ=="}}, map[string]string{})
	if len(got) != 2 || got[0] != (abi.Pair{Key: "B", Value: "b"}) || got[1].Value != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("%+v", got)
	}
}
