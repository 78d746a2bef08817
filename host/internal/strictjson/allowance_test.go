package strictjson

import (
	"errors"
	"strings"
	"testing"
)

// array is the text of an array of so many elements.
func array(elements int) string {
	return "[" + strings.Repeat("{},", elements-1) + "{}]"
}

// count reads all arrays of an object and returns how many elements it was given.
func count(r *Reader) (given, members int) {
	for range r.Object() {
		members++
		for range r.Array() {
			given++
		}
	}
	return given, members
}

// TestReadersAreBounded: all arrays of a text count together, and where there are too
// many elements nothing of what follows is read.
func TestReadersAreBounded(t *testing.T) {
	for _, test := range []struct {
		text    string
		given   int
		members int
		most    int // of the error; 0 is none
	}{
		{`{"a":` + array(DefaultElements) + `,"b":1}`, DefaultElements, 2, 0},
		{`{"a":` + array(DefaultElements+1) + `,"b":[]}`, DefaultElements, 1, DefaultElements},
		{`{"a":` + array(DefaultElements-1) + `,"b":[0],"c":[]}`, DefaultElements, 3, 0},
		{`{"a":` + array(DefaultElements-1) + `,"b":[0,0],"c":[]}`, DefaultElements, 2, DefaultElements},
	} {
		r := Read([]byte(test.text))
		given, members := count(r)
		var many *TooManyError
		if errors.As(r.Err(), &many); (many == nil) != (test.most == 0) || many != nil && many.Most != test.most {
			t.Errorf("%.20s…: %v", test.text, r.Err())
		}
		if given != test.given || members != test.members || many != nil && !r.Cut() {
			t.Errorf("%.20s…: %d elements in %d members, want %d in %d", test.text, given, members, test.given, test.members)
		}
	}
	r := Read([]byte(`{"a":` + array(DefaultElements+5) + `}`)).Unbounded()
	if given, _ := count(r); given != DefaultElements+5 || r.Err() != nil {
		t.Errorf("without a bound: %d elements, %v", given, r.Err())
	}
}

// TestAllowance is shared by readers, and the error says what all of them had.
func TestAllowance(t *testing.T) {
	a := NewAllowance(3)
	for n, want := range []int{2, 1, 0} {
		r := Read([]byte(`{"a":[0,0]}`)).Within(a)
		given, _ := count(r)
		if given != want || (r.Err() == nil) != (n == 0) {
			t.Errorf("reader %d: %d elements, %v", n, given, r.Err())
		}
		if n > 0 && r.Err().Error() != "want at most 3 elements in all arrays, there are more at offset "+[]string{"", "8", "6"}[n] {
			t.Error(r.Err())
		}
	}
}
