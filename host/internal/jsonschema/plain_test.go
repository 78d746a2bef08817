package jsonschema

import (
	"strings"
	"testing"
)

// TestPlainSchemas holds that common schemas need no meta-schema. That those which are
// taken for plain are valid is for FuzzOriginal.
func TestPlainSchemas(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","description":"d","properties":{
			"a":{"type":["string","null"],"enum":["x","y"],"default":1,"pattern":"x"},
			"b":{"anyOf":[{"$ref":"#/definitions/c"},true],"title":"t","examples":[1],"readOnly":true}},
			"required":["a"],"additionalProperties":false,"definitions":{"c":{"items":{"minimum":1.5,"maxLength":3},"not":{"const":1}}}}`: true,
		`{"properties":{"a":{"type":"objekt"}}}`: false,
		`{"items":[{}]}`:                         false,
		`{"$ref":"http://example.com"}`:          false,
		`{"if":true}`:                            false,
		`[]`:                                     false,
	} {
		doc, err := unmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := (plainReader{goRegexpCompile}).schema(doc); got != want {
			t.Errorf("%s is plain: %t", schema, got)
		}
	}
}
