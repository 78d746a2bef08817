package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// member returns the JSON text of a member of an object, or nil if there is none. path
// leads through nested objects. object may be any checked JSON, or nil.
func member(object []byte, path ...string) json.RawMessage {
	for _, name := range path {
		r := strictjson.Read(object)
		object = nil
		for key := range r.Object() {
			if object == nil && string(key) == name {
				object = r.Raw()
			}
		}
	}
	return object
}

// text returns the value of a member that is a string, or "" if there is none.
func text(object []byte, path ...string) string {
	return unquote(member(object, path...))
}

// unquote returns the text of a JSON string, or "" for another value.
func unquote(value json.RawMessage) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return string(strictjson.Unquote(value))
}

// meta returns a member of the _meta of params or of a result, or nil.
func meta(params []byte, name string) json.RawMessage { return member(params, "_meta", name) }

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// change gives a member of an object a new value; nil removes the member.
type change struct {
	name  string
	value json.RawMessage
}

// edit returns a copy of an object with the changes made. Unchanged members keep their bytes and
// their order. New members come last. A nil object counts as empty.
func edit(object []byte, changes ...change) json.RawMessage {
	out := make([]byte, 1, len(object)+64)
	out[0] = '{'
	put := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strictjson.AppendString(out, name), ':'), value...)
	}
	made := make([]bool, len(changes))
	r := strictjson.Read(object)
	if r.Kind() == '{' {
		for key := range r.Object() {
			name, value := string(key), r.Raw()
			for i, c := range changes {
				if c.name != name {
					continue
				}
				if value = c.value; made[i] {
					value = nil // the object had the member twice
				}
				made[i] = true
			}
			if value != nil {
				put(name, value)
			}
		}
	}
	for i, c := range changes {
		if !made[i] && c.value != nil {
			put(c.name, c.value)
		}
	}
	return append(out, '}')
}

// editMeta returns a copy of params with the changes made in their _meta. It removes a _meta that
// becomes empty.
func editMeta(params []byte, changes ...change) json.RawMessage {
	changed := edit(member(params, "_meta"), changes...)
	if bytes.Equal(changed, []byte("{}")) {
		changed = nil
	}
	return edit(params, change{"_meta", changed})
}

func quote(s string) json.RawMessage { return strictjson.AppendString(nil, s) }

// members returns the members of an object by name, or nil if it is no object.
func members(object []byte) map[string]json.RawMessage {
	if !isObject(object) {
		return nil
	}
	all := make(map[string]json.RawMessage)
	r := strictjson.Read(object)
	for key := range r.Object() {
		all[string(key)] = r.Raw()
	}
	return all
}

// implementation reads the name and version of a client, for display. It leaves out members of
// a wrong type.
func implementation(raw []byte) (i mcp.Implementation) {
	i.Name, i.Title, i.Version = text(raw, "name"), text(raw, "title"), text(raw, "version")
	i.Description, i.WebsiteURL, i.Icons = text(raw, "description"), text(raw, "websiteUrl"), member(raw, "icons")
	return i
}
