package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Several types of this package have a Raw: the whole object as the server wrote it, members
// included that the type has no field for. If it is set, Raw is marshalled, so that nothing
// is lost between a server and a reader of the JSON of a host. Code that changes a field has
// to clear Raw.

// readWhole is readBounded, and returns the whole of the object.
func readWhole(object []byte, array string, fields any) (json.RawMessage, error) {
	if err := readBounded(object, fields, array); err != nil {
		return nil, err
	}
	return bytes.Clone(object), nil
}

// readBounded decodes an object into fields. Each member with the name of one of the arrays
// may have at most [MaxElements] elements: they are counted before anything is made of them.
func readBounded(object []byte, fields any, arrays ...string) error {
	r := strictjson.Read(object)
	for name := range r.Object() {
		same := func(array string) bool { return strings.EqualFold(string(name), array) } // package json compares names so
		if !slices.ContainsFunc(arrays, same) {
			continue
		}
		elements := strictjson.Read(r.Raw())
		for range elements.Array() {
		}
		if many := (*strictjson.TooManyError)(nil); errors.As(elements.Err(), &many) {
			return many
		}
	}
	return json.Unmarshal(object, fields)
}

// writeWhole marshals raw where it is set, and the fields otherwise.
func writeWhole(raw json.RawMessage, fields any) ([]byte, error) {
	if raw != nil {
		return raw, nil
	}
	return marshal(fields)
}
