package args

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// An example fits the schema that it is made from, whatever the check of the host looks at.
func TestExamplesFit(t *testing.T) {
	const defs = `"$defs":{"point":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},"name":{"type":"object","properties":{"n":{"enum":["a"]}},"required":["n"]},
		"list":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/list"},{"type":"null"}]}},"required":["v","next"]}}`
	for schema, want := range map[string]string{
		`{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2}`:                          `[1,1]`,
		`{"type":"array","items":{"type":"array","items":{"type":"number"},"minItems":2},"minItems":1}`: `[[1,1]]`,
		`{"type":"array","items":{"enum":["x","y"]},"minItems":2,"uniqueItems":true}`:                   `["x","y"]`,
		`{"type":"array","items":{"type":"number"},"minItems":3,"uniqueItems":true}`:                    `[1,2,3]`,
		`{"type":"array","items":{"type":"string"},"minItems":2,"uniqueItems":true}`:                    `["…","…2"]`,
		`{"type":"array","items":{"type":"boolean"},"minItems":2,"uniqueItems":true}`:                   `[true,false]`,
		`{"enum":[["x"],["y"]],"type":"array"}`:                                                         `["x"]`,
		`{"type":"array","prefixItems":[{"type":"number"},{"type":"boolean"}],"minItems":2}`:            `[1,true]`,
		`{"type":"array","minItems":1}`:                                                                 `["…"]`,
		`{"type":"array","items":{"type":"string"},"minItems":1000000000}`:                              "", // it has the first of them
		`{"allOf":[{"$ref":"#/$defs/point"}],"description":"as Pydantic writes a reference"}`:           `{"x":1}`,
		`{"allOf":[{"$ref":"#/$defs/point"},{"$ref":"#/$defs/name"}]}`:                                  `{"x":1,"n":"a"}`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`:                                   `0.5`,
		`{"type":"number","exclusiveMinimum":5}`:                                                        `6`,
		`{"type":"integer","exclusiveMaximum":-5}`:                                                      `-6`,
		`{"type":"integer","minimum":2.5}`:                                                              `3`,
		`{"allOf":[{"type":"integer"},{"minimum":4}]}`:                                                  `4`,
		`{"type":"null"}`: `null`,
		`{"type":"object","additionalProperties":{"type":"string"},"minProperties":2}`:                            `{"…":"…","…2":"…"}`,
		`{"type":"integer","multipleOf":5}`:                                                                       `5`,
		`{"type":"integer","multipleOf":5,"minimum":11,"exclusiveMaximum":20}`:                                    `15`,
		`{"type":"integer","maximum":0}`:                                                                          `0`,
		`{"type":"object","additionalProperties":{"type":"integer"},"minProperties":1}`:                           `{"…":1}`,
		`{"$ref":"#/$defs/list"}`:                                                                                 `{"v":1,"next":null}`,
		`{"type":"object","properties":{"p":{"type":"array","items":{"$ref":"#/$defs/point"}}},"required":["p"]}`: `{"p":[{"x":1}]}`,
	} {
		text := `{"type":"object","properties":{"v":` + schema + `},"required":["v"],` + defs + `}`
		s := ReadSchema(json.RawMessage(text))
		word := s.Example(s.about("v"))
		word = strings.Trim(word, "'")
		args, err := Read(t.Context(), os.Stdin, "", []string{word})
		if err != nil {
			t.Fatal(err)
		}
		built, err := args.Build("t", json.RawMessage(text), true)
		if err != nil {
			t.Errorf("%s: %s: %v", schema, word, err)
			continue
		}
		if want == "" {
			continue
		}
		if string(built["v"]) != want {
			t.Errorf("%s: %s; want %s", schema, built["v"], want)
		}
		var all jsonschema.Schema
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		check, err := all.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Validate(map[string]any{"v": decodedPlain(t, built["v"])}); err != nil {
			t.Errorf("%s: %s: %v", schema, word, err)
		}
	}
}

// The example of a call has all that is required: one object for names that no word can give, and one alternative.
func TestExamplesOfACall(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"integer"},"b":{}},"required":["a"]}`:                                                     `a=1`,
		`{"properties":{"--x":{},"a":{},"-":{"type":"integer"}},"required":["--x","a","-"]}`:                                  `a=… '{"--x":"…","-":1}'`,
		`{"properties":{"a":{},"b":{"type":"integer"}},"required":["a"],"anyOf":[{"required":["b","a"]},{"required":["c"]}]}`: `a=… b=1`,
		`{"anyOf":[{"required":["b"]}]}`: `b=…`,
		`{}`:                             ``,
	} {
		if got := strings.Join(ReadSchema(json.RawMessage(schema)).Examples(), " "); got != want {
			t.Errorf("%s: %s; want %s", schema, got, want)
		}
	}
	s := ReadSchema(json.RawMessage(`{"properties":{"a":{},"b":{"type":"integer"}},"oneOf":[{"required":["b","a"]},{"required":["c"]}]}`))
	for given, want := range map[string]string{`{"a":1}`: "write b=1, or c=…", `{}`: "write b=1 a=…, or c=…", `{"a":1,"b":2}`: "", `{"c":1}`: ""} {
		var object Object
		if err := json.Unmarshal([]byte(given), &object); err != nil {
			t.Fatal(err)
		}
		if got := s.alternatives(object); got != want {
			t.Errorf("%s: %s; want %s", given, got, want)
		}
	}
}

func decodedPlain(t *testing.T, text []byte) (value any) {
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
