package args

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// TestReadCall reads calls that are one word.
func TestReadCall(t *testing.T) {
	for word, want := range map[string]struct{ tool, object, values, err string }{
		"echo":                       {tool: "echo"},
		"echo()":                     {"echo", "{}", "", ""},
		`echo(message: "a, b: c)")`:  {"echo", `{"message":"a, b: c)"}`, "", ""},
		`add(a: 1, "b" : [2,{}])`:    {"add", `{"a":1,"b":[2,{}]}`, "", ""},
		`add(-1, [2, 3])`:            {"add", "", "-1 [2,3]", ""},
		`echo("a: b, c")`:            {"echo", "", `"a: b, c"`, ""},
		`add(1 , b: 2)`:              {"add", `{"b":2}`, "1", ""},
		`x(null: true, true)`:        {"x", `{"null":true}`, "true", ""},
		`add({"a": 1, "b": 2})`:      {"add", `{"a":1,"b":2}`, "", ""},
		`add({a: 1, "b": 2})`:        {"add", `{"a":1,"b":2}`, "", ""},
		`add({"a": 1}, 2)`:           {"add", "", `{"a":1} 2`, ""},
		`num(o: {x: "y"})`:           {"num", `{"o":{"x":"y"}}`, "", ""},
		`num(o: {"x:y": {z: []}}, )`: {"num", `{"o":{"x:y":{"z":[]}}}`, "", ""},
		`echo(text: 'it\'s "so"\n')`: {"echo", `{"text":"it's \"so\"\n"}`, "", ""},
		`num('k': 'a, b: c)')`:       {"num", `{"k":"a, b: c)"}`, "", ""},
		`num([1,2,], {a: 1e999,})`:   {"num", "", `[1,2] {"a":1e999}`, ""},
		`num("a:b": 1)`:              {"num", `{"a:b":1}`, "", ""},
		"add(a: 1,)":                 {"add", `{"a":1}`, "", ""},
		"add(1, 2) ":                 {"add", "", "1 2", ""},
		"add({a: 1}":                 {err: "the closing parenthesis is missing"},
		"add({1})":                   {err: `expected key: value, got "1}"`},
		"echo(":                      {err: `"echo(": the closing parenthesis is missing`},
		"add(2, 3":                   {err: `"add(2, 3": the closing parenthesis is missing`},
		`echo("x") extra`:            {err: `"echo(\"x\") extra": "extra" stands behind the closing parenthesis`},
		`echo("a)" b`:                {err: "the closing parenthesis is missing"},
		"2(x":                        {tool: "2(x"},
		"(a: 1)":                     {tool: "(a: 1)"},
		"add(a: 1 b: 2)":             {err: `expected a comma, got "b: 2"`},
		"add(1 2)":                   {err: `expected a comma, got "2"`},
		"add(a: 1,,)":                {err: `expected a JSON value, or key: value, got ","`},
		"add(,)":                     {err: "expected a JSON value"},
		"add([1)":                    {err: "the closing ] is missing"},
		`add(o: {x: y, z: 1})`:       {err: `o: x: expected a JSON value, got "y, z: 1}"`},
		`add('a)`:                    {err: "expected a JSON value, or key: value, got \"'a\""},
		`add('\q')`:                  {err: "expected a JSON value"},
		"add(x)":                     {err: `expected a JSON value, or key: value, got "x"`},
		"add(: 1)":                   {err: "expected a JSON value, or key: value"},
		"add(a: x)":                  {err: `a: expected a JSON value, got "x"`},
		"add(a:)":                    {err: "a: expected a JSON value"},
	} {
		call, err := ReadCall(word)
		if err != nil || want.err != "" {
			if err == nil || want.err == "" || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: %v, want %q", word, err, want.err)
			}
			continue
		}
		if values := string(bytes.Join(raws(call.values), []byte(" "))); call.Tool != want.tool || call.object != want.object || values != want.values {
			t.Errorf("%s: %+v, want %+v", word, call, want)
		}
	}
}

// TestHintsOfCalls: what a person probably meant is what the hint says.
func TestHintsOfCalls(t *testing.T) {
	for word, want := range map[string]string{
		"opt(limit=5, q: 1)": "a colon comes after a key: limit: 5",
		"opt(q: hello)":      `write a text in double quotes: "hello"`,
		"opt(o: {x: y})":     `write a text in double quotes: "y"`,
		"opt(o: {x=y})":      `a colon comes after a key: x: "y"`,
		"opt(a b, 1)":        `write a text in double quotes: "a b"`,
		"opt(q: [1)":         `write opt("text", 1) or opt(key: "text", other: 1), in quotes of the shell`,
		"opt(limit: 5":       "write it with a ) at its end, in quotes of the shell",
		"opt(q: [1":          `write opt("text", 1) or opt(key: "text", other: 1), in quotes of the shell`,
		`opt("x") extra`:     "leave it out, or write it as an argument within the parentheses",
	} {
		if _, err := ReadCall(word); err == nil || exit.HintOf(err) != want {
			t.Errorf("%s: %v, %s; want %s", word, err, exit.HintOf(err), want)
		}
	}
	// The advice works when it is typed.
	for word, text := range map[string]string{
		"fetch(https://example.com/)":                                "https://example.com/",
		"fetch(https://example.com/a?q=1&r=2, 5)":                    "https://example.com/a?q=1&r=2",
		"fetch(url: https://example.com/)":                           "https://example.com/",
		"fetch(url=https://example.com/?q=1)":                        "https://example.com/?q=1",
		"fetch(u: 1, url:https://example.com/)":                      "https://example.com/",
		"fetch(urls: [https://example.com/])":                        "https://example.com/",
		"fetch(https://example.com/" + strings.Repeat("a", 60) + ")": "https://example.com/" + strings.Repeat("a", 60),
		"read(/tmp/a b.txt)":                                         "/tmp/a b.txt",
		"read(path: /tmp/a=b.txt)":                                   "/tmp/a=b.txt",
		"read(path=/tmp/a)":                                          "/tmp/a",
		`read(C:\tmp\a)`:                                             `C:\tmp\a`,
		"read(C:/tmp/a)":                                             "C:/tmp/a",
		`read(path: C:\tmp\a)`:                                       `C:\tmp\a`,
	} {
		_, err := ReadCall(word)
		_, advice, _ := strings.Cut(exit.HintOf(err), ": ")
		typed := strings.Replace(word, text, plain.Quote(text), 1)
		typed = strings.Replace(typed, "=", ": ", strings.Count(typed[:strings.IndexByte(typed, '"')], "="))
		if call, wrong := ReadCall(typed); wrong != nil || !strings.HasSuffix(advice, plain.Quote(text)) || !strings.Contains(typed, advice) {
			t.Errorf("%s: %v, %s; %s: %+v, %v", word, err, exit.HintOf(err), typed, call, wrong)
		}
	}
	if call, err := ReadCall("add (1, 2)"); err != nil || call.Tool != "add" {
		t.Errorf("%+v, %v", call, err)
	}
}

func raws(values []json.RawMessage) (all [][]byte) {
	for _, value := range values {
		all = append(all, value)
	}
	return all
}

func decoded(t *testing.T, text []byte) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return value
}

// FuzzReadCall: an object that comes out is one object of JSON, and each value is one value. JSON means what it means
// elsewhere.
func FuzzReadCall(f *testing.F) {
	for _, word := range []string{"echo", `add(a: 1, "b": [2])`, `add(1, "b", c: 3)`, `x(a:"\u0000")`, `x({a: 'b', "c": [1,],}, ' \' ')`, `{"a:b": ["\u00e9", {}]}`, "x(a:1,,)", "x(\"\": 1)"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if json.Valid([]byte(word)) {
			call, err := ReadCall("x(" + word + ")")
			if all := append(raws(call.values), []byte(call.object)); err == nil && !reflect.DeepEqual(decoded(t, all[0]), decoded(t, []byte(word))) {
				t.Errorf("%q became %s", word, all)
			} else if err != nil && !strings.Contains(err.Error(), "nested too deep") {
				t.Errorf("%q: %v", word, err)
			}
		}
		call, err := ReadCall(word)
		if err != nil {
			return
		}
		if call.object != "" && (!json.Valid([]byte(call.object)) || call.object[0] != '{') {
			t.Errorf("%q became %s", word, call.object)
		}
		for _, value := range call.values {
			if !json.Valid(value) {
				t.Errorf("%q has the value %s", word, value)
			}
		}
	})
}

// TestProperties reads what an argument may be, and writes an example for the shell.
func TestProperties(t *testing.T) {
	schema := ReadSchema(json.RawMessage(`{"required":["who","size"],"properties":{
		"who":{"type":"string","description":"a name","minLength":2},
		"size":{"$ref":"#/$defs/size"},
		"tags":{"type":"array","items":{"enum":["a","b"],"type":"string"},"maxItems":3},
		"when":{"anyOf":[{"type":"null"},{"type":"string","format":"date"}],"default":null},
		"own":{"type":"string","default":"it's; rm"},
		"at":{"type":"string","default":"@x"},
		"deep":{"type":"object"}, "yes":{"type":"boolean"}, "any":{}, "n":{"type":"integer","minimum":3},
		"grid":{"type":"array","items":{"type":"array","items":{"$ref":"#/$defs/size"}}}, "labels":{"type":"object","additionalProperties":{"type":"integer"}},
		"loops":{"$ref":"#/$defs/loops"}, "fixed":{"const":"circle"}},
		"$defs":{"loops":{"type":"array","items":{"$ref":"#/$defs/loops"}},"size":{"type":"string","enum":["S","M L"],"description":"of it"}}}`))
	want := map[string]struct{ kind, limits, enum, example string }{
		"who":  {"string", "at least 2 letters", "", "who=…"},
		"size": {"string", "", `"S" "M L"`, "size=S"},
		"tags": {"array of string", "at most 3 items", `"a" "b"`, `'tags=["a"]'`},
		"when": {"null|string", "", "", "when:=null"},
		"own":  {"string", "", "", `'own=it'\''s; rm'`},
		"at":   {"string", "", "", `'at:="@x"'`},
		"deep": {"object", "", "", "'deep={}'"},
		"yes":  {"boolean", "", "", "yes=true"},
		"any":  {"any value", "", "", "any=…"},
		"n":    {"integer", "at least 3", "", "n=3"},

		"grid":   {"array of array of string", "", `"S" "M L"`, `'grid=[["S"]]'`},
		"labels": {"object of integer", "", "", "'labels={}'"},
		"loops":  {"array of array of array of array of array", "", "", "'loops=[[[[[]]]]]'"},
		"fixed":  {"string", "", `"circle"`, "fixed=circle"},
	}
	for i, p := range schema.Properties() {
		var enum []string
		for _, value := range p.Enum {
			enum = append(enum, string(value))
		}
		w, ok := want[p.Name]
		if got := (struct{ kind, limits, enum, example string }{p.Kind(), strings.Join(p.Limits, ", "), strings.Join(enum, " "), schema.Example(p)}); !ok || got != w {
			t.Errorf("%s: got %+v, want %+v", p.Name, got, w)
		}
		if required := i < 2; p.Required != required {
			t.Errorf("%s: required is %t", p.Name, p.Required)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if p := schema.Properties()[1]; p.Description != "of it" {
		t.Errorf("the description of a reference is %q", p.Description)
	}
}

// TestForms reads the members of objects within arguments, and writes examples with the
// required ones.
func TestForms(t *testing.T) {
	schema := ReadSchema(json.RawMessage(`{"properties":{
		"edits":{"type":"array","items":{"$ref":"#/$defs/edit"}},
		"point":{"type":"object","required":["x","to"],"properties":{"to":{"type":"object","required":["name"],"properties":{"name":{"enum":["a b"]}}},"x":{"type":"number"},"y":{"type":"number"}}},
		"one":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/edit"},{"type":"object","properties":{"all":{"type":"boolean"}}}]},
		"loop":{"$ref":"#/$defs/loop"}, "text":{"type":"string"}, "map":{"type":"object","properties":{}}},
		"$defs":{"edit":{"type":"object","required":["old","new"],"properties":{"new":{"type":"string"},"old":{"type":"string"}}},
			"loop":{"type":"object","required":["next"],"properties":{"next":{"$ref":"#/$defs/loop"}}}}}`))
	want := map[string]struct{ forms, example string }{
		"edits": {"old new", `'edits=[{"old":"…","new":"…"}]'`},
		"point": {"x to y", `'point={"x":1,"to":{"name":"a b"}}'`},
		"one":   {"old new; all", `'one={"old":"…","new":"…"}'`},
		"loop":  {"next", `'loop={"next":{"next":{"next":{"next":{}}}}}'`},
		"text":  {"", "text=…"},
		"map":   {"", "'map={}'"},
	}
	for _, p := range schema.Properties() {
		var forms []string
		for _, form := range schema.Forms(p) {
			var names []string
			for _, member := range form {
				names = append(names, member.Name)
			}
			forms = append(forms, strings.Join(names, " "))
		}
		if got := (struct{ forms, example string }{strings.Join(forms, "; "), schema.Example(p)}); got != want[p.Name] {
			t.Errorf("%s: got %+v, want %+v", p.Name, got, want[p.Name])
		}
	}
}

// TestPropertiesEnd: a schema that refers to itself costs no more than the budget.
func TestPropertiesEnd(t *testing.T) {
	for _, text := range []string{
		`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"items":{"$ref":"#/$defs/a"}}}}`,
	} {
		schema := ReadSchema(json.RawMessage(text))
		got := schema.Properties()
		if len(got) != 1 {
			t.Errorf("%s: %v", text, got)
		}
		if forms := schema.Forms(got[0]); len(forms) > 0 {
			t.Errorf("%s: forms %v", text, forms)
		}
	}
}
