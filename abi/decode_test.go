package abi

import (
	"reflect"
	"slices"
	"testing"
)

// What was decoded before leaves nothing behind.
func TestDecodeIntoWhatWasUsed(t *testing.T) {
	for _, v := range vectors(t) {
		if !v.ok || v.block != "open" {
			continue
		}
		got := OpenRequest{Grant: "g", Flags: 3, Method: "PUT", Target: "/t",
			Headers: []Pair{{"accept", "text/plain"}, {"mcp-name", "echo"}, {"mcp-method", "tools/call"}}}
		want, _ := DecodeOpenRequest(v.data)
		err := got.Decode(v.data)
		if !slices.Equal(got.Headers, want.Headers) {
			t.Errorf("%s: headers %v, want %v", v.name, got.Headers, want.Headers)
		}
		got.Headers, want.Headers = nil, nil
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: decoded %+v, %v\nwant %+v", v.name, got, err, want)
		}
	}
}

// A request that says the same again costs no memory.
func TestDecodeAgainAllocatesNothing(t *testing.T) {
	want := OpenRequest{Grant: "main", Method: "POST",
		Headers: []Pair{{Key: "mcp-method", Value: "tools/call"}, {Key: "mcp-name", Value: "echo"}}}
	block := AppendOpenRequest(nil, &want)
	var r OpenRequest
	if n := testing.AllocsPerRun(100, func() { r.Decode(block) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("decoded %+v", r)
	}
}
