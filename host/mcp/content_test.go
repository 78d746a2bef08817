package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func ptr[T any](v T) *T { return &v }

// TestContentRoundTrip reads each block, compares the fields, and expects the
// same bytes when the block is written again.
func TestContentRoundTrip(t *testing.T) {
	tests := []struct {
		name string
		json string
		want Content
	}{
		{"text", `{"type":"text","text":"a <b> & c"}`, Content{Type: "text", Text: "a <b> & c"}},
		{"empty text", `{"type":"text","text":""}`, Content{Type: "text"}},
		{"image", `{"type":"image","data":"AAAA","mimeType":"image/png"}`,
			Content{Type: "image", Data: "AAAA", MIMEType: "image/png"}},
		{"empty audio", `{"type":"audio","data":"","mimeType":"audio/wav"}`,
			Content{Type: "audio", MIMEType: "audio/wav"}},
		{"link", `{"type":"resource_link","uri":"file:///a","name":"a","title":"A","description":"d","size":0}`,
			Content{Type: "resource_link", URI: "file:///a", Name: "a", Title: "A", Description: "d", Size: ptr(int64(0))}},
		{"text resource", `{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":""}}`,
			Content{Type: "resource", Resource: &ResourceContents{URI: "file:///a", MIMEType: "text/plain"}}},
		{"blob resource", `{"type":"resource","resource":{"uri":"file:///a","_meta":{"k":1},"blob":"AAAA"}}`,
			Content{Type: "resource", Resource: &ResourceContents{URI: "file:///a", Blob: "AAAA", Meta: json.RawMessage(`{"k":1}`)}}},
		{"annotated", `{"type":"text","text":"x","annotations":{"priority":1.0},"_meta":{"k":[1]}}`,
			Content{Type: "text", Text: "x", Annotations: json.RawMessage(`{"priority":1.0}`), Meta: json.RawMessage(`{"k":[1]}`)}},
		{"unknown type", `{"type":"hologram","text":7,"data":{}}`,
			Content{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","text":7,"data":{}}`)}},
		{"no type", `{"text":"x"}`, Content{Raw: json.RawMessage(`{"text":"x"}`)}},
		{"unknown member", `{"type":"text","icons":[],"text":"x"}`,
			Content{Type: "text", Text: "x", Raw: json.RawMessage(`{"type":"text","icons":[],"text":"x"}`)}},
		{"other letter case", `{"type":"text","Text":"x"}`,
			Content{Type: "text", Raw: json.RawMessage(`{"type":"text","Text":"x"}`)}},
		{"unknown member of a resource", `{"type":"resource","resource":{"uri":"u","text":"","etag":"1"}}`,
			Content{Type: "resource", Resource: &ResourceContents{URI: "u"},
				Raw: json.RawMessage(`{"type":"resource","resource":{"uri":"u","text":"","etag":"1"}}`)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got Content
			if err := json.Unmarshal([]byte(test.json), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("read %#v, want %#v", got, test.want)
			}
			if out, err := marshal(got); err != nil || string(out) != test.json {
				t.Errorf("wrote %s, %v; want %s", out, err, test.json)
			}
		})
	}
}

func TestContentRefuses(t *testing.T) {
	for block, want := range map[string]string{
		`"text"`:                      `content block: expected an object, got string`,
		`null`:                        `content block: expected an object, got null`,
		`[]`:                          `content block: expected an object, got array`,
		`true`:                        `content block: expected an object, got boolean`,
		`{"type":5}`:                  `content block: member "type": unexpected number`,
		`{"type":"text","text":{}}`:   `content block: member "text": unexpected object`,
		`{"type":"image","data":[1]}`: `content block: member "data": unexpected array`,
	} {
		var c Content
		if err := c.UnmarshalJSON([]byte(block)); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", block, err, want)
		}
	}
}

// FuzzContent holds that a block that can be read can be written, and reads
// the same again.
func FuzzContent(f *testing.F) {
	f.Add([]byte(`{"type":"text","text":"x"}`))
	f.Add([]byte(`{"type":"resource","resource":{"uri":"u","blob":"AA","x":1}}`))
	f.Add([]byte(`{"type":"resource_link","size":9007199254740993}`))
	f.Add([]byte(`{"type":"hologram","depth":3}`))
	f.Fuzz(func(t *testing.T, block []byte) {
		var first, second Content
		if json.Unmarshal(block, &first) != nil {
			return
		}
		out, err := marshal(first)
		if err != nil {
			t.Fatalf("%s: read but not written: %v", block, err)
		}
		if err := json.Unmarshal(out, &second); err != nil {
			t.Fatalf("%s became %s: %v", block, out, err)
		}
		if again, err := marshal(second); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s, then %s: %v", out, again, err)
		}
	})
}

func TestEraOf(t *testing.T) {
	for version, want := range map[string]Era{
		Version20241105: Legacy, Version20250326: Legacy, Version20250618: Legacy, LatestLegacy: Legacy,
		LatestModern: Modern, "2024-10-07": "", "2027-01-01": "", "": "",
	} {
		if got := EraOf(version); got != want {
			t.Errorf("EraOf(%q) = %q, want %q", version, got, want)
		}
	}
}
