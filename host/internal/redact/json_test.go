package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

const (
	canary = "canary-7f3a9c51e2"
	rude   = "quote\"slash\\line\nend" // one that JSON writes otherwise
)

func canaries() *Set {
	v := new(Set)
	v.Hide(canary, rude, "Bearer tk-0123456789", "short")
	return v
}

func TestSecretsInMessages(t *testing.T) {
	v := canaries()
	for in, want := range map[string]string{
		// by their values, however they are written
		`{"text":"it is ` + canary + `, ` + canary + `"}`:                         `{"text":"it is [secret], [secret]"}`,
		`{"text":"\u0063anary-7f3a9c51e2"}`:                                       `{"text":"[secret]"}`,
		`{"text":"quote\"slash\\line\nend"}`:                                      `{"text":"[secret]"}`,
		`{"text":"header Bearer tk-0123456789, bare tk-0123456789"}`:              `{"text":"header [secret], bare [secret]"}`,
		`{"` + canary + `":1}`:                                                    `{"[secret]":"[secret]"}`,
		`{"text":"a short one stays"}`:                                            `{"text":"a short one stays"}`,
		`{"text":"{\"deep\":\"{\\\"t\\\":\\\"\\\\u0063anary-7f3a9c51e2\\\"}\"}"}`: `{"text":"{\"deep\":\"{\\\"t\\\":\\\"[secret]\\\"}\"}"}`,
		`plain ` + canary + ` banner`:                                             `plain [secret] banner`,
		`[1,"` + canary + `"`:                                                     `[1,"[secret]"`,

		// by the names of their members
		`{"a":{"password":"x","n":1},"b":2}`:                            `{"a":{"password":"[secret]","n":1},"b":2}`,
		`{"api_key" : "x" , "n" : 1 }`:                                  `{"api_key" : "[secret]" , "n" : 1 }`,
		`{"token":12345,"n":1}`:                                         `{"token":"[secret]","n":1}`,
		`{"credentials":{"user":"u","list":["}",{"x":1}]},"n":[1]}`:     `{"credentials":"[secret]","n":[1]}`,
		`{"secrets":["a","b\"]"],"n":1}`:                                `{"secrets":"[secret]","n":1}`,
		`{"\u0074oken":"x"}`:                                            `{"\u0074oken":"[secret]"}`,
		`{"token":null,"secret":true,"cookie":false}`:                   `{"token":null,"secret":true,"cookie":false}`,
		`{"progressToken":"p","maxTokens":5,"usage":{"inputTokens":7}}`: `{"progressToken":"p","maxTokens":5,"usage":{"inputTokens":7}}`,
		`{"text":"{\"access_token\": \"x\", \"n\": 1}"}`:                `{"text":"{\"access_token\": \"[secret]\", \"n\": 1}"}`,
		`{"text":"no token: here"}`:                                     `{"text":"no token: here"}`,
		`{"required":["token"],"name":"token"}`:                         `{"required":["token"],"name":"token"}`,
		`{"token":tok_without_quotes}`:                                  `{"token":"[secret]"}`,
		`{"token":"not closed`:                                          `{"token":"[secret]"`,
		`{"token":{"a":[`:                                               `{"token":"[secret]"`,
		`{"token":`:                                                     `{"token":`,
		`{"token"`:                                                      `{"token"`,

		// a schema tells what a secret looks like, and its default would be one
		`{"properties":{"token":{"type":"string"},"n":{}}}`:                     `{"properties":{"token":{"type":"string"},"n":{}}}`,
		`{"properties":{"token":"x"}}`:                                          `{"properties":{"token":"[secret]"}}`,
		`{"properties":{"properties":{"token":{"a":1}}}}`:                       `{"properties":{"properties":{"token":"[secret]"}}}`,
		`{"properties":{"o":{"properties":{"token":{"a":1}},"token":{"b":1}}}}`: `{"properties":{"o":{"properties":{"token":{"a":1}},"token":"[secret]"}}}`,
		`{"properties":1,"x":{"token":{"a":1}}}`:                                `{"properties":1,"x":{"token":"[secret]"}}`,
	} {
		if got := string(v.JSON([]byte(in), false)); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// Where a message is cut, so may be a secret in it.
func TestSecretsThatAreCut(t *testing.T) {
	v := canaries()
	for _, whole := range []string{canary, `quote\"slash\\line\nend`, `\u0063\u0061nary-7f3a9c51e2`} {
		for n := 1; n <= len(whole); n++ {
			for _, before := range []string{`{"text":"it is `, `{"text":"{\"deep\":\"`, `plain `} {
				if before == `plain ` && whole[0] == '\\' {
					continue // escapes that mean something in a string only
				}
				got := string(v.JSON([]byte(before+whole[:n]), true))
				for _, beginning := range []string{"cana", "quot", `\u0063\u0061`} {
					if strings.Contains(got, beginning) {
						t.Errorf("%s: got %s", before+whole[:n], got)
					}
				}
			}
		}
	}
}

// Where secrets overlap, nothing of either is left.
func TestSecretsThatOverlap(t *testing.T) {
	v := new(Set)
	v.Hide("abcdefgh", "efghijkl", "aaaaaaaa")
	for in, want := range map[string]string{
		"-abcdefghijkl-": "-[secret]-", "abcdefghefghijkl": "[secret][secret]", "aaaaaaaaaaa": "[secret]", "abcdefg": "abcdefg", "": "",
	} {
		if got := string(v.Redact([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestFormsOfSecrets(t *testing.T) {
	v := new(Set)
	v.Hide("  pass word/with?signs \n", "Basic dXNlcjpwYXNz")
	for _, in := range []string{"pass word/with?signs", "pass+word%2Fwith%3Fsigns", "dXNlcjpwYXNz", "Basic dXNlcjpwYXNz"} {
		if got := string(v.Redact([]byte(in))); got != secret.Mark {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

// texts calls visit for every string of a JSON value.
func texts(value any, visit func(string)) {
	switch value := value.(type) {
	case string:
		visit(value)
	case []any:
		for _, v := range value {
			texts(v, visit)
		}
	case map[string]any:
		for k, v := range value {
			visit(k)
			texts(v, visit)
		}
	}
}

// FuzzJSON holds that no secret passes, in whatever it lies and wherever it is
// cut, that JSON stays JSON, and that what has no secrets stays as it is.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"text":"` + canary + `","token":[1,{"a":"}"}]}}`, `{"a":"\u0063anary-7f3a9c51e2","b":"{\"token\":1}"}`,
		`[{"properties":{"token":{}}},"quote\"slash\\line\nend"]`, "x" + canary + "\x00\"\\", `{"token":"\`, `"\ud83d\ude00`, `{"":{"":"","":[[[[`,
		`["{\"\\"]`, `["{\"\\u00"]`, `["{\"token\":\"\\u"]`,
	} {
		f.Add([]byte(seed), len(seed))
		f.Add([]byte(seed), len(seed)/2)
	}
	v := canaries()
	f.Fuzz(func(t *testing.T, msg []byte, at int) {
		at = max(0, min(at, len(msg)))
		cut := at < len(msg)
		in := msg[:at]
		before := bytes.Clone(in)
		out := v.JSON(in, cut)
		if !bytes.Equal(in, before) {
			t.Error("the message was changed in place")
		}
		if bytes.Contains(out, []byte(canary)) || bytes.Contains(out, []byte("tk-0123456789")) {
			t.Fatalf("%q shows a secret: %q", in, out)
		}
		var was, is any
		if strictjson.Valid(in, 0) != nil || json.Unmarshal(in, &was) != nil || bytes.Contains(in, []byte("[secret]")) {
			return
		}
		if bytes.Contains(v.Redact(in), []byte("[secret]")) {
			return // what is hidden as text need not be JSON any more
		}
		if !cut && (strictjson.Valid(out, 0) != nil || json.Unmarshal(out, &is) != nil) {
			t.Fatalf("%q is no JSON any more: %q", in, out)
		}
		clean := true
		texts(was, func(s string) { clean = clean && !strings.Contains(s, canary) && !strings.Contains(s, rude) })
		texts(is, func(s string) {
			if strings.Contains(s, canary) || strings.Contains(s, rude) {
				t.Fatalf("%q shows a secret: %q", in, out)
			}
		})
		if clean && !cut && !bytes.Contains(out, []byte("[secret]")) && !bytes.Equal(in, out) {
			t.Fatalf("%q was changed for nothing: %q", in, out)
		}
	})
}
