package jsonschema

import (
	"encoding/json"
	"strings"
)

// A plainReader recognizes schemas that fit their meta-schema at a glance, in each
// draft since 6: those made of common keywords with values of the right kind. Most schemas
// of tools are, and for these no meta-schema need be compiled, which takes 1 ms and 0.4 MB.
type plainReader struct {
	engine RegexpEngine
}

// schema reports whether a value is such a schema. False says nothing about it.
func (p plainReader) schema(v any) bool {
	members, isObject := v.(map[string]any)
	for name, value := range members {
		if !p.keyword(name, value) {
			return false
		}
	}
	_, isBool := v.(bool)
	return isObject || isBool
}

func (p plainReader) keyword(name string, value any) bool {
	switch name {
	case "default", "const":
		return true
	case "title", "description", "$comment", "format":
		_, ok := value.(string)
		return ok
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		_, ok := value.(bool)
		return ok
	case "examples":
		_, ok := value.([]any)
		return ok
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		_, ok := value.(json.Number)
		return ok
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		n, ok := value.(json.Number)
		return ok && only(string(n), "0123456789")
	case "type":
		if text, ok := value.(string); ok {
			return typeFromString(text) != invalidType
		}
		return len(differing(value, isType)) > 0
	case "enum":
		return len(differing(value, isAny)) > 0
	case "required":
		return differing(value, isAny) != nil
	case "pattern":
		_, ok := value.(string)
		return ok && p.engine.validate(value) == nil
	case "$schema":
		text, ok := value.(string)
		return ok && draftFromURL(strings.TrimSuffix(text, "#")) != nil
	case "$ref":
		text, ok := value.(string)
		path, inside := strings.CutPrefix(text, "#")
		return ok && inside && only(path, "/$-_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	case "items", "additionalProperties", "not":
		return p.schema(value)
	case "allOf", "anyOf", "oneOf":
		list, ok := value.([]any)
		for _, item := range list {
			ok = ok && p.schema(item)
		}
		return ok && len(list) > 0
	case "properties", "$defs", "definitions":
		members, ok := value.(map[string]any)
		for _, member := range members {
			ok = ok && p.schema(member)
		}
		return ok
	}
	return false
}

func isAny(string) bool       { return true }
func isType(text string) bool { return typeFromString(text) != invalidType }

// differing returns the set of a list of strings that all differ and fit, and nil for
// any other value.
func differing(value any, fits func(string) bool) map[string]bool {
	list, ok := value.([]any)
	set := make(map[string]bool, len(list))
	for _, item := range list {
		text, isText := item.(string)
		if ok = ok && isText && fits(text) && !set[text]; !ok {
			break
		}
		set[text] = true
	}
	if !ok {
		return nil
	}
	return set
}

// only reports whether a text has no characters but those.
func only(text, characters string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(characters, r) }) < 0
}
