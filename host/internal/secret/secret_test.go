package secret

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

// canary is long, and unlike anything that is printed by chance.
const canary = "canary-7f3a9c51e2"

// holders are the ways in which a secret lies in another value.
type outer struct {
	Name   string
	Token  Secret
	hidden Secret
	Ptr    *Secret
	List   []Secret
	Map    map[string]Secret
	Any    any
	inner  struct{ deep Secret }
}

type element struct{ Token Secret }

func newOuter() outer {
	s := New(canary)
	o := outer{Name: "n", Token: s, hidden: s, Ptr: &s, List: []Secret{s}, Map: map[string]Secret{"k": s}, Any: s}
	o.inner.deep = s
	return o
}

// refuse fails if text holds the canary in plain, in hexadecimal, or as numbers.
func refuse(t *testing.T, where, text string) {
	t.Helper()
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("% x", canary), strings.Trim(fmt.Sprint([]byte(canary)), "[]")} {
		if strings.Contains(text, form) {
			t.Errorf("%s shows the secret: %s", where, text)
		}
	}
}

// sprintf keeps vet from looking at verbs that are wrong on purpose.
var sprintf = fmt.Sprintf

func TestFmtShowsNothing(t *testing.T) {
	s := New(canary)
	o := newOuter()
	values := []any{s, &s, o, &o, []Secret{s}, map[string]any{"a": s}, [1]Secret{s}, struct{ s Secret }{s}, &struct{ s *Secret }{&s}}
	for verb := rune('A'); verb <= 'z'; verb++ {
		for _, flags := range []string{"", "+", "#", "-40", "040.3", "+#"} {
			format := "%" + flags + string(verb)
			for i, v := range values {
				refuse(t, fmt.Sprintf("%s of value %d", format, i), sprintf(format, v))
			}
		}
	}
	refuse(t, "Sprint", fmt.Sprint(s, o))
	refuse(t, "Sprintln", fmt.Sprintln(&s, &o))
	refuse(t, "too many arguments", sprintf("none", s, o))
	refuse(t, "a width", sprintf("%*d", s, 1))
}

func TestShownAsMark(t *testing.T) {
	for _, s := range []Secret{{}, New(canary)} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if got := sprintf(format, s); got != Mark {
				t.Errorf("%s: got %q; want %q", format, got, Mark)
			}
		}
		if s.String() != Mark || s.GoString() != Mark || s.LogValue().String() != Mark {
			t.Errorf("String, GoString or LogValue is not %q", Mark)
		}
	}
}

func TestMarshallingShowsNothing(t *testing.T) {
	o := newOuter()
	text, err := json.Marshal(o)
	if err != nil || strings.Count(string(text), Mark) != 5 {
		t.Errorf("got %s, %v; want five marks", text, err)
	}
	refuse(t, "json", string(text))

	text, err = xml.Marshal(element{o.Token})
	if err != nil || !strings.Contains(string(text), Mark) {
		t.Errorf("xml: got %s, %v", text, err)
	}
	refuse(t, "xml", string(text))

	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(o.Any); err == nil {
		t.Error("gob encodes a secret")
	}
	refuse(t, "gob", b.String())
	if err := json.Unmarshal([]byte(`{"Token":"`+Mark+`"}`), new(element)); err == nil {
		t.Error("a mark is read as a secret")
	}
}

func TestSlogShowsNothing(t *testing.T) {
	o := newOuter()
	var b bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		l := slog.New(h).With("with", o.Token)
		l.Info("m", "a", o.Token, "p", o.Ptr, "o", o, "op", &o, "any", o.Any, slog.Group("g", "s", o.Token))
	}
	refuse(t, "slog", b.String())
	if !strings.Contains(b.String(), Mark) {
		t.Errorf("slog shows no mark: %s", &b)
	}
}

func TestErrorsAndPanicsShowNothing(t *testing.T) {
	o := newOuter()
	refuse(t, "an error", fmt.Errorf("wrap %v: %w", o, errors.Join(fmt.Errorf("%q", o.Token), fmt.Errorf("%+v", o.hidden))).Error())
	for _, v := range []any{o.Token, o.Ptr, o, &o, fmt.Errorf("%s", o.Token)} {
		func() {
			defer func() {
				refuse(t, "a panic", fmt.Sprint(recover())+string(debug.Stack()))
			}()
			panic(v)
		}()
	}
}

// walk follows whatever reflection can reach, as programs do that dump values.
func walk(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.String:
		visit(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			walk(it.Key(), visit)
			walk(it.Value(), visit)
		}
	}
}

func TestReflectionReachesNothing(t *testing.T) {
	o := newOuter()
	seen := 0
	walk(reflect.ValueOf(&o), func(s string) {
		seen++
		refuse(t, "reflection", s)
	})
	if seen == 0 {
		t.Error("the walk found no text at all")
	}
	if size := reflect.TypeFor[Secret]().Size(); size != reflect.TypeFor[uintptr]().Size() {
		t.Errorf("a secret has %d bytes; want those of a pointer", size)
	}
}

func TestSecret(t *testing.T) {
	a, b, none := New(canary), New(strings.Clone(canary)), New("")
	switch {
	case a.Reveal() != canary || none.Reveal() != "" || (Secret{}).Reveal() != "":
		t.Error("Reveal does not return the text")
	case a.IsZero() || !none.IsZero() || !(Secret{}).IsZero():
		t.Error("IsZero is wrong")
	case !a.Equal(b) || a.Equal(none) || a.Equal(New(canary+"x")) || a.Equal(New("C"+canary[1:])) || !none.Equal(Secret{}):
		t.Error("Equal is wrong")
	case reflect.TypeFor[Secret]().Comparable():
		t.Error("secrets can be compared by ==, which takes a time that depends on them")
	}
	type omits struct {
		S Secret `json:"s,omitzero"`
	}
	if text, _ := json.Marshal(omits{}); string(text) != "{}" {
		t.Errorf("omitzero: got %s", text)
	}
}
