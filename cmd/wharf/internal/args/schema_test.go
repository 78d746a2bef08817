package args

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCoerce(t *testing.T) {
	const schema = `{
		"type": "object",
		"properties": {
			"text": {"type": "string"}, "int": {"type": "integer"}, "num": {"type": "number"},
			"flag": {"type": "boolean"}, "list": {"type": "array"}, "map": {"type": "object"},
			"maybe": {"type": ["integer", "null"]}, "either": {"type": ["integer", "string"]},
			"any": true, "odd": {"type": 7}, "empty": {},
			"union": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
			"loose": {"anyOf": [{"type": "integer"}, {}]},
			"named": {"$ref": "#/$defs/Count"}, "old": {"$ref": "#/definitions/Flag"},
			"const": {"const": 5}, "values": {"enum": ["a", 1]}, "one": {"enum": [true]},
			"away": {"$ref": "https://example.com/schema"}, "loop": {"$ref": "#/$defs/Loop"}
		},
		"$defs": {"Count": {"oneOf": [{"type": "integer"}]}, "Loop": {"$ref": "#/$defs/Loop"}},
		"definitions": {"Flag": {"type": "boolean"}}
	}`
	tests := []struct{ key, text, want string }{ // want "" is refused
		{"text", "5", `"5"`}, {"text", "true", `"true"`},
		{"int", "5", "5"}, {"int", " -5 ", "-5"}, {"int", "5.0", "5.0"}, {"int", "1e3", "1e3"},
		{"int", "5.5", ""}, {"int", "five", ""}, {"int", "", ""}, {"int", "05", ""}, {"int", "5 6", ""}, {"int", `"5"`, ""},
		{"int", "123456789012345678901234567890", "123456789012345678901234567890"},
		{"num", "2.5", "2.5"}, {"num", "NaN", ""},
		{"flag", "true", "true"}, {"flag", "yes", ""}, {"flag", "1", ""},
		{"list", "[1, 2]", "[1, 2]"}, {"list", "1,2", ""}, {"list", "{}", ""},
		{"map", `{"a":1}`, `{"a":1}`}, {"map", "[]", ""},
		{"maybe", "null", "null"}, {"maybe", "3", "3"}, {"maybe", "x", ""},
		{"either", "3", `"3"`},
		{"any", "3", `"3"`}, {"odd", "3", `"3"`}, {"empty", "3", `"3"`}, {"unknown", "3", `"3"`},
		{"union", "3", "3"}, {"union", "null", "null"}, {"union", "x", ""},
		{"loose", "3", `"3"`},
		{"named", "3", "3"}, {"named", "x", ""}, {"old", "true", "true"}, {"old", "x", ""},
		{"const", "5", "5"}, {"const", "x", ""}, {"values", "1", `"1"`}, {"one", "true", "true"}, {"one", "x", ""},
		{"away", "3", `"3"`}, {"loop", "3", `"3"`},
	}
	for _, tt := range tests {
		t.Run(tt.key+"="+tt.text, func(t *testing.T) {
			got, ok := coerce(tt.text, ReadSchema(json.RawMessage(schema)).Types(tt.key))
			if ok != (tt.want != "") || string(got) != tt.want {
				t.Errorf("got %s, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

// An enum says which values of other types a text stands for, unless it has the text too.
func TestListed(t *testing.T) {
	const schema = `{"properties": {"k": {"enum": ["auto", 1, "2", 2, true]}, "text": {"type": "string"}}}`
	for text, want := range map[string]string{"1": "1", "true": "true", "2": `"2"`, "auto": `"auto"`, "3": `"3"`} {
		object, err := (Arguments{values: []Value{{Key: "k", Text: text}}}).Build("t", json.RawMessage(schema), true)
		if err != nil || string(object["k"]) != want {
			t.Errorf("%s: %s, %v, want %s", text, object["k"], err, want)
		}
	}
}

func TestTypesRead(t *testing.T) {
	for want, list := range map[string]Types{
		"a string": {"string"}, "an integer or null": {"integer", "null"}, "an array": {"array"}, "a ": {""},
	} {
		if got := list.String(); got != want {
			t.Errorf("%q reads %q, want %q", list, got, want)
		}
	}
}

// A schema in which each definition refers twice to the next has 2^n paths.
func TestHostileSchemaHasABudget(t *testing.T) {
	var defs []string
	for i := range 64 {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[%s,%s]}`, i, ref, ref))
	}
	defs = append(defs, `"d64":{"type":"integer"}`)
	schema := `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	reader := ReadSchema(json.RawMessage(schema))
	if got := reader.Types("a"); got != nil {
		t.Errorf("types %v", got)
	}
	if reader.budget >= 0 || reader.budget < -schemaPrice-len(schema) {
		t.Errorf("it went on after the budget, to %d", reader.budget)
	}
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"integer"}}}`), "5")
	f.Add([]byte(`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"type":["number","null"]}]}}}`), "null")
	f.Add([]byte(`{"properties":[]}`), "")
	f.Fuzz(func(t *testing.T, schema []byte, text string) {
		value, ok := coerce(text, ReadSchema(schema).Types("a"))
		if ok && !json.Valid(value) {
			t.Errorf("%q became %q, which is not JSON", text, value)
		}
	})
}
