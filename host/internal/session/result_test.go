package session

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

var callResults = []string{
	`{}`,
	`{"content":[]}`,
	`{"content":null,"isError":null,"structuredContent":null,"_meta":null}`,
	`{"content":[{"type":"text","text":"hi"}],"isError":true}`,
	`{"resultType":"complete","content":[{"type":"text","text":"a\"\\\u00e4\n"}],"structuredContent":[1.0],"_meta":{"k":1}}`,
	`{"content":[{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"priority":1}},{"type":"audio","data":"","_meta":{}}]}`,
	`{"content":[{"type":"resource_link","uri":"u","name":"n","size":7},{"type":"resource","resource":{"uri":"u","text":"t"}}]}`,
	`{"content":[{"type":"hologram","text":5},{"text":"t"},{"type":"text","text":"t","icons":[]},{"Type":"text"}]}`,
	` { "content" : [ { "text" : "late type" , "type" : "text" } ] , "other" : [ { } ] } `,
}

// TestReadCall compares the decoder with encoding/json, over the decoder of
// package mcp for blocks.
func TestReadCall(t *testing.T) {
	for _, text := range callResults {
		var want mcp.CallToolResult
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got, err := readCall([]byte(text))
		if err != nil || !reflect.DeepEqual(*got, normal(want)) {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// normal returns r as the decoder leaves it: null counts as absent.
func normal(r mcp.CallToolResult) mcp.CallToolResult {
	if r.Content == nil {
		r.Content = []mcp.Content{}
	}
	for _, raw := range []*json.RawMessage{&r.StructuredContent, &r.Meta} {
		if string(*raw) == "null" {
			*raw = nil
		}
	}
	return r
}

func TestReadCallRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                     "invalid result: want an object",
		`{"content":{}}`:                         "invalid result: want an array",
		`{"isError":"no"}`:                       "invalid result: want true or false",
		`{"content":["x"]}`:                      "invalid result: content 0: content block: expected an object, got string",
		`{"content":[{"type":"text","text":5}]}`: `invalid result: content 0: content block: member "text": unexpected number`,
		`{"content":[{"type":"text","text":""},{"type":5}]}`: `invalid result: content 1: content block: member "type": unexpected number`,
	} {
		if _, err := readCall([]byte(text)); !errors.Is(err, ErrInvalidResult) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// FuzzReadCall holds that every block of a result that can be read can be
// written, and read again, whatever the peer lets through.
func FuzzReadCall(f *testing.F) {
	for _, text := range callResults {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strictjson.Valid(text, 0) != nil {
			return
		}
		got, err := readCall(text)
		if err != nil {
			return
		}
		for i, block := range got.Content {
			out, err := json.Marshal(block)
			if err != nil {
				t.Fatalf("%s: block %d cannot be written: %v", text, i, err)
			}
			var again mcp.Content
			if err := json.Unmarshal(out, &again); err != nil {
				t.Fatalf("%s: block %d was written as %s: %v", text, i, out, err)
			}
		}
	})
}

// FuzzServerWords feeds every reader of a server's results. None may panic.
func FuzzServerWords(f *testing.F) {
	f.Add([]byte(discoverResult))
	f.Add([]byte(initializeResult("2025-11-25")))
	f.Add([]byte(`{"tools":[{"name":"a","annotations":{"readOnlyHint":1}}],"nextCursor":""}`))
	f.Add([]byte(`{"mode":"url","url":"u"}`))
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A","anyOf":[{"items":[true]}]}}}`))
	f.Add([]byte(`{"inputRequests":{"a":{"method":"roots/list","params":{}}},"requestState":"s"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if strictjson.Valid(text, 0) != nil {
			return
		}
		readInitialize(text)
		readDiscover(text)
		readElicitation(text)
		readHeaderParams(text)
		readInputRequired(text)
		readType(text)
		readProgress(text)
		readAcknowledged(text)
		memberText(text, "uri")
		readTask(text)
		readFault(text)
		newToolList(false).add(text, dialect{era: mcp.Modern, paramHeaders: true})
		for _, l := range []interface {
			add([]byte, dialect) (bool, error)
		}{ptr(newList(&resourceKind)), ptr(newList(&templateKind)), ptr(newList(&promptKind))} {
			l.add(text, dialect{era: mcp.Modern})
		}
	})
}

// FuzzParams holds that params made of anything are one object, with our _meta
// in it where there is one.
func FuzzParams(f *testing.F) {
	f.Add([]byte(`{}`), true)
	f.Add([]byte(`{"a":{"_meta":1},"_meta":{"progressToken":"x"}}`), true)
	f.Add([]byte("{ \"a\"\n:\r1}"), false)
	meta := []byte(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	f.Fuzz(func(t *testing.T, text []byte, modern bool) {
		m := meta
		if !modern {
			m = nil
		}
		out, err := appendParams([]byte("head"), json.RawMessage(text), m)
		if err != nil {
			return
		}
		out = out[len("head"):]
		if err := strictjson.Valid(out, 0); err != nil || out[0] != '{' {
			t.Fatalf("%s became %s: %v", text, out, err)
		}
		if modern && !strings.Contains(string(member(out, "_meta")), `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
			t.Fatalf("%s became %s", text, out)
		}
	})
}

func ptr[T any](v T) *T { return &v }
