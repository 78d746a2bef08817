package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendValue(t *testing.T) {
	type point struct{ X, Y int }
	tests := []struct {
		value any
		want  string
	}{
		{nil, `null`},
		{"a\"\\\n\r\t\x01\u2028é<>&\x7f", `"a\"\\\n\r\t\u0001` + "\u2028é<>&\x7f\""},
		{true, `true`}, {false, `false`},
		{0, `0`}, {-5, `-5`}, {int64(math.MinInt64), `-9223372036854775808`}, {int32(7), `7`},
		{uint64(math.MaxUint64), `18446744073709551615`}, {uint32(9), `9`}, {uint8(3), `3`},
		{1.0, `1`}, {0.1, `0.1`}, {1e21, `1e+21`}, {1e-7, `1e-07`}, {123456789.5, `123456789.5`},
		{map[string]any{}, `{}`}, {map[string]any(nil), `null`},
		{[]any{}, `[]`}, {[]any(nil), `null`},
		{map[string]any{"b": 1, "a": []any{nil, "x", map[string]any{"c": 2.5}}}, `{"a":[null,"x",{"c":2.5}],"b":1}`},
		{map[string]any{"e": 5, "g": 7, "b": 2, "f": 6, "a": 1, "d": 4, "h": 8, "c": 3}, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`},
		{json.RawMessage("{ \"a b\" :\r\n[ 1 , 2 ] }"), `{"a b":[1,2]}`},
		{[]byte(" \"a \\\" b\" "), `"a \" b"`},
		{json.Number("12.50"), `12.50`},
		{point{1, 2}, `{"X":1,"Y":2}`},
		{map[string]int{"b": 2, "a": 1}, `{"a":1,"b":2}`},
	}
	for _, test := range tests {
		got, err := AppendValue([]byte("kept:"), test.value)
		if err != nil || string(got) != "kept:"+test.want {
			t.Errorf("%#v:\n got %s (%v)\nwant %s", test.value, got, err, test.want)
		}
	}
}

func TestAppendValueRefuses(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = loop
	list := []any{nil}
	list[0] = list
	tests := map[string]struct {
		value any
		want  string
	}{
		"NaN":          {math.NaN(), "no number NaN"},
		"infinity":     {[]any{1, math.Inf(1)}, "1: JSON has no number +Inf"},
		"not UTF-8":    {map[string]any{"a": "x\xff"}, "a: invalid UTF-8 at offset 1"},
		"key":          {map[string]any{"x\xff": 1}, "name of a member: invalid UTF-8"},
		"loop":         {loop, "more than 128 deep"},
		"list loop":    {list, "more than 128 deep"},
		"raw":          {json.RawMessage(`{"a":}`), "raw JSON: unexpected byte at offset 5"},
		"raw nothing":  {json.RawMessage(nil), "raw JSON: text ends too early"},
		"raw not UTF8": {[]byte("\"\xff\""), "raw JSON: invalid UTF-8"},
		"channel":      {make(chan int), "unsupported type"},
	}
	for name, test := range tests {
		got, err := AppendValue([]byte("kept"), test.value)
		if err == nil || !strings.Contains(err.Error(), test.want) || string(got) != "kept" {
			t.Errorf("%s: got %q, %v; want an error with %q", name, got, err, test.want)
		}
	}
}

func TestAppendString(t *testing.T) {
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("got %s", got)
	}
	if got, err := AppendStrict([]byte("kept"), "ab\xff"); err == nil || string(got) != "kept" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAppendValueDoesNotAllocate(t *testing.T) {
	args := map[string]any{"message": "hello \"you\"", "count": 3, "list": []any{true, 1.5}}
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { _, _ = AppendValue(dst, args) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("a\"\\\x00\x1f\n\u2028\xff😀" + strings.Repeat("long ", 500))
	f.Fuzz(func(t *testing.T, s string) {
		quoted := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") {
			t.Fatalf("%q became %s (%v)", s, quoted, err)
		}
		if err := Valid(quoted, 0); err != nil || bytes.ContainsAny(quoted, "\r\n") {
			t.Fatalf("%q became %s (%v)", s, quoted, err)
		}
		if got := string(Unquote(quoted)); got != back {
			t.Fatalf("%s was unquoted to %q", quoted, got)
		}
		if _, err := AppendStrict(nil, s); (err == nil) != utf8.ValidString(s) {
			t.Fatal(err)
		}
	})
}

// FuzzAppendValue writes what encoding/json made of a text, and the text
// itself, and wants the same value back from one line.
func FuzzAppendValue(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var value any
		if Valid(text, 100) != nil || json.Unmarshal(text, &value) != nil {
			return
		}
		for _, v := range []any{value, json.RawMessage(text)} {
			out, err := AppendValue(nil, v)
			if err != nil || bytes.ContainsAny(out, "\r\n") {
				t.Fatalf("%q became %q: %v", text, out, err)
			}
			var back any
			if err := json.Unmarshal(out, &back); err != nil || !reflect.DeepEqual(back, value) {
				t.Fatalf("%q became %q: %v", text, out, err)
			}
		}
	})
}

// FuzzAppendLine holds that a text that is accepted loses its line breaks and the white space at
// its ends, and nothing else.
func FuzzAppendLine(f *testing.F) {
	f.Add([]byte(" {\"a\"\r\n: [1e400 ,\t\"\\n\"]\n}\n"))
	f.Add([]byte("[1\n2]"))
	f.Add([]byte("\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := AppendLine([]byte("head"), text)
		if (err == nil) != (Valid(text, 0) == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		want := "head"
		if err == nil {
			want += strings.Trim(strings.NewReplacer("\r", "", "\n", "").Replace(string(text)), " \t")
		}
		if string(out) != want || err == nil && Valid(out[len("head"):], 0) != nil {
			t.Fatalf("%q became %q, want %q", text, out, want)
		}
	})
}
