package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Several types of this package have a Raw. It is the whole object as the server wrote it, with
// the members that the type has no field for. If Raw is set, it is what is marshalled, so that
// nothing is lost between a server and a reader of the JSON of a host. Code that changes a field
// has to clear Raw.

// readWhole decodes an object as readBounded does, and returns all of it.
func readWhole(object []byte, array string, fields any) (json.RawMessage, error) {
	if err := readBounded(object, fields, array); err != nil {
		return nil, err
	}
	return bytes.Clone(object), nil
}

// readBounded decodes an object into fields. A member with the name of one of the arrays may
// have at most [MaxElements] elements, which are counted before any is decoded.
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
