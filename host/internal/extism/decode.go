package extism

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// maxParts is how many elements and members a plugin's JSON may have, without the first of each
// list and object. An action takes three bytes of text, {} and a comma, but 128 bytes of memory.
// The contract needs far fewer; the rest is for a state.
const maxParts = 50_000

// parts counts the elements and members, by the commas outside of strings.
func parts(b []byte) (commas int) {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch {
		case quoted && b[i] == '\\':
			i++
		case b[i] == '"':
			quoted = !quoted
		case !quoted && b[i] == ',':
			commas++
		}
	}
	return commas
}

// Decode decodes the JSON of a plugin. It refuses names that v does not have, and text after the value. The error
// quotes no value, which may be a secret.
func Decode(b []byte, v any) error {
	if n := parts(b); n > maxParts {
		return fmt.Errorf("it has %d parts, there may be %d", n, maxParts)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var wrong *json.UnmarshalTypeError
	switch err := d.Decode(v); {
	case errors.As(err, &wrong):
		kind, _, _ := strings.Cut(wrong.Value, " ") // the number itself may follow the word
		return fmt.Errorf("%s is a %s, and not a %s", cleantext.Line(wrong.Field, 64), kind, wrong.Type)
	case err != nil:
		return errors.New(cleantext.Line(err.Error(), 200))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is something behind it")
	}
	return nil
}
