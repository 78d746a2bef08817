package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// appendObject appends v, which must marshal to an object or to null. null counts as an empty
// object. A [json.RawMessage] keeps its bytes, see [strictjson.AppendLine].
func appendObject(dst []byte, v any) (_ []byte, err error) {
	start := len(dst)
	switch raw, written := rawOf(v); {
	case v == nil || written && len(raw) == 0:
		return append(dst, "{}"...), nil
	case written:
		dst, err = strictjson.AppendLine(dst, raw)
	default:
		dst, err = strictjson.AppendValue(dst, v)
	}
	if err != nil {
		return dst, err
	}
	switch dst[start] {
	case '{':
		return dst, nil
	case 'n':
		return append(dst[:start], "{}"...), nil
	}
	return dst[:start], fmt.Errorf("want an object, got %s", kinds[dst[start]])
}

// rawOf returns v if it is JSON already. Otherwise written is false.
func rawOf(v any) (raw []byte, written bool) {
	switch v := v.(type) {
	case json.RawMessage:
		return v, true
	case *json.RawMessage:
		if v != nil {
			return *v, true
		}
	}
	return nil, false
}

// kinds names the kind of a JSON value by its first byte. Every other byte begins a number.
var kinds = func() (names [256]string) {
	for i := range names {
		names[i] = "a number"
	}
	names['['], names['"'], names['t'], names['f'] = "an array", "a string", "true", "false"
	return names
}()

// appendCall appends the params of tools/call.
func appendCall(dst []byte, name string, args any, meta []byte) ([]byte, error) {
	dst, err := strictjson.AppendStrict(append(dst, `{"name":`...), name)
	if err != nil {
		return dst, fmt.Errorf("name of the tool: %w", err)
	}
	dst, err = appendObject(append(dst, `,"arguments":`...), args)
	if err != nil {
		return dst, fmt.Errorf("arguments: %w", err)
	}
	return closeObject(dst, meta), nil
}

// appendParams appends the params of any method. What they have in _meta stays as it is written,
// unless meta has it too or drop reports true for its name; drop may be nil.
func appendParams(dst []byte, params any, meta []byte, drop func(name []byte) bool) ([]byte, error) {
	start := len(dst)
	dst, err := appendObject(dst, params)
	if err == nil && (meta != nil || drop != nil) {
		dst, err = spliceMeta(dst, start, meta, drop)
	}
	if err != nil {
		return dst, fmt.Errorf("params: %w", err)
	}
	return dst, nil
}

// closeObject appends meta, which has members or is empty, and the closing brace.
func closeObject(dst, meta []byte) []byte {
	dst = bytes.TrimRight(dst, " \t")
	if len(meta) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(dst, meta...), '}')
}

// withMember returns a copy of meta, a whole "_meta" member or nothing, with another member in it.
func withMember(meta []byte, name string, value []byte) []byte {
	return withWritten(meta, append(append(strictjson.AppendString(nil, name), ':'), value...))
}

// withWritten is withMember for a member that is written already, with its name.
func withWritten(meta, member []byte) []byte {
	out := make([]byte, 0, len(meta)+len(member)+len(`"_meta":{},`))
	if meta == nil {
		out = append(out, `"_meta":{`...)
	} else {
		out = append(out, meta[:len(meta)-1]...)
	}
	return closeObject(out, member)
}

// spliceMeta merges meta, a whole "_meta" member or nil, into the params at dst[start:]. A member
// that both have keeps the value of meta: a request must not contradict the others of its session.
// drop, if not nil, names members of the params' own _meta that are left out.
func spliceMeta(dst []byte, start int, meta []byte, drop func(name []byte) bool) ([]byte, error) {
	at, end := 0, 0
	r := strictjson.Read(dst[start:])
	for name := range r.Object() {
		if string(name) != "_meta" {
			continue
		}
		if at > 0 {
			return dst, errors.New("_meta is there twice")
		}
		at = start + r.Offset()
		r.Skip()
		end = start + r.Offset()
	}
	switch {
	case meta == nil && (at == 0 || dst[at] != '{'):
		return dst, nil
	case at == 0:
		return closeObject(dst[:len(dst)-1], meta), nil
	case dst[at] != '{' && dst[at] != 'n':
		return dst, fmt.Errorf("_meta: want an object, got %s", kinds[dst[at]])
	}
	var ours []byte // the object that is the value of meta
	if meta != nil {
		ours = meta[len(`"_meta":`):]
	}
	out, dropped := []byte{'{'}, false
	for name, written := range members(dst[at:end]) {
		if member(ours, string(name)) != nil || drop != nil && drop(name) {
			dropped = true
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, written...)
	}
	if meta == nil && !dropped {
		return dst, nil
	}
	if meta != nil {
		ours = ours[1 : len(ours)-1]
	}
	return slices.Replace(dst, at, end, closeObject(out, ours)...), nil
}

// members iterates over the members of an object: the name, and the whole member as it is written.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, written []byte) bool) {
		r, end := strictjson.Read(object), 0
		for name := range r.Object() {
			r.Skip()
			if !yield(name, bytes.TrimLeft(object[end:r.Offset()], "{, \t\r\n")) {
				return
			}
			end = r.Offset()
		}
	}
}

// member returns the value of an object's member, or nil.
func member(object []byte, name string) []byte {
	r := strictjson.Read(object)
	for key := range r.Object() {
		if string(key) == name {
			return r.Raw()
		}
	}
	return nil
}

// memberText returns the text of an object's member, or "" if the member is no string.
func memberText(object []byte, name string) string {
	return strictjson.Read(member(object, name)).String()
}
