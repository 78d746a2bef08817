package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

var seeds = [][2]string{
	{echo, `{"message":"x"}`}, {exact, `{"mesage":1}`}, {union, `{"kind":"a"}`}, {`{}`, `null`}, {`true`, `[]`},
	{`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"}}}}`, `[[[1]]]`},
	{draft + `"dependencies":{"a":["b"],"c":{"required":["d"]}},"items":[{}],"additionalItems":{"type":"null"}}`, `{"a":1,"c":[1,2]}`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"contains":{"const":1},"maxContains":1}`, `[1,1]`},
	{`{"$id":"a:b","$anchor":"x","$defs":{"$id":{"$id":"//","$dynamicAnchor":"y"}},"$ref":"%23"}`, `1e4`},
	{`{"patternProperties":{"^\\p{L}+$":{"pattern":"a|b"}},"additionalProperties":false,"propertyNames":{"maxLength":3}}`, `{"aa":"x"}`},
	{`{"prefixItems":[{"enum":[1,"a",null]}],"unevaluatedItems":{"not":{"multipleOf":0.1}},"uniqueItems":true}`, `[1,2,2.0]`},
	{`{"if":{"minProperties":1},"then":false,"else":{"unevaluatedProperties":{"$ref":"#"}},"dependentSchemas":{"a":{"maxProperties":0}}}`, `{"a":{}}`},
	{`{"allOf":[{"exclusiveMinimum":-1e400},{"maximum":1e-400}],"format":"regex","contentSchema":{}}`, `-0.0`},
}

// FuzzCheck holds that neither a schema nor a value can do harm, and that errors
// are short.
func FuzzCheck(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err == nil && strictjson.Valid(value, 1000) == nil {
			err = s.Check(value)
		}
		if err != nil && len(err.Error()) > 10_000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		var found *Mismatch
		if errors.As(err, &found) && (len(found.Faults) == 0 || len(found.Faults) > maxFaults) {
			t.Fatalf("%d faults", len(found.Faults))
		}
	})
}

// FuzzSame holds that what is fitted to the library changes nothing of what it
// finds valid.
func FuzzSame(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err != nil || s.LeftOut() != nil || len(schema) > 500 || strictjson.Valid(value, 100) != nil ||
			strings.Contains(string(schema), "ormat") || strings.Contains(string(schema), `\u`) {
			return
		}
		var found *Mismatch
		err = s.Check(value)
		if err != nil && !errors.As(err, &found) {
			return
		}
		doc, _ := decode(schema, 100)
		decoded, _ := decode(value, 1000)
		c := jsonschema.NewCompiler()
		c.UseLoader(noLoader{})
		c.AddResource(schemaURL, doc)
		if plain := c.MustCompile(schemaURL).Validate(decoded); (plain == nil) != (err == nil) {
			t.Fatalf("%v, but the library says %v", err, plain)
		}
	})
}
