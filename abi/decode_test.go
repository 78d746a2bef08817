package abi

import (
	"reflect"
	"testing"
)

// What was decoded before leaves nothing behind.
func TestDecodeIntoWhatWasUsed(t *testing.T) {
	full := []Pair{{"accept", "text/plain"}, {"mcp-name", "echo"}, {"mcp-method", "tools/call"}}
	for _, v := range vectors(t) {
		if !v.ok {
			continue
		}
		var got, want any
		var err error
		switch v.block {
		case "facts":
			f := Facts{Kind: Reply, ID: "9", Method: "ping", Name: "n", Version: "v", Epoch: 7, Headers: full}
			fresh, _ := DecodeFacts(v.data)
			err = f.Decode(v.data)
			got, want = f, fresh
		case "open":
			r := OpenRequest{Grant: "g", Flags: 3, Method: "PUT", Target: "/t", Headers: full}
			fresh, _ := DecodeOpenRequest(v.data)
			err = r.Decode(v.data)
			got, want = r, fresh
		case "head":
			h := Head{Headers: full}
			fresh, _ := DecodeHead(v.data)
			err = h.Decode(v.data)
			got, want = h, fresh
		default:
			continue
		}
		if err != nil || !reflect.DeepEqual(plain(got), plain(want)) {
			t.Errorf("%s: decoded %+v, %v\nwant %+v", v.name, got, err, want)
		}
	}
}

// plain makes no difference between no headers and none.
func plain(v any) any {
	switch v := v.(type) {
	case Facts:
		v.Headers = append([]Pair(nil), v.Headers...)
		return v
	case OpenRequest:
		v.Headers = append([]Pair(nil), v.Headers...)
		return v
	case Head:
		v.Headers = append([]Pair(nil), v.Headers...)
		return v
	}
	return v
}

// A block that says the same again costs no memory.
func TestDecodeAgainAllocatesNothing(t *testing.T) {
	want := Facts{Kind: Request, ID: "7", Method: "tools/call", Name: "echo", Version: "2026-07-28",
		Headers: []Pair{{Key: "mcp-method", Value: "tools/call"}, {Key: "mcp-name", Value: "echo"}}}
	block := AppendFacts(nil, &want)
	var f Facts
	if n := testing.AllocsPerRun(100, func() { f.Decode(block) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("decoded %+v", f)
	}
}
