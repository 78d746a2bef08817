package strictjson

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// message returns a response whose text is size bytes long, plain or with one
// byte in eight escaped.
func message(size int, escaped bool) []byte {
	text := strings.Repeat("the quick brown fox jumps over a lazy dog; ", size/43+1)[:size]
	if escaped {
		text = strings.Repeat("line of\n", size/8)
	}
	m := []byte(`{"jsonrpc":"2.0","id":12345,"result":{"content":[{"type":"text","text":`)
	m = AppendString(m, text)
	return append(m, `}]}}`...)
}

var sizes = []struct {
	name string
	text []byte
}{
	{"100B", message(30, false)},
	{"10KB", message(10_000, false)},
	{"1MB", message(1_000_000, false)},
	{"1MB-escaped", message(1_000_000, true)},
	{"1MB-cyrillic", []byte(`{"text":"` + strings.Repeat("привет, мир ", 50_000) + `"}`)},
}

func BenchmarkWalk(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.text)))
			b.ReportAllocs()
			for b.Loop() {
				var w Walk
				w.Open(s.text, 0)
				for range w.Parts() {
				}
				if w.Err() != nil {
					b.Fatal(w.Err())
				}
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	for _, s := range sizes[:4] {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.text)))
			b.ReportAllocs()
			for b.Loop() {
				if resultText(s.text) == 0 {
					b.Fatal("no text")
				}
			}
		})
	}
}

// resultText decodes a message down to the text of its content.
func resultText(text []byte) (n int) {
	r := Read(text)
	for key := range r.Object() {
		if string(key) != "result" {
			continue
		}
		for key := range r.Object() {
			if string(key) != "content" {
				continue
			}
			for range r.Array() {
				for key := range r.Object() {
					if string(key) == "text" {
						n += len(r.String())
					}
				}
			}
		}
	}
	return n
}

func BenchmarkAppendString(b *testing.B) {
	for _, s := range sizes {
		text := string(Unquote([]byte(`"` + string(s.text[len(s.text)/2:len(s.text)/2+len(s.text)/3]) + `"`)))
		if !utf8.ValidString(text) {
			text = text[1:]
		}
		text = strings.Repeat(text, 3)
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = AppendString(dst[:0], text)
			}
		})
	}
}

func BenchmarkAppendValue(b *testing.B) {
	args := map[string]any{"message": strings.Repeat("hello ", 10), "count": 3, "deep": []any{true, nil, 1.5}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = AppendValue(dst[:0], args)
	}
	_ = dst
}

func BenchmarkFloor(b *testing.B) {
	text := sizes[2].text
	b.Run("utf8.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			utf8.Valid(text)
		}
	})
	b.Run("IndexByte", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			bytes.IndexByte(text, 1)
		}
	})
	b.Run("control", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			(&scanner{}).control(text)
		}
	})
}
