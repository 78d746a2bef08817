package strictjson

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var accepted = []string{
	`0`, `-0`, `1.5e+10`, `1E-2`, `0.0`, `true`, `false`, `null`, `""`, ` "a" `, "\t[\r\n]",
	`[]`, `{}`, `[1,2 , 3]`, `{"a":{"b":[null]}}`, `{"":""}`,
	`"\u0000\"\\\/\b\f\n\r\t"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud800"`, `["\udc00\udc00a\ud800b"]`, "\"\u2028\u2029\U0001f600\x7f\"",
	`"` + strings.Repeat("plain ", 30_000) + `"`,
	`"` + strings.Repeat(`line\n`, 3_000) + `"`,
	`"` + strings.Repeat("ширь", 3_000) + `"`,
	strings.Repeat("[", 128) + strings.Repeat("]", 128),
}

var refused = []struct {
	text   string
	reason Reason
	offset int
}{
	{``, Truncated, 0},
	{` `, Truncated, 1},
	{`{`, Truncated, 1},
	{`[1`, Truncated, 2},
	{`[1,`, Truncated, 3},
	{`"abc`, Truncated, 4},
	{`"abc\`, Truncated, 5},
	{`"\u12`, Truncated, 5},
	{`tru`, Truncated, 3},
	{`-`, Truncated, 1},
	{`1.`, Truncated, 2},
	{`1e`, Truncated, 2},
	{`{"a"`, Truncated, 4},
	{`{"a":`, Truncated, 5},
	{`banner`, Syntax, 0},
	{`nul1`, Syntax, 3},
	{`+1`, Syntax, 0},
	{`.5`, Syntax, 0},
	{`[1,]`, Syntax, 3},
	{`[,]`, Syntax, 1},
	{`[1 2]`, Syntax, 3},
	{`[1}`, Syntax, 2},
	{`{"a":1,}`, Syntax, 7},
	{`{a:1}`, Syntax, 1},
	{`{"a" 1}`, Syntax, 5},
	{`{1:1}`, Syntax, 1},
	{`{"a":}`, Syntax, 5},
	{`{]`, Syntax, 1},
	{"\ufeff{}", Syntax, 0},
	{"\v1", Syntax, 0},
	{`'a'`, Syntax, 0},
	{`NaN`, Syntax, 0},
	{`01`, Trailing, 1},
	{`1.5.5`, Trailing, 3},
	{`{}{}`, Trailing, 2},
	{`"a" b`, Trailing, 4},
	{"{}\x00", Trailing, 2},
	{"\"a\nb\"", Control, 2},
	{"\"a\x00b\"", Control, 2},
	{"\"" + strings.Repeat("a", 5000) + "\x1f\"", Control, 5001},
	{"\"" + strings.Repeat("я", 5000) + "\t\"", Control, 10001},
	{`"\x41"`, Escape, 1},
	{`"\u12g4"`, Escape, 1},
	{`"\U0041"`, Escape, 1},
	{`{"\ud800":1}`, Surrogate, 2},
	{`{"a\udc00b":1}`, Surrogate, 3},
	{`["\ud800",{"a":"\ud800","\ud83d\ude00\udc00":1}]`, Surrogate, 37},
	{"\"\x80\"", UTF8, 1},
	{"\"\xc0\xaf\"", UTF8, 1},
	{"\"\xed\xa0\x80\"", UTF8, 1},
	{"\"\xf4\x90\x80\x80\"", UTF8, 1},
	{"\"" + strings.Repeat("a", 5000) + "\xff" + strings.Repeat("a", 100) + "\"", UTF8, 5001},
	{"{\"k\xe2\x82\":1}", UTF8, 3},
	{strings.Repeat("[", 129) + strings.Repeat("]", 129), Depth, 128},
	{strings.Repeat(`{"a":`, 1_000_000), Depth, 128 * 5},
}

func TestValid(t *testing.T) {
	for _, text := range accepted {
		if err := Valid([]byte(text), 0); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, test := range refused {
		var fault *Error
		if err := Valid([]byte(test.text), 0); !errors.As(err, &fault) {
			t.Errorf("%.40q: got %v, want an *Error", test.text, err)
			continue
		}
		if want := (Error{test.reason, test.offset}); *fault != want {
			t.Errorf("%.40q: got %v, want %v", test.text, fault, &want)
		}
	}
}

// TestEveryCut cuts and splits texts at every byte, so that every loop of the
// scanner meets the end of its input in every position.
func TestEveryCut(t *testing.T) {
	texts := []string{
		`{"jsonrpc":"2.0","id":-12.5e3,"result":{"text":"a\u00e9\ud83d\ude00b\\","list":[true,false,null]}}`,
		`"` + strings.Repeat("0123456789", 60) + `ж\n"`,
	}
	for _, text := range texts {
		for i := range text {
			if Valid([]byte(text[:i]), 0) == nil {
				t.Errorf("accepted the first %d bytes of %.40q", i, text)
			}
		}
		if err := Valid([]byte(text), 0); err != nil {
			t.Error(err)
		}
	}
}

// TestControlAnywhere puts a control character and a byte that is not UTF-8 at
// every position of strings that take the short and the long search.
func TestControlAnywhere(t *testing.T) {
	for _, size := range []int{1, 7, 8, 9, 63, 64, 65, 71, 600, 1100} {
		for i := range size {
			text := []byte(`"` + strings.Repeat("x", size) + `"`)
			for _, bad := range []byte{0, '\n', 0x1f, 0x80, 0xff} {
				text[1+i] = bad
				if Valid(text, 0) == nil {
					t.Fatalf("accepted %#x at %d of %d", bad, i, size)
				}
			}
		}
	}
}

func TestStart(t *testing.T) {
	for text, want := range map[string]int{"": 0, " \t\r\n": 4, " x": 1, "\x00": 0, "\n\u00a0": 1} {
		if got := Start([]byte(text)); got != want {
			t.Errorf("Start(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	text := message(10_000, true)
	if n := testing.AllocsPerRun(100, func() { _ = Valid(text, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func addSeeds(f *testing.F) {
	for _, text := range accepted {
		f.Add([]byte(text))
	}
	for _, test := range refused {
		if len(test.text) < 10_000 {
			f.Add([]byte(test.text))
		}
	}
}

// FuzzValid compares with encoding/json, which accepts more in three ways only.
func FuzzValid(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var fault *Error
		err := Valid(text, 0)
		if err == nil && !(json.Valid(text) && utf8.Valid(text)) {
			t.Fatal("accepted what is not JSON")
		}
		if err == nil || !json.Valid(text) {
			return
		}
		if !errors.As(err, &fault) || slices.Contains([]Reason{Syntax, Truncated, Trailing, Control, Escape}, fault.Reason) {
			t.Fatalf("refused JSON: %v", err)
		}
		if fault.Reason == UTF8 && utf8.Valid(text) {
			t.Fatal("took UTF-8 for something else")
		}
	})
}
