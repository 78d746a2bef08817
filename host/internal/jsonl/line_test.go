package jsonl

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// sample has a member of every type.
type sample struct {
	text   string
	at     time.Time
	took   time.Duration
	count  uint32
	flag   bool
	raw    []byte
	bytes  []byte
	list   []int64
	inners []inner
}

type inner struct{ a, b int }

func (s *sample) members(l *Line) {
	l.Text("text", &s.text)
	l.Time("at", &s.at)
	l.Micros("took", &s.took)
	Count(l, "count", &s.count)
	l.Flag("flag", &s.flag)
	l.Raw("raw", &s.raw)
	l.Base64("bytes", &s.bytes)
	Numbers(l, "list", &s.list)
	Array(l, "inners", &s.inners, func(i *inner) {
		l.Object(func() {
			Number(l, "a", &i.a)
			Number(l, "b", &i.b)
		})
	})
}

// Members are read in any order, and those that the list does not have are stepped over.
func TestLine(t *testing.T) {
	want := sample{
		text: "a\n", at: time.Date(2026, 7, 28, 1, 2, 3, 4000, time.UTC), took: 5 * time.Microsecond, count: 6, flag: true,
		raw: []byte(`{"text":1}`), bytes: []byte{7}, list: []int64{-8, 9}, inners: []inner{{1, 0}, {0, 2}},
	}
	const written = `{"text":"a\n","at":"2026-07-28T01:02:03.000004Z","took":5,"count":6,"flag":true,"raw":{"text":1},"bytes":"Bw==","list":[-8,9],"inners":[{"a":1,"b":0},{"a":0,"b":2}]}`
	var l Line
	l.Begin([]byte("before "))
	want.members(&l)
	if got := string(l.End()); got != "before "+written+"\n" {
		t.Errorf("written as %s", got)
	}
	const shuffled = ` {"later":[{"text":"b"}],"inners":[{"b":0,"x":{},"a":1},{"b":2}],"list":[-8,9],"":0,"bytes":"Bw==","raw":{"text":1},"flag":true,"count":6,"took":5,"at":"2026-07-28T01:02:03.000004Z","text":"a\n","last":null}`
	for _, text := range []string{written, shuffled} {
		var got sample
		if err := Read([]byte(text), got.members); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}

func TestBadLines(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:              "want an object",
		`{"text":1}`:      "want a string",
		`{"count":-1}`:    "the number -1",
		`{"bytes":"?"}`:   "illegal base64",
		`{"inners":[1]}`:  "want an object",
		`{"list":{}}`:     "want an array",
		`{"text":"a"}{}`:  "more text",
		`{"list":["a",1]`: "ends too early",
		`{"list":[` + strings.Repeat("1,", maxListed) + `1]}`: "at most 200000 elements",
	} {
		var s sample
		if err := Read([]byte(text), s.members); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v; want %s", text, err, want)
		}
	}
}
