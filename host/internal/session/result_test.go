package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"slices"
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

// FuzzParams holds that params made of anything are one object, with our _meta in it where
// there is one, and that nothing else of them changes.
func FuzzParams(f *testing.F) {
	f.Add([]byte(`{}`), true, false)
	f.Add([]byte(`{"a":{"_meta":1},"_meta":{"progressToken":"x"}}`), true, true)
	f.Add([]byte("{ \"a\"\n:\r1}"), false, false)
	f.Add([]byte(`{ "_m\u0065ta" : { "a" : 1e400 , "progressToken":{"x":"\\\"}"},"a":2, "progressTok\u0065n":1 } , "b":[ ] }`), false, true)
	f.Add([]byte(`{"b":0,"_meta":{"io.modelcontextprotocol/protocolVersion":1,"c":-0}}`), true, false)
	f.Add([]byte(`{"_meta":null}`), true, true)
	f.Add([]byte(`{"_meta":{},"_meta":{}}`), true, true)
	meta := []byte(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	ours := string(meta[len(`"_meta":{`) : len(meta)-1])
	f.Fuzz(func(t *testing.T, text []byte, modern, relay bool) {
		m, drop := meta, func([]byte) bool { return false }
		if !modern {
			m = nil
		}
		if relay {
			drop = (&dialect{era: mcp.Modern}).others
		}
		out, err := appendParams([]byte("head"), json.RawMessage(text), m, drop)
		if err != nil {
			return
		}
		if out = out[len("head"):]; strictjson.Valid(out, 0) != nil || out[0] != '{' {
			t.Fatalf("%s became %s", text, out)
		}
		if len(text) == 0 || text[strictjson.Start(text)] != '{' {
			text = []byte("{}")
		}
		want, had := []string{}, false
		for name, written := range parts(t, text) {
			if name != "_meta" {
				want = append(want, written)
				continue
			}
			had = true
			value := member(text, "_meta")
			if value[0] != '{' && !modern {
				want = append(want, string(value))
				continue
			}
			for name, written := range parts(t, value) {
				if !(modern && name == mcp.MetaProtocolVersion || drop([]byte(name))) {
					want = append(want, written)
				}
			}
			if modern {
				want = append(want, ours)
			}
		}
		if modern && !had {
			want = append(want, ours)
		}
		var got []string
		for name, written := range parts(t, out) {
			switch value := member(out, "_meta"); {
			case name != "_meta":
				got = append(got, written)
			case value[0] != '{':
				got = append(got, string(value))
			default:
				for _, written := range parts(t, value) {
					got = append(got, written)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s became %s: members %q, want %q", text, out, got, want)
		}
	})
}

// parts returns the members of an object, found by another decoder, as a line has them.
func parts(t *testing.T, object []byte) iter.Seq2[string, string] {
	return func(yield func(name, written string) bool) {
		if object[strictjson.Start(object)] != '{' {
			return // null
		}
		d := json.NewDecoder(bytes.NewReader(object))
		d.Token()
		for d.More() {
			end := d.InputOffset()
			name, err := d.Token()
			var value json.RawMessage
			if err == nil {
				err = d.Decode(&value)
			}
			if err != nil {
				t.Fatal(err)
			}
			written := strings.TrimLeft(string(object[end:d.InputOffset()]), "{, \t\r\n")
			if !yield(name.(string), strings.NewReplacer("\r", "", "\n", "").Replace(written)) {
				return
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }
