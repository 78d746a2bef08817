package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestReadIcons(t *testing.T) {
	one := Icon{Src: "https://a.example/i.png", MIMEType: "image/png", Sizes: []string{"48x48", "any"}, Theme: "dark"}
	for text, want := range map[string][]Icon{
		``: nil, `null`: nil, `{}`: nil, `7`: nil, `[]`: nil, `[7,{"sizes":["any"]},{"src":5}]`: nil,
		`[{"src":"https://a.example/i.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark","x":1},{}]`: {one},
		`[{"src":"a"},{"src":"b"}`: {{Src: "a"}, {Src: "b"}},
	} {
		if got := ReadIcons(json.RawMessage(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	many := ReadIcons(json.RawMessage(`[` + strings.Repeat(`{"src":"a","sizes":["x"`+strings.Repeat(`,"x"`, 99)+`]},`, 99) + `{}]`))
	if len(many) != maxIcons || len(many[0].Sizes) != maxSizes {
		t.Errorf("%d icons", len(many))
	}
}

// TestImplementation holds that nothing is lost of what a program says of itself.
func TestImplementation(t *testing.T) {
	const text = `{"name":"a","title":"A","version":"1","description":"d","websiteUrl":"https://a.example","icons":[{"src":"data:,"}]}`
	var i Implementation
	if err := json.Unmarshal([]byte(text), &i); err != nil {
		t.Fatal(err)
	}
	if out, err := json.Marshal(i); err != nil || string(out) != text {
		t.Errorf("%s, %v", out, err)
	}
}
