package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func compiled(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile([]byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

// said returns an error as text, "" for none.
func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

const (
	echo  = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`
	exact = `{"type":"object","properties":{"message":{"type":"string"},"times":{"type":"integer"}},"required":["message"],"additionalProperties":false}`
	draft = `{"$schema":"http://json-schema.org/draft-07/schema#",`
	union = `{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"a"},"text":{"type":"string"}},"required":["kind","text"]},
		{"type":"object","properties":{"kind":{"const":"b"},"n":{"type":"integer"}},"required":["kind","n"]}]}`
)

func TestCheck(t *testing.T) {
	tests := []struct{ schema, value, want string }{
		{echo, `{"message":"x","other":1}`, ``},
		{echo, `{"message":5}`, `/message: want a string, got a number`},
		{echo, `{}`, `/message: is missing`},
		{echo, `{"mesage":"x"}`, `/message: is missing (is it "mesage"?)`},
		{echo, `5`, `want an object, got a number`},
		{exact, `{"mesage":"x"}`, `/mesage: is not a known property (did you mean "message"?)`},
		{exact, `{"message":"x","quite":"x"}`, `/quite: is not a known property`},
		{exact, `{"message":true,"times":[1],"a/b~c":null}`, `/a~1b~0c: is not a known property; /message: want a string, got a boolean; /times: want an integer, got an array of 1 item`},
		{exact, `{"message":"x","times":1.0}`, ``},
		{exact, `{"message":"x","times":1e2}`, ``},
		{exact, `{"message":"x","times":1.5}`, `/times: want an integer, got a number`},

		{`{"items":{"enum":["a",1,null,true,[2]]}}`, `["a",1.0,null,true,[2],"secret"]`, `/5: want "a", 1, null, true or a certain array, got another string of 6 characters`},
		{`{"const":{"a":1}}`, `{"a":2}`, `want a certain object, got an object of 1 property`},
		{`{"minimum":2,"maximum":3}`, `1`, `want at least 2`},
		{`{"exclusiveMinimum":2}`, `2`, `want more than 2`},
		{`{"exclusiveMaximum":2.5}`, `2.5`, `want less than 2.5`},
		{`{"maximum":2}`, `3`, `want at most 2`},
		{`{"multipleOf":0.1}`, `0.25`, `want a multiple of 0.1`},
		{`{"multipleOf":0.1}`, `0.3`, ``},
		{`{"minLength":2}`, `"ä"`, `want at least 2 characters, got a string of 1 character`},
		{`{"maxLength":1}`, `"ää"`, `want at most 1 character, got a string of 2 characters`},
		{`{"pattern":"^a\u001b+$"}`, `"b"`, `want a string that matches "^a\x1b+$", got a string of 1 character`},
		{`{"minItems":2}`, `[1]`, `want at least 2 items, got an array of 1 item`},
		{`{"maxItems":0}`, `[1]`, `want at most 0 items, got an array of 1 item`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `want items that differ; items 0 and 2 do not`},
		{`{"contains":{"type":"string"}}`, `[1,2]`, `want another number of items of a certain kind`},
		{`{"minProperties":1}`, `{}`, `want at least 1 property, got an object of 0 properties`},
		{`{"maxProperties":0}`, `{"a":1}`, `want at most 0 properties, got an object of 1 property`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `/a: is not a known property`},
		{`{"prefixItems":[true],"items":false}`, `[1,2]`, `/1: want fewer items`},
		{`false`, `1`, `want nothing: no value fits`},
		{`true`, `1`, ``},
		{`{"not":{"type":"string"}}`, `"x"`, `want a value that the schema does not rule out`},
		{`{"propertyNames":{"maxLength":2}}`, `{"long":1}`, `/long: is not a known property`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: is missing`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, `/b: is missing`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, `/b: is missing`},
		{`{"patternProperties":{"^x-":{"type":"string"}}}`, `{"x-a":1,"y":1}`, `/x-a: want a string, got a number`},
		{`{"properties":{"a":true},"unevaluatedProperties":false}`, `{"a":1,"b":1}`, `/b: is not a known property`},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false,"type":"object"}`, `{"a":1}`, ``},
		{`{"type":"object","unevaluatedProperties":false}`, `5`, `want an object, got a number`},

		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `[]`, `want a string or null, got an array of 0 items`},
		{`{"anyOf":[{"const":"a"},{"const":"b"}]}`, `"c"`, `want "a" or "b", got a string of 1 character`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, `want a value that fits one alternative alone`},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `want one of 2 alternatives, got an object of 0 properties`},
		{union, `{"kind":"a","text":1}`, `/text: want a string, got a number`},
		{union, `{"kind":"b"}`, `/n: is missing`},
		{union, `{"kind":"c"}`, `want one of 2 alternatives, got an object of 1 property`},

		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `5`, `want a string, got a number`},
		{`{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":"x"}}}`, `/next/next/n: want an integer, got a string of 1 character`},
		{`{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"string"}}}`, `5`, `want a string, got a number`},
		{`{"$id":"https://example.com/x","properties":{"a":{"$ref":"y"}},"$defs":{"z":{"$id":"y","type":"string"}}}`, `{"a":1}`, `/a: want a string, got a number`},
		{`{"$ref":"#/x/y","x":{"y":{"type":"string"}}}`, `5`, `want a string, got a number`},
		{draft + `"items":[{"type":"string"}],"additionalItems":false}`, `["a",2]`, `want 1 item less, got an array of 2 items`},
		{draft + `"$ref":"#/definitions/A","definitions":{"A":{"type":"string","format":"email"}}}`, `"no address"`, ``},
		{draft + `"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`, `/b: is missing; /d: is missing`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","maximum":3,"exclusiveMaximum":true}`, `3`, `want less than 3`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[{"type":"string"}]}`, `[1]`, `/0: want a string, got a number`},
		{`{"format":"email","x-mcp-header":"A","x-other":{"type":5}}`, `"no address"`, ``},
		{`{"contentMediaType":"application/json","contentEncoding":"base64","type":"string"}`, `"{"`, ``},
	}
	for _, test := range tests {
		if got := said(compiled(t, test.schema).Check([]byte(test.value))); got != test.want {
			t.Errorf("%s with %s: %s, want %s", test.schema, test.value, got, test.want)
		}
	}
}

// TestNullArguments has arguments that are left out by being null.
func TestNullArguments(t *testing.T) {
	s := compiled(t, exact)
	for value, want := range map[string]string{
		`{"message":"x","times":null}`:   ``,
		`{"message":null,"times":1}`:     `/message: want a string, got null`,
		`{"times":null}`:                 `/message: is missing`,
		`{"message":"x","times":[null]}`: `/times: want an integer, got an array of 1 item`,
	} {
		if got := said(s.CheckArguments([]byte(value))); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	if got := said(s.Check([]byte(`{"message":"x","times":null}`))); got != `/times: want an integer, got null` {
		t.Errorf("a result: %s", got)
	}
	null := compiled(t, `{"required":["a"],"properties":{"a":{"type":"null"},"b":{"type":"null"}},"minProperties":2}`)
	if err := null.CheckArguments([]byte(`{"a":null,"b":null}`)); err != nil {
		t.Errorf("null that is wanted: %v", err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		``:                                `text ends too early`,
		`{"type":"objekt"}`:               `it is not a valid schema, at "/type"`,
		`{"properties":[]}`:               `it is not a valid schema, at "/properties"`,
		`5`:                               `it is not a valid schema, at ""`,
		`{"$ref":"#/$defs/none"}`:         `it is not a valid schema: json-pointer in`,
		`{"$ref":"http://example.com/a"}`: `it refers to "http://example.com/a", which is outside of the schema`,
		`{"$ref":"file:///etc/passwd"}`:   `it refers to "file:///etc/passwd", which is outside of the schema`,
		`{"$ref":"other.json#/a"}`:        `it refers to "tool:///other.json", which is outside of the schema`,
		`{"$schema":"https://example.com/mine","type":"string"}`:                         `it refers to "https://example.com/mine", which is outside of the schema`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`:                        `which is outside of the schema`,
		`{"$defs":{"a":{"$dynamicAnchor":"a"}},"$dynamicRef":"#a"}`:                      `it has dynamic references`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`: `it has dynamic references`,
		`{"patternProperties":{"(?!x)":true}}`:                                           `its pattern for the names of properties, "(?!x)", cannot be read`,
		`{"patternProperties":{"((a{100}){10}){30}":true}}`:                              `its pattern for the names of properties, "((a{100}){10}){30}", has a repetition that is too large`,
		`{"patternProperties":{"` + strings.Repeat("x{1000}", 21) + `":true}}`:           `", is too large`,
		`{"minimum":1e401}`:                                              `a number in it that is too long`,
		`{"minimum":` + strings.Repeat("1", 200) + `}`:                   `a number in it that is too long`,
		`{"$ref":"#"}`:                                                   `it refers to itself for ever`,
		`{"anyOf":[{"allOf":[{"$ref":"#"}]}]}`:                           `it refers to itself for ever`,
		strings.Repeat(`{"not":`, 64) + `true` + strings.Repeat(`}`, 64): `too deep`,
		`{"title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`:        `bytes; 262144 are the most`,
		`{"$defs":{` + many(2000, `"a%d":{}`) + `}}`:                     `more than 2000 parts`,
		draft + `"properties":{` + many(20, `"a%[1]d":{"$ref":"#/$defs/a%[1]d"}`) + `},"$defs":{}}`:                                      `more than 2000 parts`,
		`{"properties":{` + many(20, `"a%[1]d":{"$ref":"#/x/a%[1]d"}`) + `},"x":{}}`:                                                     `more than 2000 parts`,
		`{"properties":` + strings.Repeat(`{"`+strings.Repeat("~", 8000)+`":{"properties":`, 20) + `{}` + strings.Repeat(`}}`, 20) + `}`: `more than 2000 parts`,
	} {
		_, err := Compile([]byte(schema))
		if got := said(err); !strings.Contains(got, want) || got == "" {
			t.Errorf("%.200s: %s, want %s", schema, got, want)
		}
		if len(said(err)) > 400 {
			t.Errorf("%.200s: an error of %d bytes", schema, len(said(err)))
		}
	}
}

// many writes n members or items.
func many(n int, format string) string {
	texts := make([]string, n)
	for i := range texts {
		if texts[i] = format; strings.Contains(format, "%") {
			texts[i] = fmt.Sprintf(format, i)
		}
	}
	return strings.Join(texts, ",")
}

func TestTrivialSchemas(t *testing.T) {
	for schema, objects := range map[string]bool{
		`{}`: false, `{"title":"a"}`: false,
		`{"type":"object"}`: true, `{"type":"object","properties":{},"required":[],"additionalProperties":true}`: true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","description":"d"}`: true,
	} {
		s := compiled(t, schema)
		if !s.TakesObjects() || s.root != nil || s.Check([]byte(` {}`)) != nil || (s.Check([]byte(`[]`)) != nil) != objects {
			t.Errorf("%s: %+v", schema, s)
		}
	}
	for _, schema := range []string{
		`true`, `{"type":"array"}`, `{"type":["object"]}`, `{"type":"object","additionalProperties":false}`, `{"title":"object","minProperties":1}`,
		`{"type":"object","properties":{"a":{}}}`, `{"type":"object","required":["a"]}`, `{"$ref":"#/$defs/a","$defs":{"a":true}}`,
	} {
		if compiled(t, schema).TakesObjects() {
			t.Errorf("%s is trivial", schema)
		}
	}
}

// TestPatternsLeftOut has patterns that RE2 does not have, or that are too large.
func TestPatternsLeftOut(t *testing.T) {
	for _, pattern := range []string{`^(?!x)`, `(a)\\1`, `((a{100}){10}){30}`, strings.Repeat(`x{1000}`, 21), `[`} {
		s := compiled(t, `{"properties":{"a":{"pattern":"`+pattern+`","maxLength":1}}}`)
		if len(s.LeftOut()) != 1 || !strings.Contains(s.LeftOut()[0], `at "/properties/a"`) {
			t.Errorf("%s: left out %q", pattern, s.LeftOut())
		}
		if err := s.Check([]byte(`{"a":"x"}`)); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		if err := s.Check([]byte(`{"a":"xx"}`)); err == nil {
			t.Errorf("%s: the rest is not checked", pattern)
		}
	}
	if s := compiled(t, `{"pattern":"^[\\p{L}\\p{N}]{1,100}\\/\\d+$"}`); s.LeftOut() != nil {
		t.Errorf("left out: %q", s.LeftOut())
	}
}

// TestFaultsAreBounded has a value with many and long names, and looks for the
// values in the errors.
func TestFaultsAreBounded(t *testing.T) {
	const secret = "hunter2-hunter2"
	long := strings.Repeat("n", 5000)
	s := compiled(t, `{"additionalProperties":false,"properties":{"a":{"type":"integer"},"b":{"pattern":"^x"},"c":{"enum":["`+long+`"]},"d":{"const":1},"`+long+`":true}}`)
	err := s.Check([]byte(`{"a":"` + secret + `","b":"` + secret + `","c":"` + secret + `","d":"` + secret + `","\u001b[31m":1,"` + long + `x":2,` + many(1000, `"k%d":1`) + `}`))
	var found *Mismatch
	if !errors.As(err, &found) || len(found.Faults) != maxFaults || found.More != 1006-maxFaults {
		t.Fatalf("%v", err)
	}
	text := err.Error()
	if len(text) > 2000 || strings.Contains(text, secret) || strings.ContainsAny(text, "\x1b") {
		t.Errorf("%q", text)
	}
	for _, f := range found.Faults {
		if len(f.Want) > 500 || f.by != "" {
			t.Errorf("%+v", f)
		}
	}
}

// TestCheckAtOnce has many check at once; it is for the race detector.
func TestCheckAtOnce(t *testing.T) {
	s := compiled(t, echo)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := s.Check([]byte([]string{`{"message":"x"}`, `{"message":1}`}[i%2])); (err == nil) != (i%2 == 0) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"mesage": "message", "MESSAGE": "message", "pth": "path", "bb": "b", "a": "", "paths": "path", "x": "", "entirely": "", "": "", "id": "",
		strings.Repeat("a", 100): "",
	} {
		if got := nearestTo(word, []string{"path", "message", "b", strings.Repeat("a", 99)}); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, schema := range map[string]string{"trivial": `{"type":"object"}`, "echo": echo, "exact": exact} {
		b.Run(name, func(b *testing.B) {
			s := compiled(b, schema)
			value := []byte(`{"message":"hello there","times":7}`)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Check(value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile([]byte(echo)); err != nil {
			b.Fatal(err)
		}
	}
}
