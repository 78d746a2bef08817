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

// Schema is a compiled schema. It may be used by many at a time.
type Schema struct {
	open    bool     // takes any value, or any object
	object  bool     // with open: an object
	leftOut []string // see LeftOut
	bytes   int      // see Bytes

	mu      sync.Mutex // held by a check: the meter is part of the compiled schema
	root    *jsonschema.Schema
	verdict *jsonschema.Schema // fails exactly where root holds
	meter   meter
}

// home is where a schema lies as far as the library is concerned. It must be
// hierarchical: relative references shall lead away from it.
const home = "tool:///schema"

// Compile reads a schema. The text stays the caller's. An error says why values
// cannot be checked against it, in words that may be shown.
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
	if err := survey(doc); err != nil {
		return nil, err
	}
	s, err := build(doc)
	if err == nil {
		s.bytes += compiledFixed + compiledFactor*len(text)
	}
	return s, err
}

// What a compiled schema takes, about, in bytes: measured with schemas made of small
// parts, long enumerations, and patterns.
const (
	compiledFixed   = 4 << 10
	compiledFactor  = 24 // for each byte of text
	compiledPattern = 32 // for each instruction of a pattern
)

// Bytes is what the schema takes, about, beside its text. One that takes any object
// takes nothing.
func (s *Schema) Bytes() int { return s.bytes }

// build compiles a document that has been surveyed.
func build(doc any) (*Schema, error) {
	s := &Schema{}
	patterns := patterns{meter: &s.meter, known: make(map[string]jsonschema.Regexp)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nothing{})
	c.UseRegexpEngine(patterns.compile)
	err := c.AddResource(home, doc)
	if err == nil {
		s.root, err = c.Compile(home)
	}
	if err != nil {
		return nil, refusal(err)
	}
	if err := s.fit(); err != nil {
		return nil, err
	}
	s.bytes = compiledPattern * patterns.size
	s.verdict = &jsonschema.Schema{DraftVersion: 2020, Location: home, Not: s.root}
	return s, nil
}

// trivial returns the schema of a document that says no more than that a value is
// an object, or not even that, and nil for all others. Many tools have one, and
// a check against it costs nothing.
func trivial(doc any) *Schema {
	members, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	s := &Schema{open: true}
	for name, value := range members {
		switch v := value.(type) {
		case string:
			s.object = s.object || name == "type"
			if name == "type" && v != "object" || name != "type" && name != "$schema" && !forPeople[name] {
				return nil
			}
		case map[string]any:
			if name != "properties" || len(v) > 0 {
				return nil
			}
		case []any:
			if name != "required" || len(v) > 0 {
				return nil
			}
		case bool:
			if name != "additionalProperties" || !v {
				return nil
			}
		default:
			return nil
		}
	}
	return s
}

// nothing is what the library may load.
type nothing struct{}

var errOutside = errors.New("outside of the schema, where nothing is looked up")

func (nothing) Load(string) (any, error) { return nil, errOutside }

// TakesObjects reports whether every object fits, so that there is no need to
// check one.
func (s *Schema) TakesObjects() bool { return s.open }

// LeftOut lists in words what of the schema is not checked; nil is nothing.
func (s *Schema) LeftOut() []string { return s.leftOut }

// Check compares a value, valid JSON text, with the schema. The error is a
// [*Mismatch] where the value does not fit, and otherwise says why that is not
// known.
func (s *Schema) Check(value []byte) error { return s.judge(value, s.check) }

// CheckArguments is Check for the arguments of a call. One that is null counts as
// absent, as it does for the headers that show arguments: many languages have no
// other way to leave something out
// (2026-07-28/server/tools#x-mcp-header).
func (s *Schema) CheckArguments(value []byte) error {
	return s.judge(value, func(value any) error {
		err := s.check(value)
		if given, ok := value.(map[string]any); ok && err != nil && s.absent(given) {
			return s.check(value)
		}
		return err
	})
}

// absent takes what is null and not required out of given, and reports whether
// there was any.
func (s *Schema) absent(given map[string]any) bool {
	before := len(given)
	maps.DeleteFunc(given, func(name string, value any) bool {
		return value == nil && !slices.Contains(s.root.Required, name)
	})
	return len(given) < before
}

// judge decodes a value and has it checked.
func (s *Schema) judge(value []byte, check func(any) error) error {
	if s.open {
		return s.checkKind(value)
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

func (s *Schema) checkKind(value []byte) error {
	if s.object && strictjson.Read(value).Kind() != '{' {
		return mismatch(Fault{Want: "an object"})
	}
	return nil
}

// check first asks for the verdict alone: the library then makes no errors, of
// which there may be as many as steps, and stops at the first. Only a value that
// does not fit is looked at twice.
func (s *Schema) check(value any) error {
	s.meter.fill(stepsToJudge)
	if s.verdict.Validate(value) != nil && !s.meter.empty() {
		return nil // what is not valid is that it would not fit
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

// refusal says in short why the library does not take a schema. Its own words
// quote the schema at length.
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
		return fmt.Errorf("it is not a valid schema%s", where(invalid.Err))
	}
	return fmt.Errorf("it is not a valid schema: %s", clip(err.Error(), 200))
}

// where says where in a schema the first thing wrong with it is.
func where(err error) string {
	var found *jsonschema.ValidationError
	if !errors.As(err, &found) {
		return ""
	}
	for len(found.Causes) > 0 {
		found = found.Causes[0]
	}
	return ", at " + quote(pointer(found.InstanceLocation))
}
