package schema

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

func TestBare(t *testing.T) {
	tests := []struct{ text, want string }{
		{echo, echo},
		{`true`, `true`},
		{`[]`, `[]`},
		{`"description"`, `"description"`},
		{`{"title":"t","type":"object"}`, `{"type":"object"}`},
		{`{"type":"object","description":"d"}`, `{"type":"object"}`},
		{`{ "$comment" : "c" }`, `{}`},
		{`{"description":"","title":5,"$comment":{}}`, `{"title":5,"$comment":{}}`},
		{`{"d\u0065scription":"d","a\"b":1}`, `{"a\"b":1}`},
		{`{"properties":{"title":{"title":"t","type":"string"},"description":{"description":"d"}}}`,
			`{"properties":{"title":{"type":"string"},"description":{}}}`},
		{`{"properties":{"title":"t"}}`, `{"properties":{"title":"t"}}`},
		{`{"allOf":[{"title":"t"},{"not":{"title":"t","minimum":1}},true]}`, `{"allOf":[{},{"not":{"minimum":1}},true]}`},
		{`{"items":{"title":"t"},"$defs":{"a":{"items":[{"title":"t"}]}}}`, `{"items":{},"$defs":{"a":{"items":[{}]}}}`},
		{`{"const":{"title":"t"},"enum":[{"title":"t"}],"default":{"title":"t"}}`,
			`{"const":{"title":"t"},"enum":[{"title":"t"}],"default":{"title":"t"}}`},
		{`{"x-of-ours":{"title":"t"}}`, `{"x-of-ours":{"title":"t"}}`},
	}
	for _, test := range tests {
		if got := StripAnnotations([]byte(test.text)); got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
}

// FuzzBare holds that nothing is lost that a check would find.
func FuzzBare(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Add([]byte(`{"properties":{"title":{"title":"t","const":{"title":"t"}}},"description":"d"}`), []byte(`{"title":{"title":"t"}}`))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		if strictjson.Valid(text, maxSchemaDepth) != nil || strictjson.Valid(value, maxValueDepth) != nil {
			return
		}
		left := StripAnnotations(text)
		if err := strictjson.Valid([]byte(left), maxSchemaDepth); err != nil {
			t.Fatalf("%q: %v", left, err)
		}
		whole, err := Compile(text)
		part, errOfPart := Compile([]byte(left))
		if (err == nil) != (errOfPart == nil) {
			t.Fatalf("%q: %v, of the whole: %v", left, errOfPart, err)
		}
		if err != nil {
			return
		}
		if got, want := said(part.Check(value)), said(whole.Check(value)); got != want {
			t.Fatalf("%q: %s, of the whole: %s", left, got, want)
		}
	})
}
