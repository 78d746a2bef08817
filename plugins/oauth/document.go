package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// maxDepth bounds how deep the JSON of a stranger may be nested.
const maxDepth = 32

// document is a JSON object from a stranger. Each of its methods returns one
// member, and "" or nothing for one that is absent or null. A member of a
// wrong type becomes the error of the whole document, which its reader checks
// last. Names are compared exactly, so that nothing can hide behind another
// spelling.
type document struct {
	members map[string]json.RawMessage
	err     error
}

// errNotJSON says that an answer does not claim to be JSON.
var errNotJSON = errors.New("its content type is not that of JSON")

// readDocument reads the body of an answer whose content type is JSON. A page that is not found
// often comes as HTML with status 200.
func readDocument(r *auth.Response) (*document, error) {
	kind, _, _ := strings.Cut(strings.ToLower(r.Headers["content-type"]), ";")
	if kind = strings.TrimSpace(kind); kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, errNotJSON
	}
	return parseDocument(r.Body)
}

func parseDocument(text string) (*document, error) {
	if depthOf(text) > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	d := &document{}
	if json.Unmarshal([]byte(text), &d.members) != nil || d.members == nil {
		return nil, errors.New("it is no JSON object")
	}
	return d, nil
}

// depthOf returns how deep text is nested, if it is JSON.
func depthOf(text string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// read decodes a member into v and reports whether it is there.
func (d *document) read(name, kind string, v any) bool {
	raw, ok := d.members[name]
	if !ok || string(raw) == "null" {
		return false
	}
	if json.Unmarshal(raw, v) != nil {
		d.fault(name, kind)
		return false
	}
	return true
}

func (d *document) fault(name, kind string) {
	if d.err == nil {
		d.err = fmt.Errorf("its %s is no %s", name, kind)
	}
}

func (d *document) text(name string) string {
	var s string
	d.read(name, "text", &s)
	return s
}

func (d *document) texts(name string) []string {
	var s []string
	d.read(name, "list of texts", &s)
	return s
}

func (d *document) flag(name string) bool {
	var b bool
	d.read(name, "true or false", &b)
	return b
}

// seconds returns a number of seconds. It also reads a text, as some servers send.
func (d *document) seconds(name string) (n int64, ok bool) {
	var number json.Number
	if !d.read(name, "number of seconds", &number) {
		return 0, false
	}
	f, err := strconv.ParseFloat(number.String(), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		d.fault(name, "number of seconds")
		return 0, false
	}
	return int64(min(f, maxSeconds)), true
}

// maxSeconds is ten years, so that no sum overflows.
const maxSeconds = 10 * 366 * 24 * 3600

// brief returns a stranger's text in a form that is fit for a message to people.
func brief(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || !strconv.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxBrief {
		s = strings.ToValidUTF8(s[:maxBrief], "") + "…"
	}
	return s
}

const maxBrief = 200
