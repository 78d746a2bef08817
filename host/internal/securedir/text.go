package securedir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Format returns v as indented JSON, for a file that a person may read.
func Format(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "\t")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// Parse reads a text of [Format] into v, strictly: it must be UTF-8, have no member that
// v does not know, and end where v does. The caller checks the values.
func Parse(text []byte, v any) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the end")
	}
	return nil
}
