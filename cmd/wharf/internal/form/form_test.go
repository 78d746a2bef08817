package form

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

func readOne(t *testing.T, schema string) *Field {
	t.Helper()
	form, err := Read(t.Context(), json.RawMessage(`{"properties":{"a":`+schema+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &form[0]
}

func TestTakeAnswer(t *testing.T) {
	for _, tt := range []struct {
		schema, text string
		want         any // or a part of what is wrong
	}{
		{`{"type":"string"}`, "x", "x"},
		{`{"type":"string","minLength":2}`, "é", wrong("too short: its length is 1; want 2 or more")},
		{`{"type":"string","maxLength":2}`, "日本", "日本"},
		{`{"type":"string","maxLength":2}`, "abc", wrong("too long: its length is 3; want 2 or less")},
		{`{"type":"string","pattern":"^[a-z]+$"}`, "ABC", wrong("want text that matches ^[a-z]+$")},
		{`{"type":"string","pattern":"^(?=.*[0-9])x"}`, "anything", "anything"}, // no expression to Go
		{`{"type":"string","format":"email"}`, "Ada <ada@example.com>", wrong("e-mail")},
		{`{"type":"string","format":"email"}`, "ada@example.com", "ada@example.com"},
		{`{"type":"string","format":"uri"}`, "example.com", wrong("want a URI")},
		{`{"type":"string","format":"uri"}`, "urn:x", "urn:x"},
		{`{"type":"string","format":"date"}`, "2026-02-30", wrong("want a date")},
		{`{"type":"string","format":"date"}`, "2026-02-28", "2026-02-28"},
		{`{"type":"string","format":"date-time"}`, "2026-02-28", wrong("want a date and time")},
		{`{"type":"string","format":"date-time"}`, "2026-02-28T10:00:00+01:00", "2026-02-28T10:00:00+01:00"},
		{`{"type":"string","format":"of its own"}`, "x", "x"},
		{`{"type":"number","minimum":0.5}`, "0.25", wrong("0.25 is too small; want 0.5 or more")},
		{`{"type":"number","maximum":1000000}`, "1e7", wrong("1e7 is too large; want 1000000 or less")},
		{`{"type":"number"}`, "NaN", wrong("want a number")},
		{`{"type":"integer"}`, "twelve", wrong("want a whole number, such as 12")},
		{`{"type":"number"}`, "1e999", wrong("want a number")},
		{`{"type":"number"}`, "0x10", wrong("want a number")},
		{`{"type":"number"}`, "-1.5", json.Number("-1.5")},
		{`{"type":"integer"}`, "1.0", wrong("want a whole number")},
		{`{"type":"integer"}`, "9007199254740993", json.Number("9007199254740993")},
		{`{"type":"boolean"}`, "Yes", true},
		{`{"type":"boolean"}`, "false", false},
		{`{"type":"boolean"}`, "1", wrong("want yes or no")},
		{`{"type":"string","enum":["red","blue"],"enumNames":["Red","Blue"]}`, "2", "blue"},
		{`{"type":"string","enum":["red","blue"],"enumNames":["Red","Blue"]}`, "RED", "red"},
		{`{"type":"string","enum":["2","1"]}`, "1", "2"}, // the number in the list
		{`{"type":"string","enum":["2","1"]}`, "3", wrong(`"3" is not one of them; want a number from 1 to 2`)},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"One"},{"const":"b","title":"Two"}]}}`, "two, 1,,b", []string{"b", "a"}},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":2}`, "a", wrong("1 are too few; want 2 or more")},
		{`{"type":"array","items":{"enum":["a","b"]},"maxItems":1}`, "a,b", wrong("2 are too many; want 1 or fewer")},
		{`{"type":"string"}`, "", nil},
	} {
		f := readOne(t, tt.schema)
		err := f.Answer(tt.text)
		if part, bad := tt.want.(wrong); bad {
			if err == nil || !strings.Contains(err.Error(), string(part)) || f.given {
				t.Errorf("%s: %q: %v, %v; want the error %q", tt.schema, tt.text, f.value, err, part)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(f.value, tt.want) || f.given != (tt.want != nil) {
			t.Errorf("%s: %q: %#v, %v; want %#v", tt.schema, tt.text, f.value, err, tt.want)
		}
	}
}

type wrong string

func TestRequiredAnswer(t *testing.T) {
	for schema, want := range map[string]any{
		`{"type":"string"}`:                                                      nil,
		`{"type":"integer"}`:                                                     nil,
		`{"type":"boolean"}`:                                                     nil,
		`{"type":"string","enum":["a"]}`:                                         nil,
		`{"type":"array","items":{"enum":["a","b"]}}`:                            []string{},
		`{"type":"array","items":{"enum":["a","b"]},"minItems":1}`:               nil,
		`{"type":"string","minLength":0,"description":"empty is not asked for"}`: nil,
	} {
		f := readOne(t, schema)
		f.required = true
		if err := f.Answer(""); (err == nil) != (want != nil) || !reflect.DeepEqual(f.value, want) {
			t.Errorf("%s: %#v, %v; want %#v", schema, f.value, err, want)
		}
	}
}

// A default stands in the line from the beginning, unless it does not fit.
func TestDefaults(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string","default":"x"}`:                                         "x",
		`{"type":"string","default":"\u001b[2J"}`:                                 "",
		`{"type":"string","default":"two\nlines"}`:                                "",
		`{"type":"string","default":7}`:                                           "",
		`{"type":"string","default":"abc","maxLength":2}`:                         "",
		`{"type":"integer","default":36}`:                                         "36",
		`{"type":"integer","default":"36"}`:                                       "",
		`{"type":"number","default":1e2}`:                                         "1e2",
		`{"type":"boolean","default":false}`:                                      "no",
		`{"type":"string","enum":["a","b"],"default":"b"}`:                        "b",
		`{"type":"string","enum":["2","1"],"default":"1"}`:                        "2", // its number
		`{"type":"string","enum":["a","b"],"default":"c"}`:                        "",
		`{"type":"array","items":{"enum":["a","b,c","d"]},"default":["b,c","a"]}`: "2, a",
		`{"type":"array","items":{"enum":["a"]},"default":["z"]}`:                 "",
	} {
		if got := readOne(t, schema).Proposed(); got != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
}

// A program fills in a form in JSON, each field in its own type, or it is told what does not fit.
func TestFill(t *testing.T) {
	const whole = `{"required":["s","c"],"properties":{"s":{"type":"string","maxLength":3},"n":{"type":"integer","default":7},"b":{"type":"boolean"},
		"c":{"type":"string","enum":["2","1"]},"m":{"type":"array","items":{"enum":["a","b,c"]},"maxItems":1}}}`
	for content, want := range map[string]string{
		`{"s":"x","c":"1"}`:                                 `{"c":"1","s":"x"}`, // what is left out has no default
		`{"s":"","c":"2","n":12,"b":false,"m":["b,c"]}`:     `{"b":false,"c":"2","m":["b,c"],"n":12,"s":""}`,
		`{"s":"x","c":"1","m":[]}`:                          `{"c":"1","m":[],"s":"x"}`,
		`{"c":"1"}`:                                         "s: an answer is required",
		`{"s":null,"c":"1"}`:                                "s: want text, at most 3 characters, required",
		`{"s":7,"c":"1"}`:                                   "s: want text",
		`{"s":"long","c":"1"}`:                              "s: too long: its length is 4",
		`{"s":"x","c":"3"}`:                                 `c: want one of "2", "1"`,
		`{"s":"x","c":"1","n":"12"}`:                        "n: want a whole number",
		`{"s":"x","c":"1","n":1.5}`:                         "n: want a whole number",
		`{"s":"x","c":"1","b":"yes"}`:                       "b: want yes or no",
		`{"s":"x","c":"1","m":["a","z"]}`:                   `m: want an array of any of "a", "b,c"`,
		`{"s":"x","c":"1","m":["a","b,c"]}`:                 "m: 2 are too many",
		`{"s":"x","c":"1","m":"a"}`:                         `m: want an array of any of "a", "b,c"`,
		`{"s":"x","c":"1","\u001bz":1}`:                     `it has no field "\x1bz"`,
		`{"s":"x","c":"1","S":"X","other field name":true}`: "it has no field",
	} {
		fields, err := Read(t.Context(), json.RawMessage(whole))
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(content), &members); err != nil {
			t.Fatal(err)
		}
		if err := fields.Fill(members); err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", content, err, want)
			}
		} else if got, _ := json.Marshal(fields.Content()); string(got) != want {
			t.Errorf("%s: %s; want %s", content, got, want)
		}
	}
}

// What is taken from JSON is sent as it came.
func FuzzFill(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","enum":["1","0"]}}}`, `{"a":"1"}`)
	f.Add(`{"properties":{"a":{"type":"array","items":{"enum":["a","b,"]}}}}`, `{"a":["b,"]}`)
	f.Add(`{"properties":{"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"boolean"}}}`, `{"a":-0,"b":1e2,"c":true}`)
	f.Fuzz(func(t *testing.T, schema, content string) {
		fields, err := Read(t.Context(), json.RawMessage(schema))
		var members map[string]json.RawMessage
		if err != nil || json.Unmarshal([]byte(content), &members) != nil || fields.Fill(members) != nil {
			return
		}
		sent, err := json.Marshal(fields.Content())
		var got, want map[string]any
		if err != nil || json.Unmarshal(sent, &got) != nil || json.Unmarshal([]byte(content), &want) != nil || len(got) != len(want) {
			t.Fatalf("%s: %s is sent as %s, %v", schema, content, sent, err)
		}
		for name, value := range want {
			if _, list := value.([]any); !list && !reflect.DeepEqual(got[name], value) { // of a list, values that stand twice count once
				t.Errorf("%s: %s is sent as %s", schema, content, sent)
			}
		}
	})
}

func TestSecretiveFields(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"string","title":"Your password"}`:       true,
		`{"type":"string","title":"API-Key"}`:             true,
		`{"type":"string","description":"the TOKEN"}`:     true,
		`{"type":"string","format":"password"}`:           true,
		`{"type":"string","title":"Author"}`:              false,
		`{"type":"string","title":"Keyboard"}`:            false,
		`{"type":"boolean","title":"Keep the password?"}`: false,
	} {
		if got := readOne(t, schema).AsksForSecret(); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

func TestFieldsKeepTheirOrder(t *testing.T) {
	form, err := Read(t.Context(), json.RawMessage(`{"properties":{"z":{"type":"string"},"a":{"type":"string"},"z":{"type":"boolean"},"m":{"type":"string"}},"required":["m","unknown"]}`))
	var names []string
	for _, f := range form {
		names = append(names, f.name)
	}
	if err != nil || !slices.Equal(names, []string{"z", "a", "m"}) || form[0].kind != boolField || !form[2].required {
		t.Errorf("%q, %v: %+v", names, err, form)
	}
}

// Whatever a server asks and a person types: what is shown is harmless, and what
// is taken once is taken again as it is proposed.
func FuzzForm(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","default":"\u001b","enum":["1","0"]}},"required":["a"]}`, "1")
	f.Add(`{"properties":{"a":{"type":"array","items":{"enum":["a","b,"]},"default":["a"]}}}`, "2,1")
	f.Add(`{"properties":{"a":{"type":"integer","minimum":1e300,"default":-1}}}`, "9")
	f.Add(`{"properties":{"a":{"type":"string","pattern":"((((a{9}){9}){9}){9})"},"a":7}}`, "a")
	f.Fuzz(func(t *testing.T, schema, text string) {
		form, err := Read(t.Context(), json.RawMessage(schema))
		if err != nil {
			return
		}
		for i := range form {
			f := &form[i]
			if terms := strings.Join(f.Terms(), ", "); !isProposable(f.Proposed()) || strings.IndexFunc(terms, cleantext.IsUnsafe) >= 0 {
				t.Errorf("%s: proposes %q, says %q", schema, f.Proposed(), terms)
			}
			if f.Answer(strings.TrimSpace(text)) != nil || !f.given || !safeToType(text) || f.Proposed() == "" {
				continue
			}
			value := f.value
			if err := f.Answer(f.Proposed()); err != nil || !reflect.DeepEqual(f.value, value) {
				t.Errorf("%s: %q is taken as %#v, and again as %#v, %v", schema, text, value, f.value, err)
			}
			_ = f.Shown()
		}
		if _, err := json.Marshal(form.Content()); err != nil {
			t.Error(err)
		}
	})
}
