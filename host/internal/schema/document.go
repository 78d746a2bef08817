package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
)

// Bounds of what is checked, and against what. The largest schemas seen in the
// wild are about a tenth of this.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 64
	maxValueBytes  = 4 << 20
	maxValueDepth  = 128

	// Numbers are compared exactly, at a price that grows with what their
	// exponents spell out; the library takes some of them for nothing at all and
	// then dereferences that.
	maxDigits   = 100
	maxExponent = 400
)

// decode reads valid JSON text as the library wants it. Strings are copied, so
// the text is not kept.
func decode(text []byte, depth int) (any, error) {
	d := decoder{Reader: jsontext.Read(text)}
	value := d.value(depth)
	if d.err == nil && d.Err() != nil {
		d.err = d.Err()
	}
	return value, d.err
}

type decoder struct {
	*jsontext.Reader
	err error
}

func (d *decoder) value(depth int) any {
	if depth == 0 {
		d.err = fmt.Errorf("%w: it is nested too deep", ErrTooMuch)
	}
	if d.err != nil {
		return nil
	}
	switch d.Kind() {
	case '{':
		return d.object(depth - 1)
	case '[':
		return d.array(depth - 1)
	case '"':
		return d.String()
	case 't', 'f':
		return d.Bool()
	case 'n', 0:
		d.Skip()
		return nil
	}
	return d.number(string(d.Raw()))
}

func (d *decoder) object(depth int) map[string]any {
	members := make(map[string]any)
	for name := range d.Object() {
		key := string(name)
		members[key] = d.value(depth)
		if d.err != nil {
			break
		}
	}
	return members
}

func (d *decoder) array(depth int) []any {
	items := []any{}
	for range d.Array() {
		items = append(items, d.value(depth))
		if d.err != nil {
			break
		}
	}
	return items
}

// number takes a number that can be reckoned with.
func (d *decoder) number(text string) any {
	if len(text) > maxDigits || !small(text) {
		d.err = errors.New("there is a number in it that is too long to be compared")
	}
	return json.Number(text)
}

// small reports whether the exponent of a number is.
func small(number string) bool {
	for i := range len(number) {
		if number[i] == 'e' || number[i] == 'E' {
			n, err := strconv.Atoi(number[i+1:])
			return err == nil && -maxExponent <= n && n <= maxExponent
		}
	}
	return true
}
