package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	const text = ` {"skip":{"a":[1,{"b":"]}"}]},"text":"a\u00e9\n","plain":"b","n":-7,"x":1.5e3,
		"yes":true,"no":false,"nothing":null,"raw":{"k": 1},"list":["x","y"],"empty":[],"none":{},"last":2} `
	var (
		text1, plain, raw string
		n, last           int64
		x                 float64
		yes, no, nothing  bool
		list              []string
	)
	r := Read([]byte(text))
	for key := range r.Object() {
		switch string(key) {
		case "text":
			text1 = r.String()
		case "plain":
			plain = string(r.Text())
		case "n":
			n = r.Int()
		case "x":
			x = r.Float()
		case "yes":
			yes = r.Bool()
		case "no":
			no = r.Bool()
		case "nothing":
			nothing = r.Null()
		case "raw":
			raw = string(r.Raw())
		case "list":
			for range r.Array() {
				list = append(list, r.String())
			}
		case "last":
			last = r.Int()
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	got := []any{text1, plain, n, x, yes, no, nothing, raw, list, last}
	want := []any{"aé\n", "b", int64(-7), 1500.0, true, false, true, `{"k": 1}`, []string{"x", "y"}, int64(2)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %v\nwant %v", got, want)
	}
}

func TestReaderMismatch(t *testing.T) {
	tests := []struct {
		text string
		read func(*Reader)
		want string
	}{
		{`{"a":5,"b":1}`, func(r *Reader) { _ = r.String() }, "want a string at offset 5"},
		{`{"a":"x","b":1}`, func(r *Reader) { r.Int() }, "want an integer at offset 5"},
		{`{"a":1.5,"b":1}`, func(r *Reader) { r.Int() }, "want an integer at offset 5"},
		{`{"a":9223372036854775808,"b":1}`, func(r *Reader) { r.Int() }, "want an integer at offset 5"},
		{`{"a":[2],"b":1}`, func(r *Reader) { r.Float() }, "want a number at offset 5"},
		{`{"a":1e999,"b":1}`, func(r *Reader) { r.Float() }, "want a number at offset 5"},
		{`{"a":null,"b":1}`, func(r *Reader) { r.Bool() }, "want true or false at offset 5"},
		{`{"a":{"c":2},"b":1}`, func(r *Reader) {
			for range r.Array() {
			}
		}, "want an array at offset 5"},
		{`{"a":[2],"b":1}`, func(r *Reader) {
			for range r.Object() {
			}
		}, "want an object at offset 5"},
	}
	whole := Read([]byte("[]"))
	for range whole.Object() {
	}
	if err := whole.Err(); err == nil || err.Error() != "want an object" {
		t.Errorf("a whole text: %v", err)
	}
	for _, test := range tests {
		r := Read([]byte(test.text))
		var b int64
		for key := range r.Object() {
			switch string(key) {
			case "a":
				test.read(r)
			case "b":
				b = r.Int()
			}
		}
		if r.Err() == nil || r.Err().Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.text, r.Err(), test.want)
		}
		if b != 1 {
			t.Errorf("%s: the member after the mismatch was lost", test.text)
		}
	}
}

func TestReaderDoesNotAllocate(t *testing.T) {
	text := []byte(`{"a":{"b":[{"c":"plain text","d":12,"e":1.5,"f":true,"g":null}]}}`)
	total := 0
	read := func() {
		r := Read(text)
		for range r.Object() {
			for range r.Object() {
				for range r.Array() {
					for key := range r.Object() {
						switch string(key) {
						case "c":
							total += len(r.Text())
						case "d":
							total += int(r.Int())
						case "e":
							total += int(r.Float())
						case "f":
							r.Bool()
						}
					}
				}
			}
		}
	}
	if n := testing.AllocsPerRun(100, read); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := 101 * (len("plain text") + 12 + 1); total != want {
		t.Errorf("read %d, want %d", total, want)
	}
}

func TestUnquote(t *testing.T) {
	tests := map[string]string{
		`""`: "", `"plain"`: "plain", `"a\"b"`: `a"b`, `"\\\/\b\f\n\r\t"`: "\\/\b\f\n\r\t",
		`"\u0041\u00e9\u20ac\ud83d\ude00"`:         "Aé€😀",
		`"` + strings.Repeat(`1234567\n`, 9) + `"`: strings.Repeat("1234567\n", 9),
		`"long plain start, then \t and the rest"`: "long plain start, then \t and the rest",
		// What follows cannot come out of a text that was accepted.
		`"\ud800"`: "\ufffd", `"\ud800\u0041"`: "\ufffdA", `"\`: "", `"`: "", ``: "", `"\u12"`: "12", `"\"`: "",
	}
	for raw, want := range tests {
		if got := string(Unquote([]byte(raw))); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

// FuzzReader decodes by hand and compares with encoding/json; on text that is
// not JSON, it only has to come to an end.
func FuzzReader(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		r := Read(text)
		got := decode(r, 0)
		if Valid(text, 0) != nil {
			return
		}
		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Skip(err) // a number beyond float64
		}
		if r.Err() != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v (%v), want %#v", got, r.Err(), want)
		}
	})
}

// decode reads a value into what encoding/json would make of it.
func decode(r *Reader, depth int) any {
	if depth > DefaultDepth {
		r.Skip()
		return nil
	}
	switch r.Kind() {
	case '{':
		m := map[string]any{}
		for key := range r.Object() {
			m[string(key)] = decode(r, depth+1)
		}
		return m
	case '[':
		list := []any{}
		for range r.Array() {
			list = append(list, decode(r, depth+1))
		}
		return list
	case '"':
		return r.String()
	case 't', 'f':
		return r.Bool()
	case 'n':
		r.Null()
		return nil
	}
	return r.Float()
}
