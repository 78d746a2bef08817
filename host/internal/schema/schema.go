package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// ErrTooMuch says that a value was not checked to the end, because that would
// take too many steps, or because it is too large or too deep.
var ErrTooMuch = errors.New("too much work")

// Schema is a compiled schema. It is safe for concurrent use; checks run one at a time.
type Schema struct {
	anyValue  bool     // takes any value, or any object
	anyObject bool     // with anyValue: any object
	leftOut   []string // see LeftOut
	bytes     int      // see Bytes

	mu      sync.Mutex // held by a check: the meter is part of the compiled schema
	root    *jsonschema.Schema
	negated *jsonschema.Schema // {"not": root}
	meter   meter
}

// schemaURL is the address of a schema for the library. It is hierarchical, so that
// relative references lead to other addresses, which are refused.
const schemaURL = "tool:///schema"

// Compile reads a schema. It does not keep the text. An error says why values
// cannot be checked against it, and can be shown to a person.
func Compile(text []byte) (*Schema, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes; %d are the most", len(text), maxSchemaBytes)
	}
	if err := strictjson.Valid(text, maxSchemaDepth); err != nil {
		return nil, err
	}
	doc, err := decode(text, maxSchemaDepth)
	if err != nil {
		return nil, err
	}
	if s := trivial(doc); s != nil {
		return s, nil
	}
	if err := checkSize(doc); err != nil {
		return nil, err
	}
	s, err := build(doc)
	if err == nil {
		s.bytes += compiledFixed + compiledFactor*len(text)
	}
	return s, err
}

// The approximate bytes of a compiled schema, measured with schemas made of small
// parts, long enumerations, and patterns.
const (
	compiledFixed   = 4 << 10
	compiledFactor  = 24 // for each byte of text
	compiledPattern = 32 // for each instruction of a pattern
)

// Bytes estimates the memory of the compiled schema, without its text. It is 0 for a
// schema that accepts any object.
func (s *Schema) Bytes() int { return s.bytes }

// build compiles a document that has been surveyed.
func build(doc any) (*Schema, error) {
	s := &Schema{}
	patterns := patterns{meter: &s.meter, known: make(map[string]jsonschema.Regexp)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patterns.compile)
	err := c.AddResource(schemaURL, doc)
	if err == nil {
		s.root, err = c.Compile(schemaURL)
	}
	if err != nil {
		return nil, refusal(err)
	}
	if err := s.limit(); err != nil {
		return nil, err
	}
	s.bytes = compiledPattern * patterns.size
	s.negated = &jsonschema.Schema{DraftVersion: 2020, Location: schemaURL, Not: s.root}
	return s, nil
}

// trivial returns the schema of a document that says only that a value is an object, or nothing at
// all. It returns nil for all others. Many tools have such a schema, and a check against it costs
// nothing.
func trivial(doc any) *Schema {
	members, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	s := &Schema{anyValue: true}
	for name, value := range members {
		text, isText := value.(string)
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		switch {
		case name == "type" && text == "object":
			s.anyObject = true
		case isText && (name == "$schema" || annotations[name]):
		case isObject && name == "properties" && len(object) == 0:
		case isList && name == "required" && len(list) == 0:
		case name == "additionalProperties" && value == true:
		default:
			return nil
		}
	}
	return s
}

// noLoader refuses to load other schemas.
type noLoader struct{}

var errOutside = errors.New("outside of the schema, where nothing is looked up")

func (noLoader) Load(string) (any, error) { return nil, errOutside }

// TakesObjects reports whether every object fits, so that there is no need to
// check one.
func (s *Schema) TakesObjects() bool { return s.anyValue }

// LeftOut lists the keywords of the schema that are not checked, for people.
func (s *Schema) LeftOut() []string { return s.leftOut }

// Check compares a value, valid JSON text, with the schema. The error is a [*Mismatch] if the value
// does not fit. Any other error says why that could not be decided.
func (s *Schema) Check(value []byte) error { return s.decoded(value, s.validate) }

// CheckArguments is Check for the arguments of a call. An argument that is null counts as
// absent, as for the headers that repeat arguments, because many languages have no other
// way to leave an argument out
// (2026-07-28/server/tools#x-mcp-header).
func (s *Schema) CheckArguments(value []byte) error {
	return s.decoded(value, func(value any) error {
		err := s.validate(value)
		given, _ := value.(map[string]any)
		before := len(given)
		if err != nil {
			maps.DeleteFunc(given, func(name string, value any) bool {
				return value == nil && !slices.Contains(s.root.Required, name)
			})
		}
		if len(given) < before {
			return s.validate(value)
		}
		return err
	})
}

// decoded decodes a value and calls check with it, under the lock.
func (s *Schema) decoded(value []byte, check func(any) error) error {
	if s.anyValue {
		if s.anyObject && strictjson.Read(value).Kind() != '{' {
			return mismatch(Fault{Want: "an object"})
		}
		return nil
	}
	if len(value) > maxValueBytes {
		return fmt.Errorf("%w: the value has %d bytes; %d are the most", ErrTooMuch, len(value), maxValueBytes)
	}
	decoded, err := decode(value, maxValueDepth)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return check(decoded)
}

// validate first validates against {"not": root}. The library then stops at the first error inside,
// and builds no error values; there may be as many of those as steps. Only a value that does not
// fit is validated again, for its errors.
func (s *Schema) validate(value any) error {
	s.meter.fill(stepsToValidate)
	if s.negated.Validate(value) != nil && !s.meter.empty() {
		return nil // {"not": root} is invalid, so the value fits
	}
	if s.meter.empty() {
		return fmt.Errorf("%w: the schema and the value are too complex together", ErrTooMuch)
	}
	s.meter.fill(stepsToExplain)
	err := s.root.Validate(value)
	var found *jsonschema.ValidationError
	if s.meter.empty() || !errors.As(err, &found) {
		return mismatch(Fault{Want: "a value that fits the schema"})
	}
	return explain(s.root, value, found)
}

// refusal says in short why the library does not accept a schema. The library's own text quotes the
// schema at length.
func refusal(err error) error {
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.SchemaValidationError
	var draft *jsonschema.InvalidMetaSchemaURLError
	switch {
	case errors.As(err, &load):
		return fmt.Errorf("it refers to %s, which is %w", quote(load.URL), errOutside)
	case errors.As(err, &draft):
		return errors.New("its $schema is not an address")
	case errors.As(err, &invalid):
		var found *jsonschema.ValidationError
		if !errors.As(invalid.Err, &found) {
			return errors.New("it is not a valid schema")
		}
		for len(found.Causes) > 0 {
			found = found.Causes[0]
		}
		return fmt.Errorf("it is not a valid schema, at %s", quote(pointer(found.InstanceLocation)))
	}
	return fmt.Errorf("it is not a valid schema: %s", clip(err.Error(), 200))
}
