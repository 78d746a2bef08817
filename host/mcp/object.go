package mcp

import (
	"bytes"
	"encoding/json"
)

// Several types of this package have a Raw: the whole object as the server wrote
// it, members included that the type has no field for. It is what is marshalled
// where it is set, so that nothing is lost between a server and a reader of the JSON of
// a host. Code that changes a field has to clear Raw.

// readWhole decodes an object into fields, and returns the whole of it.
func readWhole(object []byte, fields any) (json.RawMessage, error) {
	if err := json.Unmarshal(object, fields); err != nil {
		return nil, err
	}
	return bytes.Clone(object), nil
}

// writeWhole marshals raw where it is set, and the fields otherwise.
func writeWhole(raw json.RawMessage, fields any) ([]byte, error) {
	if raw != nil {
		return raw, nil
	}
	return marshal(fields)
}
