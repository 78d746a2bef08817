package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Bounds of schemas and of the values that are checked. The largest schemas seen in practice are
// about a tenth of this.
const (
	maxSchemaBytes = mcp.MaxSchemaBytes
	maxSchemaDepth = 64
	maxValueBytes  = 4 << 20
	maxValueDepth  = 128

	// Numbers are compared exactly, which takes as much work as the digits that their exponents
	// stand for. The library reads some numbers as nil, and then dereferences the nil.
	maxDigits   = 100
	maxExponent = 400
)

// A decoded value of many small things takes far more memory than its text: `{"":0}` takes 400
// bytes. So a value may take heldFactor bytes for each byte of text, and heldFixed in addition. A
// value that would take more is not decoded. The other constants are the approximate sizes of
// things on a 64-bit machine.
const (
	heldFactor = 3
	heldFixed  = 12 << 20

	objectBytes = 48  // of an empty object
	groupBytes  = 288 // for its first members
	groupSize   = 8   // the number of those members
	memberBytes = 80  // for each further member
	arrayBytes  = 24
	itemBytes   = 40 // including spare capacity
	scalarBytes = 32 // in addition to the bytes of its text
)

// decode reads valid JSON text as the library wants it. Strings are copied, so
// the text is not kept.
func decode(text []byte, depth int) (any, error) {
	d := decoder{Reader: strictjson.Read(text).Unbounded(), left: heldFactor*len(text) + heldFixed}
	value := d.value(depth)
	if d.err == nil && d.Err() != nil {
		d.err = d.Err()
	}
	return value, d.err
}

type decoder struct {
	*strictjson.Reader
	left int // bytes that may still be taken
	err  error
}

// take counts bytes that are allocated next. Too many are an error.
func (d *decoder) take(bytes int) {
	if d.left -= bytes; d.left < 0 && d.err == nil {
		d.err = fmt.Errorf("%w: it has so many parts that it takes too much memory", ErrTooMuch)
	}
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
		text := d.Text()
		if d.take(scalarBytes + len(text)); d.err != nil {
			return nil
		}
		return string(text)
	case 't', 'f':
		return d.Bool()
	case 'n', 0:
		d.Skip()
		return nil
	}
	text := d.Raw()
	d.take(scalarBytes + len(text))
	return d.number(string(text))
}

func (d *decoder) object(depth int) map[string]any {
	d.take(objectBytes)
	members := make(map[string]any)
	for name := range d.Object() {
		switch n := len(members); {
		case n == 0:
			d.take(groupBytes)
		case n >= groupSize:
			d.take(memberBytes)
		}
		d.take(len(name) + scalarBytes/2)
		key := string(name)
		members[key] = d.value(depth)
		if d.err != nil {
			break
		}
	}
	return members
}

func (d *decoder) array(depth int) []any {
	d.take(arrayBytes)
	items := []any{}
	for range d.Array() {
		d.take(itemBytes)
		items = append(items, d.value(depth))
		if d.err != nil {
			break
		}
	}
	return items
}

// number returns a number. One that is too long to be compared is an error.
func (d *decoder) number(text string) any {
	exponent, err := 0, error(nil)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err = strconv.Atoi(text[i+1:])
	}
	if err != nil || len(text) > maxDigits || exponent < -maxExponent || exponent > maxExponent {
		d.err = errors.New("there is a number in it that is too long to be compared")
	}
	return json.Number(text)
}
