package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWalk(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"a":1,"b" : [2, 3] , "":{"x":"}"}}`, `a=1 b=[2, 3] ={"x":"}"} nil`},
		{` {} `, `nil`},
		{`[]`, `nil`},
		{`[1,"two",{"three":3}]`, `1 "two" {"three":3} nil`},
		{` 17 `, `nil`},
		{``, `text ends too early at offset 0`},
		{`{"a":1`, `a=1 text ends too early at offset 6`},
		{`{"a":1,`, `a=1 text ends too early at offset 7`},
		{`{"a":1]`, `a=1 unexpected byte at offset 6`},
		{`{"a":1}}`, `a=1 more text after the value at offset 7`},
		{"{\"a\":\"\xff\",\"id\":7}", "a=\"\xff\" id=7 invalid UTF-8 at offset 6"},
		{`{"a":"\ud800","id":7}`, `a="\ud800" id=7 nil`},
		{`{"a":1,"\ud800":7}`, `a=1 lone surrogate in a name at offset 8`},
		{`[1,x]`, `1 unexpected byte at offset 3`},
		{`garbage`, `unexpected byte at offset 0`},
	}
	for _, test := range tests {
		if got := walked(test.text); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

// walked lists the parts of text and how the walk ended.
func walked(text string) string {
	var parts []string
	var w Walk
	w.Open([]byte(text), 0)
	for key, value := range w.Parts() {
		if key != nil {
			parts = append(parts, fmt.Sprintf("%s=%s", key, value))
		} else {
			parts = append(parts, string(value))
		}
	}
	if err := w.Err(); err != nil {
		return strings.Join(append(parts, err.Error()), " ")
	}
	return strings.Join(append(parts, "nil"), " ")
}

func TestWalkLimitsDepth(t *testing.T) {
	var w Walk
	w.Open([]byte(`{"a":[[1]]}`), 3)
	for range w.Parts() {
	}
	if w.Err() != nil {
		t.Error(w.Err())
	}
	w = Walk{}
	w.Open([]byte(`{"a":[[1]]}`), 2)
	for range w.Parts() {
	}
	if w.Err() == nil {
		t.Error("three levels passed a limit of two")
	}
}

// FuzzWalk holds a walk to what Valid says of the same text, and to having
// handed out parts that are valid themselves.
func FuzzWalk(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var w Walk
		w.Open(text, 0)
		for _, value := range w.Parts() {
			var fault *Error
			if err := Valid(value, 0); err != nil && !(errors.As(err, &fault) && fault.Reason == UTF8) {
				t.Fatalf("part %q: %v", value, err)
			}
		}
		want := Valid(text, 0)
		if got := w.Err(); (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
			t.Fatalf("walk says %v, Valid says %v", got, want)
		}
	})
}
