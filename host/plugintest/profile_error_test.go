package plugintest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong with a profile is told with its line, its field, and what is expected.
func TestProfileErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                 "line 1: unexpected EOF",
		"{\n\"sent\" \"x\"}":                "line 2: invalid character",
		"{}\n{}":                            "line 2: expected nothing after the profile",
		"{\n\n\"colour\":1}":                "line 3, colour: unknown field; expected one of settings, framing, greeting,",
		`{"replies":[{"to":"x","tell":1}]}`: "line 1, replies[0].tell: unknown field; expected one of to, say",
		`{"settings":{"to":"x"},"to":1}`:    "line 1, to: unknown field",
		"{\n\"settings\":{\n\"port\":7}}":   "line 3, settings: expected a text, got number",
		`{"replies":{}}`:                    "line 1, replies: expected a list, got object",
		`{"largest":"x"}`:                   "line 1, largest: expected a whole number, got string",
		`{"framing":"morse"}`:               `line 1, framing: "morse", expected ndjson`,
		`{"framing":"pattern"}`:             `sent: expected a group called length, as in (?P<length>\\d+)`,
		`{"framing":"pattern","sent":"("}`:  "sent:",
		`{"framing":"pattern","sent":"(?P<length>.)${x}"}`:                                  "sent: expected no ${…}",
		`{"framing":"pattern","sent":"(?P<length>.)","said":"x"}`:                           "said: expected ${message}",
		"{\"replies\":[\n{\"to\":\"x\"},\n{\"to\":\"(\"}]}":                                 "line 3, replies[1].to: error parsing regexp",
		`{"replies":[{"to":"(?P<key>.)","say":"${kye}"}]}`:                                  "replies[0].say: there is no ${kye}; expected one of key",
		`{"replies":[{"to":"x","say":"${length}"}]}`:                                        "there is no ${length}",
		`{"settings":{"id":"x"},"replies":[{"to":"(?P<id>.)"}]}`:                            "replies[0].to: the group id has the name of a setting",
		`{"greeting":"${id}"}`:                                                              "greeting: there is no ${id}",
		`{"taken":"${id}"}`:                                                                 "taken: there is no ${id}",
		`{"largest":-1}`:                                                                    "line 1, largest: -1, expected a number of bytes",
		`{"saidOn":-1}`:                                                                     "saidOn: -1",
		`{"framing":"pattern","length":"u24be","sent":"(?P<length>.)","said":"${message}"}`: `length: "u24be", expected one of decimal`,
		`{"framing":"pattern","sent":"(?P<length>.)","said":"${message}${len}"}`:            "said: there is no ${len}; expected one of message, length",
		`{"framing":"pattern","sent":"(?P<length>.)","said":"${message}${length+x}"}`:       "said: there is no ${length+x}",
		`{"replies":[{"to":"${kye}"}]}`:                                                     "replies[0].to: there is no ${kye}; expected none, as nothing is known here",
		`{"replies":[{"to":"${kye","say":"x"}]}`:                                            "replies[0].to: expected a } after each ${",
		`{"framing":"pattern","sent":"(?P<length>.)","said":"${message}${number+1}"}`:       "there is no ${number+1}",
		`{"framing":"pattern","sent":"(?P<length>.)","said":"${message}","noted":"${1}"}`:   "noted: there is no ${1}",
		`{"signIn":{"settings":7}}`:                                                         "signIn.settings: expected an object",
		`{"signIn":{"answers":[{"to":".","body":"${kye}"}]}}`:                               "signIn.answers[0].body: there is no ${kye}",
		`{"signIn":{"run":{"stdout":"${kye}"}}}`:                                            "signIn.run.stdout: there is no ${kye}",
	} {
		if _, err := parseProfile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An error names the file as well.
func TestReadProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pigeon.json")
	if err := os.WriteFile(file, []byte("{\n\"colour\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadProfile(file); err == nil || !strings.Contains(err.Error(), "pigeon.json: line 2, colour: unknown field") {
		t.Error(err)
	}
	if _, err := ReadProfile(file + "x"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// Whatever a profile is, it is read or refused in words that name a line.
func FuzzProfile(f *testing.F) {
	for _, file := range []string{"numbered", "queue", "brokenauth"} {
		text, err := os.ReadFile("testdata/" + file + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"upgrade":{"a":"x"},"settings":{"a":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseProfile([]byte(text))
		if err != nil && (p != nil || err.Error() == "") {
			t.Fatalf("%+v, %v", p, err)
		}
		if err == nil {
			p.answer([]byte("HELLO x\n"), map[string]string{})
		}
	})
}
