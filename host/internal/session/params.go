package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// appendObject appends v, which must marshal to an object or to null. null counts as an empty
// object.
func appendObject(dst []byte, v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); v == nil || ok && len(raw) == 0 {
		return append(dst, "{}"...), nil
	}
	start := len(dst)
	dst, err := strictjson.AppendValue(dst, v)
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

// appendParams appends the params of any method.
func appendParams(dst []byte, params any, meta []byte) ([]byte, error) {
	start := len(dst)
	dst, err := appendObject(dst, params)
	switch {
	case err != nil:
		return dst, fmt.Errorf("params: %w", err)
	case meta == nil:
		return dst, nil
	case member(dst[start:], "_meta") != nil:
		return appendMerged(dst, start, meta)
	}
	return closeObject(dst[:len(dst)-1], meta), nil
}

// closeObject appends meta, which is one member or empty, and the closing brace.
func closeObject(dst, meta []byte) []byte {
	if len(meta) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(dst, meta...), '}')
}

// withMember returns a copy of meta, a whole "_meta" member or nothing, with another member in it.
func withMember(meta []byte, name string, value []byte) []byte {
	out := make([]byte, 0, len(meta)+len(name)+len(value)+len(`"_meta":{"":},`))
	if meta == nil {
		out = append(out, `"_meta":{`...)
	} else {
		out = append(append(out, meta[:len(meta)-1]...), ',')
	}
	out = append(strictjson.AppendString(out, name), ':')
	return append(append(out, value...), '}')
}

// appendMerged replaces the params at dst[start:], which have a _meta of their own, by the same
// params with the members of meta added. If both have a member, the session's wins: a request must
// not contradict the others.
func appendMerged(dst []byte, start int, meta []byte) ([]byte, error) {
	var params, theirs, ours map[string]json.RawMessage
	err := errors.Join(
		json.Unmarshal(dst[start:], &params),
		json.Unmarshal(params["_meta"], &theirs),
		json.Unmarshal(meta[len(`"_meta":`):], &ours),
	)
	if err != nil {
		return dst, errors.New("params: _meta: want an object")
	}
	if theirs == nil {
		theirs = ours
	}
	maps.Copy(theirs, ours)
	if params["_meta"], err = json.Marshal(theirs); err != nil {
		return dst, fmt.Errorf("params: _meta: %w", err)
	}
	return strictjson.AppendValue(dst[:start], params)
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
