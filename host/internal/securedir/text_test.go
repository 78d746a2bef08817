package securedir

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	type page struct {
		Words string `json:"words"`
	}
	text, err := Format(page{"<ü>"})
	if err != nil || string(text) != "{\n\t\"words\": \"<ü>\"\n}\n" {
		t.Fatalf("%q, %v", text, err)
	}
	var back page
	if err := Parse(text, &back); err != nil || back.Words != "<ü>" {
		t.Errorf("%+v, %v", back, err)
	}
	for text, want := range map[string]string{
		"":                          "EOF",
		"{":                         "EOF",
		"{\"words\":\"\xff\"}":      "UTF-8",
		`{"words":"x","more":1}`:    "unknown",
		`{"words":1}`:               "words",
		`{"words":"x"} {}`:          "follows",
		`{"words":"x"} x`:           "follows",
		strings.Repeat("[", 100000): "max depth",
	} {
		if err := Parse([]byte(text), &back); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
}
