package abi

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// factsOf returns what a reader finds, as a decoder would.
func factsOf(r *FactsReader) Facts {
	f := Facts{
		Kind: r.Kind(), ID: string(r.ID()), Method: string(r.Method()), Name: string(r.Name()),
		Version: string(r.Version()), Epoch: r.Epoch(),
	}
	for key, value := range r.Headers {
		f.Headers = append(f.Headers, Pair{string(key), string(value)})
	}
	return f
}

// A reader finds what a decoder finds, whatever it has read before. What is wrong
// inside of a value it does not look at.
func TestReadersAgreeWithDecoders(t *testing.T) {
	var facts FactsReader
	var head HeadReader
	for _, v := range vectors(t) {
		var err error
		var found, wanted []byte
		switch v.block {
		case "facts":
			err = facts.Read(v.data)
			f := factsOf(&facts)
			want, _ := DecodeFacts(v.data)
			found, wanted = AppendFacts(nil, &f), AppendFacts(nil, &want)
		case "head":
			err = head.Read(v.data)
			var h Head
			for key, value := range head.Headers {
				h.Headers = append(h.Headers, Pair{string(key), string(value)})
			}
			want, _ := DecodeHead(v.data)
			found, wanted = AppendHead(nil, &h), AppendHead(nil, &want)
		default:
			continue
		}
		inside := strings.Contains(v.wantErr, "UTF-8") || strings.Contains(v.wantErr, "integer") || strings.Contains(v.wantErr, "pair")
		switch {
		case v.ok && (err != nil || !bytes.Equal(found, wanted)):
			t.Errorf("%s: found % x, %v\nwant % x", v.name, found, err, wanted)
		case !v.ok && !inside && !errors.Is(err, ErrMalformed):
			t.Errorf("%s: error %v, want one like %q", v.name, err, v.wantErr)
		}
	}
}

func TestReaderAllocatesNothing(t *testing.T) {
	block := AppendFacts(nil, &Facts{ID: "7", Method: "tools/call", Headers: []Pair{{"mcp-method", "tools/call"}}})
	var r FactsReader
	w := OpenWriter{}
	w.Begin(&OpenRequest{Grant: "main"})
	common := w.Len()
	if n := testing.AllocsPerRun(100, func() {
		if r.Read(block) != nil || string(r.Method()) != "tools/call" {
			t.Error("not found")
		}
		w.Cut(common)
		w.Mirror(&r)
		w.Block()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestHeadValue(t *testing.T) {
	var h HeadReader
	block := AppendHead(nil, &Head{Headers: []Pair{{"allow", "GET"}, {"content-type", "text/plain"}, {"allow", "POST"}}})
	if err := h.Read(append(block, "body"...)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"allow": "GET", "content-type": "text/plain", "mcp-session-id": "", "": ""} {
		if got := h.Value(name); string(got) != want {
			t.Errorf("Value(%q) = %q, want %q", name, got, want)
		}
	}
}

// A writer that goes back to a common beginning writes what is written at once.
func TestOpenWriter(t *testing.T) {
	var w OpenWriter
	if got, want := w.Block(), AppendOpenRequest(nil, &OpenRequest{}); !bytes.Equal(got, want) {
		t.Errorf("empty: % x", got)
	}
	common := OpenRequest{Grant: "main", Method: "POST", Headers: []Pair{{"accept", "text/plain"}}}
	w.Begin(&common)
	n := w.Len()
	for _, mirrored := range [][]Pair{nil, {{"mcp-method", "ping"}}, {{"mcp-method", "tools/call"}, {"mcp-name", "écho"}}} {
		var f FactsReader
		if err := f.Read(AppendFacts(nil, &Facts{ID: "1", Epoch: 2, Headers: mirrored})); err != nil {
			t.Fatal(err)
		}
		w.Cut(n)
		w.Mirror(&f)
		want := common
		want.Headers = append(common.Headers[:1:1], mirrored...)
		if got := w.Block(); !bytes.Equal(got, AppendOpenRequest(nil, &want)) {
			t.Errorf("%v: % x", mirrored, got)
		}
	}
}

func FuzzReaders(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.data)
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		var r FactsReader
		var h HeadReader
		want, err := DecodeFacts(block)
		if failed := r.Read(block); err == nil && failed != nil {
			t.Fatalf("%v of a good block", failed)
		} else if got := factsOf(&r); err == nil && !bytes.Equal(AppendFacts(nil, &got), AppendFacts(nil, &want)) {
			t.Fatalf("found %+v, want %+v", got, want)
		}
		if h.Read(block) == nil {
			h.Value("content-type")
			for range h.Headers { // it ends
			}
		}
		var w OpenWriter
		w.Begin(&OpenRequest{})
		w.Mirror(&r)
	})
}
