package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// Bounds of the output of a command. The host has the same bounds for a request.
const (
	maxHeaders = 64
	maxBytes   = 32 << 10 // of all headers
)

// output holds what a command has printed.
type output struct {
	headers map[string]string
	token   string
	expires time.Time // zero if it is not known
}

// The keys of the output that are no headers.
const (
	keyHeaders   = "headers"
	keyToken     = "token"
	keyExpiresAt = "expires_at"
	keyExpiresIn = "expires_in"
)

// parse reads the output of a command: headers in an object of their own, or flat,
// as Claude Code's headersHelper prints them. The text of its errors continues
// "printed". Errors quote nothing of the output, since any part of it may be a
// secret.
func parse(text string, now time.Time) (o output, err error) {
	fields, err := object(strings.TrimPrefix(text, "\uFEFF"))
	if err != nil {
		return o, err
	}
	if o.expires, err = expiry(fields, now); err != nil {
		return o, err
	}
	if raw, ok := take(fields, keyToken); ok && (json.Unmarshal(raw, &o.token) != nil || o.token == "") {
		return o, errors.New(`a "token" that is no text or an empty one`)
	}
	if raw, ok := take(fields, keyHeaders); ok {
		if len(fields) > 0 {
			return o, errors.New(`a key beside "headers" other than token, expires_at and expires_in`)
		}
		if fields, err = object(string(raw)); err != nil {
			return o, fmt.Errorf(`in "headers" %w`, err)
		}
	}
	if o.headers, err = headers(fields); err != nil {
		return o, err
	}
	return o, o.check()
}

// headers returns the values as texts.
func headers(fields map[string]json.RawMessage) (map[string]string, error) {
	texts := make(map[string]string, len(fields))
	folded := make(map[string]bool, len(fields))
	for name, raw := range fields {
		var value string
		if raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
			return nil, errors.New("a header whose value is no text in quotes")
		}
		lower := strings.ToLower(name)
		if folded[lower] {
			return nil, errors.New("a header twice, once in upper and once in lower case")
		}
		folded[lower], texts[name] = true, value
	}
	return texts, nil
}

// check refuses headers that a request cannot carry.
func (o *output) check() error {
	size := len(o.token)
	for name, value := range o.headers {
		if err := auth.CheckHeader(name, value); err != nil {
			return fmt.Errorf("headers that cannot be sent: %w", err)
		}
		if o.token != "" && strings.EqualFold(name, "Authorization") {
			return errors.New(`both "token" and the header Authorization, which is where a token goes`)
		}
		size += len(name) + len(value)
	}
	if o.token != "" {
		if err := auth.CheckHeader("Authorization", o.token); err != nil || strings.Contains(o.token, " ") {
			return errors.New(`a "token" with a space or a line end in it; for another scheme than Bearer print headers`)
		}
	}
	switch {
	case o.token == "" && len(o.headers) == 0:
		return errors.New("no headers")
	case len(o.headers) > maxHeaders || size > maxBytes:
		return fmt.Errorf("%d headers of %d bytes; there may be %d of %d", len(o.headers), size, maxHeaders, maxBytes)
	}
	return nil
}

// wasRefused reports whether the server has just refused this output.
func (o *output) wasRefused(c *auth.Challenge) bool {
	if c == nil || c.Token == "" {
		return false
	}
	if o.token != "" {
		return o.token == c.Token
	}
	for name, value := range o.headers {
		if _, token, _ := strings.Cut(value, " "); strings.EqualFold(name, "Authorization") {
			return value == c.Token || token == c.Token
		}
	}
	return false
}

// credentials returns the output in the form that the host wants.
func (o *output) credentials() (c auth.Credentials) {
	if !o.expires.IsZero() {
		c.ExpiresAt = o.expires.UnixMilli()
	}
	switch {
	case o.token == "":
		c.Headers = o.headers
	case len(o.headers) == 0:
		c.Scheme, c.Token = "Bearer", o.token
	default:
		c.Headers = o.headers
		c.Headers["Authorization"] = "Bearer " + o.token
	}
	return c
}

// expiry removes the expiry from the fields, and returns it.
func expiry(fields map[string]json.RawMessage, now time.Time) (at time.Time, err error) {
	in, relative := take(fields, keyExpiresIn)
	raw, absolute := take(fields, keyExpiresAt)
	switch {
	case relative && absolute:
		return at, errors.New("both expires_at and expires_in; leave one of the two out")
	case relative:
		n, ok := seconds(in)
		if !ok || n > maxLife {
			return at, errors.New("an expires_in that is no number of seconds up to ten years")
		}
		return now.Add(time.Duration(n * float64(time.Second))), nil
	case absolute:
		return moment(raw)
	}
	return at, nil
}

const (
	maxLife   = 10 * 366 * 24 * 3600 // seconds
	maxMoment = 1e11                 // seconds; a greater number is in milliseconds, or nonsense
)

// moment reads a time, in either of the forms that programs print.
func moment(raw json.RawMessage) (at time.Time, err error) {
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		if at, err = time.Parse(time.RFC3339, text); err != nil || at.Unix() <= 0 || at.Unix() >= maxMoment {
			return at, errors.New("an expires_at that is no time as in 2026-01-31T12:00:00Z")
		}
		return at, nil
	}
	n, ok := seconds(raw)
	if !ok || n >= maxMoment {
		return at, errors.New("an expires_at that is no Unix time in seconds, and no text like 2026-01-31T12:00:00Z")
	}
	return time.UnixMilli(int64(n * 1000)), nil
}

// seconds reads a number above zero.
func seconds(raw json.RawMessage) (n float64, ok bool) {
	err := json.Unmarshal(raw, &n)
	return n, err == nil && n > 0 && !math.IsInf(n, 0)
}

func take(fields map[string]json.RawMessage, key string) (raw json.RawMessage, ok bool) {
	raw, ok = fields[key]
	delete(fields, key)
	return raw, ok
}

// object reads a JSON object and nothing after it. Unlike encoding/json it refuses a
// key that stands twice: of two expiries, which one did the command mean?
func object(text string) (map[string]json.RawMessage, error) {
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" {
		return nil, errors.New("nothing")
	}
	if text[0] != '{' {
		return nil, errors.New("no JSON object: at its beginning is " + kind(text[0]))
	}
	d := json.NewDecoder(strings.NewReader(text))
	fields := make(map[string]json.RawMessage)
	if _, err := d.Token(); err != nil {
		return nil, errors.New("JSON that is broken")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, broken(d)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, broken(d)
		}
		if _, twice := fields[key.(string)]; twice {
			return nil, errors.New("a JSON object with a key that it has twice")
		}
		fields[key.(string)] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, broken(d)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something after the JSON object")
	}
	return fields, nil
}

func broken(d *json.Decoder) error {
	return fmt.Errorf("JSON that is broken at about byte %d", d.InputOffset())
}

// kind describes the first byte of an output that is no JSON object, for errors.
func kind(c byte) string {
	switch {
	case c == '[':
		return "a list"
	case c == '"':
		return "a text in quotes"
	case c == '<':
		return "a <, as in HTML"
	case c >= '0' && c <= '9' || c == '-':
		return "a digit"
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return "a letter"
	case c < ' ' || c >= 0x7f:
		return "what is no text"
	}
	return "a sign"
}
