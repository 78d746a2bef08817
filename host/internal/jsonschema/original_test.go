package jsonschema_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	original "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wharf-mcp/wharf/host/internal/jsonschema"
)

const address = "tool:///schema"

var hugeNumber = regexp.MustCompile(`[eE][+-]?\d{3}`)

// seeds are schemas with values. Together they have each keyword in each draft.
var seeds = [][2]string{
	{`{"type":["object","null"],"properties":{"a":{"type":"integer","minimum":1,"exclusiveMaximum":3}},"required":["a","b"],"additionalProperties":false}`, `{"a":1.5,"c":2}`},
	{`{"type":"objekt","properties":[],"required":[1,1],"minLength":-1,"$ref":"\\","pattern":5}`, `1`},
	{`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"},"minItems":2}}}`, `[[[1]]]`},
	{`{"$ref":"#/none"}`, `1`}, {`{"$ref":"#none"}`, `1`}, {`{"$ref":"http://example.com/a"}`, `1`}, {`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":1}`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://a/b","maximum":3,"exclusiveMaximum":true,"definitions":{"c":{"id":"#d","type":"null"}},"items":[{"$ref":"#d"}]}`, `[1]`},
	{`{"$schema":"http://json-schema.org/draft-06/schema#","contains":{"const":1},"propertyNames":{"maxLength":1},"examples":5}`, `{"ab":1}`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","if":{"type":"array"},"then":{"minItems":1,"uniqueItems":true},"else":{"pattern":"^x"},"dependencies":{"a":["b"],"c":{"required":["d"]}},"items":[{}],"additionalItems":{"type":"null"}}`, `{"a":1,"c":[1,2]}`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"contains":{"const":1},"minContains":2,"maxContains":2,"items":{"$recursiveRef":"#"},"unevaluatedItems":false}`, `[1,[1],1,1]`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentSchemas":{"a":{"maxProperties":0}},"dependentRequired":{"a":["b"]},"unevaluatedProperties":{"type":"string"},"minProperties":4}`, `{"a":{}}`},
	{`{"$id":"http://x/a","$anchor":"x","$defs":{"y":{"$id":"b","$dynamicAnchor":"y","type":"string"},"z":{"$ref":"b#y"}},"prefixItems":[{"$ref":"#x"},{"$dynamicRef":"b#y"}],"items":{"$ref":"#/$defs/z"}}`, `[[],1,2]`},
	{`{"patternProperties":{"^\\p{L}+$":{"pattern":"a|b"}},"additionalProperties":{"not":{}},"propertyNames":{"maxLength":3}}`, `{"aa":"x","1":2}`},
	{`{"prefixItems":[{"enum":[1,"a",null,[1],{"b":2.0}]}],"unevaluatedItems":{"not":{"multipleOf":0.1}},"uniqueItems":true}`, `[{"b":2},2,2.0]`},
	{`{"anyOf":[{"type":"string"},{"minimum":5,"multipleOf":2}],"oneOf":[{"maximum":9},{"maximum":8},false],"allOf":[true,{"exclusiveMinimum":-1e40},{"maxLength":1e2}]}`, `3`},
	{`{"oneOf":[{"minLength":3},{"maxLength":1},{"maxLength":2}],"maxItems":0,"format":"date","contentSchema":{}}`, `"a"`},
	{`{"$schema":"http://example.com/mine","$vocabulary":{"http://example.com/v":true}}`, `1`}, {`{"$schema":"%","type":1}`, `1`}, {`{"$schema":"tool:///schema"}`, `1`},
	{`{"$id":"//[::1%25a]","$defs":{"a":{"$id":"//::1"}}}`, `1`}, {`{"$defs":{"a":{"$id":"a"},"b":{"$id":"a"}}}`, `1`}, {`{"$anchor":"a","not":{"$anchor":"a"}}`, `1`},
	{`{"type":["string","string"],"required":["a","a"],"enum":[],"minLength":1.5,"items":[],"anyOf":[]}`, `1`}, {`{"type":[]}`, `1`}, {`{"required":[]}`, `{}`}, {`{"maxLength":1.0,"enum":[1,1]}`, `1`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","enum":["a","a"]}`, `1`}, {`{"$schema":"http://json-schema.org/draft-04/schema#","required":[]}`, `{}`}, {`{"$ref":"#/$defs/a b","$defs":{"a b":{"pattern":"["}}}`, `1`},
	{`{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"a":{"title":1,"$comment":1,"readOnly":1,"examples":1}},"definitions":{"x":5}}`, `{"a":1}`}, {`{"properties":{"a":{"$schema":"x"}},"not":{"uniqueItems":1}}`, `{"a":1}`},
	{`true`, `1`}, {`false`, `{}`}, {`5`, `1`}, {`{}`, `null`}, {`[]`, `1`},
	{`{"$defs":{"a":{"$id":"a","$schema":"http://json-schema.org/draft-07/schema#","definitions":{"b":{"const":1,"$id":"#c"}}}},"$ref":"a#c"}`, `2`},
	{`{"$defs":{"a":{"$id":"a","$schema":"tool:///schema","minLength":"x"}},"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true}}`, `2`},
}

// FuzzOriginal holds that this copy takes the same schemas as the original, and finds
// the same errors in the same values.
func FuzzOriginal(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if len(schema)+len(value) > 2000 || bytes.Contains(schema, []byte("format")) && bytes.Contains(schema, []byte("draft")) {
			return // where older drafts assert formats, and this copy has none
		}
		doc, err1 := original.UnmarshalJSON(bytes.NewReader(schema))
		v, err2 := original.UnmarshalJSON(bytes.NewReader(value))
		if err1 != nil || err2 != nil || hugeNumber.Match(schema) || hugeNumber.Match(value) {
			return // of which both make nothing, and then compare that
		}
		if bytes.Count(schema, []byte("$ref"))+bytes.Count(schema, []byte("Ref\"")) > 6 || bytes.Count(value, []byte("["))+bytes.Count(value, []byte("{")) > 4 {
			return // neither has bounds
		}
		want := first(address, doc, v)
		if got := second(address, doc, v); got != want {
			t.Errorf("%s with %s:\n%s\nthe original:\n%s", schema, value, got, want)
		}
	})
}

func first(address string, doc, value any) string {
	c := original.NewCompiler()
	c.UseLoader(original.SchemeURLLoader{})
	if err := c.AddResource(address, doc); err != nil {
		return err.Error()
	}
	schema, err := c.Compile(address)
	if err != nil {
		return refused(err)
	}
	return tree(reflect.ValueOf(schema.Validate(value)))
}

func second(address string, doc, value any) string {
	c := jsonschema.NewCompiler()
	if err := c.AddResource(address, doc); err != nil {
		return err.Error()
	}
	schema, err := c.Compile(address)
	if err != nil {
		return refused(err)
	}
	return tree(reflect.ValueOf(schema.Validate(value)))
}

// refused is what is wrong with a schema.
func refused(err error) string {
	var found *original.ValidationError
	var ours *jsonschema.ValidationError
	var invalid *original.SchemaValidationError
	var oursInvalid *jsonschema.SchemaValidationError
	switch {
	case errors.As(err, &invalid) && errors.As(invalid.Err, &found):
		return "refused: " + tree(reflect.ValueOf(found))
	case errors.As(err, &oursInvalid) && errors.As(oursInvalid.Err, &ours):
		return "refused: " + tree(reflect.ValueOf(ours))
	}
	return fmt.Sprintf("refused: %s", strings.TrimPrefix(fmt.Sprintf("%T", err), "*"))
}

// tree writes an error of either package: where and what, with its causes in an order of
// ours, since members have none.
func tree(err reflect.Value) string {
	if !err.IsValid() || err.IsNil() {
		return "valid"
	}
	e := err.Elem()
	var causes []string
	for i := range e.FieldByName("Causes").Len() {
		causes = append(causes, tree(e.FieldByName("Causes").Index(i)))
	}
	slices.Sort(causes)
	kind := e.FieldByName("ErrorKind").Elem().Elem()
	text := kind.Type().Name()
	for _, name := range []string{"Want", "Missing", "Properties", "Property", "Count", "Subschemas", "Duplicates", "Prop", "Keyword", "URL"} {
		if field := kind.FieldByName(name); field.IsValid() {
			if list, ok := field.Interface().([]string); ok {
				field = reflect.ValueOf(slices.Sorted(slices.Values(list)))
			}
			text += fmt.Sprintf(" %s=%v", name, field)
		}
	}
	at := e.FieldByName("InstanceLocation")
	if kind.Type().Name() == "PropertyNames" {
		at = reflect.ValueOf("anywhere") // the original says this place, or one that it looks at later
	}
	return fmt.Sprintf("(%s %q %s %s)", e.FieldByName("SchemaURL"), at, text, strings.Join(causes, " "))
}
