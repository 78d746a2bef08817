package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		`{"password":"hunter2","user":"me"}`:            `{"password":"*******","user":"me"}`,
		`{"password" : "a\"b\\","x":"token"}`:           `{"password" : "******","x":"token"}`,
		`{"token":-12.5e3,"n":1}`:                       `{"token":*******,"n":1}`,
		`{"token":null,"secret":true,"x":"y"}`:          `{"token":null,"secret":true,"x":"y"}`,
		`{"credentials":{"a":["b",2],"c":"}"},"d":"e"}`: `{"credentials":{"*":["*",*],"*":"*"},"d":"e"}`,
		`{"t":"{\"password\":\"abc\",\"x\":\"y\"}"}`:    `{"t":"{\"password\":\"***\",\"x\":\"y\"}"}`,
		`{"t":"{\"password\": \"a\\\"b\"}","x":"y"}`:    `{"t":"{\"password\": \"******\"}","x":"y"}`,
		`{"t":"{\"u\":\"{\\\"pwd\\\":\\\"abc\\\"}\"}"}`: `{"t":"{\"u\":\"{\\\"pwd\\\":\\\"***\\\"}\"}"}`,
		"{\"password\":\"cut\n{\"a\":\"b\"}":            "{\"password\":\"***\n{\"a\":\"b\"}",
		`{"progressToken":"abc","maxTokens":5}`:         `{"progressToken":"abc","maxTokens":5}`,
		"data: {\"api_key\":\n \"abc\"}\n\n":            "data: {\"api_key\":\n \"***\"}\n\n",
		`it is open-sesame indeed`:                      `it is *********** indeed`,
		`"an odd " quote {"password":"abc"}`:            `"an odd " quote {"password":"***"}`,
		"{\"password\":\"\u00e4\u00f6\"}":               `{"password":"****"}`,
	} {
		known := new(Set)
		known.Hide("open-sesame")
		for size := 1; size <= len(text); size++ {
			v := known.Masker()
			var got []byte
			for piece := []byte(text); len(piece) > 0; piece = piece[min(size, len(piece)):] {
				out, _ := v.Mask(piece[:min(size, len(piece))])
				got = append(got, out...)
			}
			// What a secret begins with may be shown where a piece has only that, and a
			// backslash of a quote may be lost where a piece ends behind it.
			if size > 7 && !strings.Contains(text, "sesame") && !bytes.Equal(loose(got), loose([]byte(want))) {
				t.Errorf("in pieces of %d: %s\nbecomes %s\nand not %s", size, text, got, want)
			}
			if len(got) != len(text) || size == len(text) && string(got) != want {
				t.Errorf("%s\nbecomes %s\nand not %s", text, got, want)
			}
		}
	}
}

// loose makes backslashes and marks the same.
func loose(p []byte) []byte { return bytes.ReplaceAll(p, []byte(`\`), []byte("*")) }

// A name is that of a secret however it is written, in pieces of any size.
func TestMaskEscapedNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"pass\u0077ord":"abc","\u0074oken":1}`:    `{"pass\u0077ord":"***","\u0074oken":*}`,
		`{"t":"{\"p\\u0061ssword\":\"abc\"}"}`:      `{"t":"{\"p\\u0061ssword\":\"***\"}"}`,
		`{"progress\u0054oken":"abc","\u006e":"x"}`: `{"progress\u0054oken":"abc","\u006e":"x"}`,
	} {
		for size := 1; size <= len(text); size++ {
			m := new(Set).Masker()
			var got []byte
			for piece := []byte(text); len(piece) > 0; piece = piece[min(size, len(piece)):] {
				out, _ := m.Mask(piece[:min(size, len(piece))])
				got = append(got, out...)
			}
			if !bytes.Equal(loose(got), loose([]byte(want))) {
				t.Errorf("in pieces of %d: %s\nbecomes %s\nand not %s", size, text, got, want)
			}
		}
	}
}

// A secret that is cut is hidden on both sides.
func TestMaskAcrossPieces(t *testing.T) {
	known := new(Set)
	known.Hide("canary-of-the-pieces")
	text := "before canary-of-the-pieces behind"
	for cut := range text {
		v := known.Masker()
		first, _ := v.Mask([]byte(text[:cut]))
		second, _ := v.Mask([]byte(text[cut:]))
		got := string(first) + string(second)
		if strings.Contains(got, "nary") || strings.Contains(got, "pieces") || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " behind") {
			t.Errorf("cut at %d: %s", cut, got)
		}
	}
}

// A secret of the configuration is overwritten in every encoding and in pieces of any
// size, and as many bytes are left.
func TestMaskKnowsEncodings(t *testing.T) {
	const text = "s3cr3t/of the entry?"
	known := new(Set)
	known.Hide(text)
	for _, form := range []string{
		text, `s3cr3t\/of the entry?`, `s3cr3t\u002fof\u0020the entry?`, url.PathEscape(text), url.QueryEscape(text),
		strings.ToLower(url.QueryEscape(text)), hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
		base64.StdEncoding.EncodeToString([]byte("user:" + text)), base64.RawURLEncoding.EncodeToString([]byte("x" + text)),
	} {
		whole := `{"a":"it is ` + form + `","b":1}` + "\n"
		for size := 1; size <= len(whole); size++ {
			v := known.Masker()
			var got []byte
			for rest := []byte(whole); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				out, _ := v.Mask(rest[:min(size, len(rest))])
				got = append(got, out...)
			}
			if len(got) != len(whole) || strings.Contains(string(got), form) || !strings.HasSuffix(string(got), "\",\"b\":1}\n") {
				t.Errorf("%s in pieces of %d becomes %s", form, size, got)
			}
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, s := range []string{`{"password":"x"}`, `{"t":"{\"token\":[1,{\"a\":2}]}"}`, "\"\\\\\"\n:\"", `"password":{"a":"\`} {
		f.Add([]byte(s), uint8(3))
	}
	known := new(Set)
	known.Hide("open-sesame")
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		v := known.Masker()
		for piece := text; len(piece) > 0; {
			n := min(int(size)+1, len(piece))
			out, masked := v.Mask(piece[:n])
			if len(out) != n || masked == bytes.Equal(out, piece[:n]) {
				t.Fatalf("%q becomes %q", piece[:n], out)
			}
			for i := range out {
				if piece[i] < ' ' && out[i] != piece[i] {
					t.Fatalf("%q becomes %q: a control character is gone", piece[:n], out)
				}
			}
			piece = piece[n:]
		}
		if out, _ := known.Mask(text); bytes.Contains(out, []byte("open-sesame")) {
			t.Fatalf("%q", out)
		}
	})
}
