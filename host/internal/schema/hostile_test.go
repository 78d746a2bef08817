package schema

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// doubling is a schema in which each part asks twice for the next: 2^20 ways. It
// takes about a kilobyte, and another level doubles the time.
func doubling(head, format, leaf string) string {
	const levels = 20
	var defs strings.Builder
	for i := range levels {
		next := fmt.Sprintf(`{"$ref":"#/definitions/d%d"}`, i+1)
		fmt.Fprintf(&defs, `"d%d":%s,`, i, strings.ReplaceAll(format, "NEXT", next))
	}
	return fmt.Sprintf(`{%s"definitions":{%s"d%d":%s}}`, head, &defs, levels, leaf)
}

const (
	start  = `"$ref":"#/definitions/d0",`
	denied = `"not":{"$ref":"#/definitions/d0"},`
	older  = `"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$ref":"#/definitions/d0"}],`
	words2 = `{"type":"string"}`
)

// TestChecksAreBounded has schemas and values that are more work than the steps
// allow. Without the meter, most of these do not end in a lifetime.
func TestChecksAreBounded(t *testing.T) {
	object := `{` + many(100_000, `"k%d":1`) + `}`
	array := `[` + many(400_000, `%d`) + `]`
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	text := `"` + strings.Repeat("x", 3<<20) + `"`
	tests := []struct{ name, schema, value string }{
		{"anyOf", doubling(start, `{"anyOf":[NEXT,NEXT]}`, words2), `{}`},
		{"oneOf", doubling(start, `{"oneOf":[NEXT,NEXT]}`, words2), `{}`},
		{"allOf", doubling(start, `{"allOf":[NEXT,NEXT]}`, words2), `"x"`},
		{"allOf, in an older dialect", doubling(older, `{"allOf":[NEXT,NEXT]}`, words2), `"x"`},
		{"if", doubling(start, `{"if":NEXT,"then":NEXT,"else":NEXT}`, words2), `{}`},
		{"anyOf, whose errors are not reported", doubling(denied, `{"anyOf":[NEXT,NEXT]}`, words2), `{}`},
		{"dependentSchemas, whose errors are not reported", doubling(denied, `{"dependentSchemas":{"a":NEXT,"b":NEXT}}`, words2), `{"a":1,"b":2}`},
		{"dependencies", doubling(older, `{"dependencies":{"a":NEXT,"b":NEXT}}`, `{"type":"object"}`), `{"a":1,"b":2}`},
		{"one value down two ways", `{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#/$defs/a"}]},"type":"array","minItems":1,"$defs":{"a":{"allOf":[{"$ref":"#"}]}}}`, deep},
		{"patternProperties", `{"patternProperties":{"a":{"$ref":"#"},"a+":{"$ref":"#"},"aa*":{"$ref":"#"}},"additionalProperties":false}`,
			strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100)},
		{"many parts for a large object", `{"allOf":[` + many(900, `{"unevaluatedProperties":{"minimum":%d}}`) + `]}`, object},
		{"types of large objects", `{"items":{"type":"string","unevaluatedProperties":false}}`, `[` + many(3, object) + `]`},
		{"a huge enum", `{"contains":{"enum":[` + many(20_000, `1%05d`) + `]}}`, array},
		{"a huge constant", `{"contains":{"anyOf":[` + many(50, `{"const":[%d,`+many(400, `%d`)+`]}`) + `]}}`, `[` + many(20_000, `[%d]`) + `]`},
		{"items that are nearly the same", `{"uniqueItems":true}`, `[` + many(8, `[`+array[1:400_000]+`1,%d]`) + `]`},
		{"a pattern for a large text", `{"pattern":"^(x|y|z|xx|yy|zz)*(a|b)?$"}`, text},
		{"the length of a large text, often", `{"allOf":[` + many(900, `{"maxLength":9%06d}`) + `]}`, text},
		{"patterns for many texts", `{"items":{"pattern":"^(a?){300}a{300}$"}}`, `[` + many(9_000, `"`+strings.Repeat("a", 300)+`%d"`) + `]`},
		{"more items than steps", `{"items":{"type":"integer"}}`, array},
		{"names", `{"propertyNames":{"maxLength":9}}`, object},
	}
	for _, test := range tests {
		s := compiled(t, test.schema)
		err := s.Check([]byte(test.value))
		if !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: %.200v, with %d steps left", test.name, err, s.meter.left)
		}
		var found *Mismatch
		if errors.As(err, &found) {
			t.Errorf("%s: it is not known that it does not fit", test.name)
		}
	}
}

// TestExplanationsAreBounded has values of which it is soon known that they do not
// fit, and which it would take long to say all of.
func TestExplanationsAreBounded(t *testing.T) {
	s := compiled(t, `{"prefixItems":[{"type":"string"},{"items":{"type":"array"}}]}`)
	err := s.Check([]byte(`[5,[` + many(stepsToExplain, `%d`) + `]]`))
	if got := said(err); got != "want a value that fits the schema" {
		t.Errorf("%.200s", got)
	}
}

// TestLargeValuesAreChecked has values as large as honest tools make them.
func TestLargeValuesAreChecked(t *testing.T) {
	s := compiled(t, `{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^n[0-9]+$"},"tags":{"type":"array","items":{"enum":["a","b"]}}},"required":["id"],"additionalProperties":false}}`)
	rows := many(5_000, `{"id":%[1]d,"name":"n%[1]d","tags":["a","b"]}`)
	if err := s.Check([]byte(`[` + rows + `]`)); err != nil {
		t.Error(err)
	}
	err := s.Check([]byte(`[` + rows + `,{"id":"x"}]`))
	if said(err) != "/5000/id: want an integer, got a string of 1 character" {
		t.Error(err)
	}
}

func TestValuesAreBounded(t *testing.T) {
	s := compiled(t, `{"minItems":1}`)
	for value, want := range map[string]string{
		strings.Repeat("[", maxValueDepth+1) + strings.Repeat("]", maxValueDepth+1): "too deep",
		`["` + strings.Repeat("x", maxValueBytes) + `"]`:                            "bytes",
		`[1e401]`: "too long", `[1e-401]`: "too long", `[1e99999999999999999999]`: "too long", `[` + strings.Repeat("9", 101) + `]`: "too long",
	} {
		err := s.Check([]byte(value))
		if err == nil || errors.As(err, new(*Mismatch)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", value, err, want)
		}
	}
}

// TestNumbersThatPanic has numbers of which the library makes nothing and then
// compares it. They must not reach it.
func TestNumbersThatPanic(t *testing.T) {
	for _, schema := range []string{`{"minimum":1}`, `{"uniqueItems":true}`, `{"multipleOf":2}`, `{"enum":[1]}`} {
		for _, value := range []string{`1e1000001`, `[` + many(21, `%d`) + `,1e-1000001]`} {
			compiled(t, schema).Check([]byte(value))
		}
	}
}

// TestNoFileIsRead refers to a file that would be noticed.
func TestNoFileIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"objekt"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{file, "file://" + filepath.ToSlash(file)} {
		_, err := Compile([]byte(`{"$ref":"` + filepath.ToSlash(ref) + `"}`))
		if !errors.Is(err, errOutside) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestLargeSchemas compiles what is just within the bounds.
func TestLargeSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{` + many(1_950, `"a%d":{"type":"string"}`) + `}}`,
		`{"$defs":{` + many(1_950, `"a%[1]d":{"$id":"s%[1]d"}`) + `}}`,
		`{"$defs":{` + many(1_950, `"a%[1]d":{"$anchor":"s%[1]d"}`) + `}}`,
		`{"anyOf":[` + many(1_950, `{"$ref":"#/$defs/a"}`) + `],"$defs":{"a":true}}`,
		`{"x":{` + many(18, `"a%d":{"type":"string"}`) + `},"properties":{` + many(18, `"a%[1]d":{"$ref":"#/x/a%[1]d"}`) + `}}`,
		`{"required":[` + many(20_000, `"a%d"`) + `]}`,
	} {
		compiled(t, schema).Check([]byte(`{}`))
	}
}

// TestValuesTakeBoundedMemory checks values that are made of as many small things as
// there is room for, and looks at what that allocates. Those that take little are
// checked to the end.
func TestValuesTakeBoundedMemory(t *testing.T) {
	s := compiled(t, `{"minItems":1,"minProperties":1}`)
	small := map[string]string{"empty objects": `{}`, "objects": `{"":0}`, "empty arrays": `[]`, "arrays": `[0]`, "numbers": `0`, "strings": `""`}
	for name, part := range small {
		for _, size := range []int{maxValueBytes - 64<<10, 64 << 10} {
			value := `[` + strings.TrimSuffix(strings.Repeat(part+",", size/(len(part)+1)), ",") + `]`
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := s.Check([]byte(value))
			runtime.ReadMemStats(&after)
			const factor = 2 // what is allocated, to what is held: arrays grow
			if spent, most := int(after.TotalAlloc-before.TotalAlloc), factor*(heldFactor*len(value)+heldFixed); spent > most {
				t.Errorf("%s: %d KB are allocated for %d KB; want at most %d KB (%v)", name, spent>>10, len(value)>>10, most>>10, err)
			}
			if whole := err == nil; size < 1<<20 && !whole || !whole && !errors.Is(err, ErrTooMuch) {
				t.Errorf("%s: %d KB: %v", name, len(value)>>10, err)
			}
		}
	}
}

// TestMemoryOfValuesIsExact is about the last byte that a value may take.
func TestMemoryOfValuesIsExact(t *testing.T) {
	for text, bytes := range map[string]int{
		`{}`: objectBytes, `[]`: arrayBytes, `null`: 0, `true`: 0, `"abc"`: scalarBytes + 3, `12`: scalarBytes + 2, `"\n"`: scalarBytes + 1,
		`{"ab":1}`: objectBytes + groupBytes + scalarBytes/2 + 2 + scalarBytes + 1,
		`[1,[]]`:   arrayBytes + 2*itemBytes + scalarBytes + 1 + arrayBytes,
		`{"1":null,"2":null,"3":null,"4":null,"5":null,"6":null,"7":null,"8":null}`:          objectBytes + groupBytes + 8*(scalarBytes/2+1),
		`{"1":null,"2":null,"3":null,"4":null,"5":null,"6":null,"7":null,"8":null,"9":null}`: objectBytes + groupBytes + 9*(scalarBytes/2+1) + memberBytes,
	} {
		for spare, fits := range map[int]bool{0: true, -1: false} {
			d := decoder{Reader: strictjson.Read([]byte(text)).Unbounded(), left: bytes + spare}
			if d.value(10); (d.err == nil) != (fits || bytes == 0) || d.err != nil && !errors.Is(d.err, ErrTooMuch) {
				t.Errorf("%s with %d bytes: %v", text, bytes+spare, d.err)
			}
		}
	}
}

// TestCompiledSchemasTakeWhatTheySay compares what is held of a compiled schema with
// what it says that it takes.
func TestCompiledSchemasTakeWhatTheySay(t *testing.T) {
	for name, text := range map[string]string{
		"parts":    `{"properties":{` + many(1900, `"p%d":{"type":"string","minLength":1}`) + `}}`,
		"numbers":  `{"enum":[` + many(40_000, `%d`) + `]}`,
		"examples": `{"minProperties":1,"examples":[` + strings.TrimSuffix(strings.Repeat(`[],`, 80_000), ",") + `]}`,
		"patterns": `{"properties":{` + many(19, `"p%d":{"pattern":"a{98%[1]d}"}`) + `}}`,
		"small":    `{"minProperties":1}`,
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := compiled(t, text)
		runtime.GC()
		runtime.ReadMemStats(&after)
		held := int(after.HeapAlloc) - int(before.HeapAlloc)
		if most := s.Bytes() * 3 / 2; held > most {
			t.Errorf("%s: %d KB are held, it says %d KB", name, held>>10, s.Bytes()>>10)
		}
	}
	if free := compiled(t, `{"type":"object"}`); free.Bytes() != 0 {
		t.Errorf("what takes any object takes %d bytes", free.Bytes())
	}
}
