package main

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// shape prints the members of a JSON object, and then of the objects in it.
func (r *reference) shape(value any) {
	r.head("member", "type", "meaning")
	r.members(reflect.TypeOf(value), "")
	r.printf("\n")
}

func (r *reference) members(of reflect.Type, before string) {
	for _, m := range membersOf(of) {
		name, optional := m.name, ""
		if m.optional {
			optional = "?"
		}
		word, inner := wordFor(m.field.Type)
		r.row("`"+before+name+optional+"`", word, strings.Trim(r.sources.field(r.t, m.of, m.field.Name), " ."))
		if inner != nil && strings.Count(before, ".") < 2 {
			if strings.HasPrefix(word, "array") {
				name += "[]"
			}
			r.members(inner, before+name+".")
		}
	}
}

// member is a field of a struct as JSON has it.
type member struct {
	name     string
	optional bool
	field    reflect.StructField
	of       reflect.Type // the struct that has the field, which may be embedded
}

// membersOf returns the members of the JSON object that a struct becomes.
func membersOf(of reflect.Type) (list []member) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case field.Anonymous && name == "":
			list = append(list, membersOf(field.Type)...)
		default:
			list = append(list, member{cmp.Or(name, field.Name), strings.Contains(options, "omit"), field, of})
		}
	}
	return list
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	jsonType = reflect.TypeFor[json.Marshaler]()
)

// wordFor is what a Go type is in JSON, and the struct whose members are to be listed.
func wordFor(of reflect.Type) (word string, inner reflect.Type) {
	switch {
	case of == timeType:
		return "time", nil
	case of == rawType:
		return "any", nil
	case strings.HasSuffix(of.PkgPath(), "/host/mcp") && of.Kind() == reflect.Struct:
		return "object, as the server wrote it", nil
	case of.Implements(textType):
		return "text", nil
	case of.Implements(jsonType):
		return "any", nil
	}
	switch of.Kind() {
	case reflect.String:
		return "text", nil
	case reflect.Bool:
		return "true or false", nil
	case reflect.Struct:
		return "object", of
	case reflect.Pointer:
		return wordFor(of.Elem())
	case reflect.Slice, reflect.Array:
		word, inner = wordFor(of.Elem())
		return "array of " + word, inner
	case reflect.Map:
		return "object", nil
	case reflect.Interface:
		return "any", nil
	}
	return "number", nil
}
