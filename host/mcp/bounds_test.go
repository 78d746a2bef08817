package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// lists are the types of this package that have lists. Those that only a client
// writes are nil.
var lists = map[string]any{
	"CallToolResult": new(CallToolResult), "Completion": new(Completion), "DiscoverResult": new(DiscoverResult), "Filter": new(Filter),
	"GetPromptResult": new(GetPromptResult), "ListRootsResult": nil, "Prompt": new(Prompt), "ReadResourceResult": new(ReadResourceResult),
}

// TestListsAreBounded reads each list of each type with as many elements as are read,
// and with one more.
func TestListsAreBounded(t *testing.T) {
	if found := typesWithLists(t); !slices.Equal(found, slices.Sorted(maps.Keys(lists))) {
		t.Errorf("types with lists are %q", found)
	}
	for name, value := range lists {
		if value == nil {
			continue
		}
		fields := reflect.TypeOf(value).Elem()
		for i := range fields.NumField() {
			field := fields.Field(i)
			if field.Type.Kind() != reflect.Slice || field.Type == reflect.TypeFor[json.RawMessage]() {
				continue
			}
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			element := `{}`
			if field.Type.Elem().Kind() == reflect.String {
				element = `""`
			}
			for _, spelled := range []string{tag, strings.ToUpper(tag)} { // the package json takes both
				read := func(n int) (int, error) {
					into := reflect.New(fields)
					text := fmt.Sprintf(`{%q:[%s]}`, spelled, strings.TrimSuffix(strings.Repeat(element+",", n), ","))
					err := json.Unmarshal([]byte(text), into.Interface())
					return into.Elem().Field(i).Len(), err
				}
				if n, err := read(MaxElements); n != MaxElements || err != nil {
					t.Errorf("%s.%s: at the bound: %d, %v", name, spelled, n, err)
				}
				if n, err := read(MaxElements + 1); n != 0 || !errors.As(err, new(*strictjson.TooManyError)) {
					t.Errorf("%s.%s: one over: %d, %v", name, spelled, n, err)
				}
			}
		}
	}
}

// typesWithLists returns the exported structs that have a slice for a member of JSON.
func typesWithLists(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && slices.ContainsFunc(s.Fields.List, isList) {
				names = append(names, spec.Name.Name)
			}
			return false
		})
	}
	return slices.Sorted(slices.Values(names))
}

func isList(f *ast.Field) bool {
	_, slice := f.Type.(*ast.ArrayType)
	return slice && f.Tag != nil
}

// TestMembersOfABlock: of several members of a name the last counts, and members that
// are no fields make no difference to the others.
func TestMembersOfABlock(t *testing.T) {
	for text, want := range map[string]Content{
		`{"type":"image","type":"text","text":"a","text":"b"}`:               {Type: "text", Text: "b"},
		`{"text":7,"text":"b","type":"text"}`:                                {Type: "text", Text: "b"},
		`{"type":"text","size":1,"size":null}`:                               {Type: "text"},
		`{"\u0074ype":"text","text":"a"}`:                                    {Type: "text", Text: "a"},
		`{"type":"resource","resource":{"uri":"a"},"resource":{"text":"b"}}`: {Type: "resource", Resource: &ResourceContents{Text: "b"}},
	} {
		var got Content
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
