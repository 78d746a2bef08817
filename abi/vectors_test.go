package abi

import (
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The vectors are embedded so that these tests need no files: under
// GOOS=wasip1 they run in a sandbox that has none.
//
//go:embed testdata/vectors/*.txt
var vectorFiles embed.FS

// A vector is one file of testdata/vectors; the README there says what the
// keys mean.
type vector struct {
	name, block, value, wantErr string
	ok, canonical               bool
	data                        []byte
}

func vectors(t testing.TB) []vector {
	entries, err := vectorFiles.ReadDir("testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for _, e := range entries {
		text, err := vectorFiles.ReadFile("testdata/vectors/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		v, err := parseVector(strings.TrimSuffix(e.Name(), ".txt"), string(text))
		if err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		all = append(all, v)
	}
	return all
}

func parseVector(name, text string) (vector, error) {
	v := vector{name: name, canonical: true}
	header, body, found := strings.Cut(text, "\n\n")
	if !found {
		return v, errors.New("no empty line behind the header")
	}
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "expect":
			v.ok = value == "ok"
		case "block":
			v.block = value
		case "value":
			v.value = value
		case "error":
			v.wantErr = value
		case "canonical":
			v.canonical = value != "no"
		case "comment":
		default:
			return v, fmt.Errorf("unknown key %q", key)
		}
	}
	if v.ok == (v.value == "") || v.ok == (v.wantErr != "") {
		return v, errors.New("a value goes with ok, an error with malformed")
	}
	var err error
	v.data, err = hex.DecodeString(strings.Join(strings.Fields(body), ""))
	return v, err
}

// A codec is one pair of Append and Decode, without its type.
type codec struct {
	decode func([]byte) (any, error)
	append func([]byte, any) []byte
	parse  func(value string) (any, error) // of a vector
}

var codecs = map[string]codec{
	"facts":    codecOf(AppendFacts, DecodeFacts),
	"settings": codecOf(AppendSettings, DecodeSettings),
	"manifest": codecOf(AppendManifest, DecodeManifest),
	"open":     codecOf(AppendOpenRequest, DecodeOpenRequest),
	"head":     codecOf(AppendHead, DecodeHead),
}

func codecOf[T any](enc func([]byte, *T) []byte, dec func([]byte) (T, error)) codec {
	return codec{
		decode: func(b []byte) (any, error) { return dec(b) },
		append: func(dst []byte, v any) []byte {
			t := v.(T)
			return enc(dst, &t)
		},
		parse: func(value string) (any, error) {
			var t T
			d := json.NewDecoder(strings.NewReader(value))
			d.DisallowUnknownFields()
			err := d.Decode(&t)
			return t, err
		},
	}
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			c, known := codecs[v.block]
			if !known {
				t.Fatalf("unknown block %q", v.block)
			}
			if v.ok {
				checkGood(t, c, v)
			} else {
				checkBad(t, c, v)
			}
		})
	}
}

func checkGood(t *testing.T, c codec, v vector) {
	want, err := c.parse(v.value)
	if err != nil {
		t.Fatalf("value of the vector: %v", err)
	}
	got, err := c.decode(v.data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("decoded %+v, %v\nwant    %+v", got, err, want)
	}
	enc := c.append(nil, want)
	if bytes.Equal(enc, v.data) != v.canonical {
		t.Errorf("encoded % x\nvector  % x\ncanonical: %v", enc, v.data, v.canonical)
	}
}

func checkBad(t *testing.T, c codec, v vector) {
	got, err := c.decode(v.data)
	if err == nil {
		t.Fatalf("decoded %+v, want an error", got)
	}
	if err.Error() != v.wantErr {
		t.Errorf("error %q\nwant  %q", err, v.wantErr)
	}
	if !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v is not ErrMalformed", err)
	}
}

// Whatever stands before and behind a block stays as it is and is not read.
func TestBlocksStandAmongOtherBytes(t *testing.T) {
	for _, v := range vectors(t) {
		if !v.ok {
			continue
		}
		c := codecs[v.block]
		want, _ := c.parse(v.value)
		enc := c.append([]byte("before"), want)
		block, found := bytes.CutPrefix(enc, []byte("before"))
		if !found {
			t.Fatalf("%s: append changed what stood before: %q", v.name, enc)
		}
		if n, ok := BlockSize(block); !ok || n != len(block) {
			t.Errorf("%s: BlockSize = %d, %v, want %d", v.name, n, ok, len(block))
		}
		got, err := c.decode(append(block, 0xff, 0xff, 0xff))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: decoded %+v, %v\nwant %+v", v.name, got, err, want)
		}
	}
}

// Every way to cut a block short is found by its decoder.
func TestBlocksCutShort(t *testing.T) {
	for _, v := range vectors(t) {
		if !v.ok || !v.canonical {
			continue
		}
		for n := range v.data {
			if got, err := codecs[v.block].decode(v.data[:n]); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: decoded %+v, %v from %d of %d bytes", v.name, got, err, n, len(v.data))
			}
		}
	}
}

// Facts are encoded for every message, into a buffer that is used again.
func TestAppendFactsAllocatesNothing(t *testing.T) {
	f := Facts{Kind: Request, ID: "7", Method: "tools/call", Name: "echo", Epoch: 1,
		Headers: []Pair{{Key: "mcp-method", Value: "tools/call"}}}
	buf := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { buf = AppendFacts(buf[:0], &f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSettingsValue(t *testing.T) {
	s := Settings{Values: []Pair{{"framing", "auto"}, {"framing", "second"}}}
	if got := s.Value("framing"); got != "auto" {
		t.Errorf("Value(framing) = %q, want the first", got)
	}
	if got := s.Value("absent"); got != "" {
		t.Errorf("Value(absent) = %q", got)
	}
}

func BenchmarkAppendFacts(b *testing.B) {
	f := Facts{Kind: Request, ID: "7", Method: "tools/call", Name: "echo", Epoch: 1}
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendFacts(buf[:0], &f)
	}
}

func BenchmarkDecodeFacts(b *testing.B) {
	block := AppendFacts(nil, &Facts{Kind: Request, ID: "7", Method: "tools/call", Name: "echo", Epoch: 1})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeFacts(block); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadFacts is what a plugin does for each message that it looks at.
func BenchmarkReadFacts(b *testing.B) {
	block := AppendFacts(nil, &Facts{
		Kind: Request, ID: "1", Method: "tools/call", Name: "echo", Version: "2026-07-28",
		Headers: []Pair{{Key: "mcp-method", Value: "tools/call"}, {Key: "mcp-name", Value: "echo"}},
	})
	var f FactsReader
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Read(block); err != nil {
			b.Fatal(err)
		}
	}
}
