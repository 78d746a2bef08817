package tomledit

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// FuzzEdits holds what an edit promises of any file: the values are those that were
// asked for and no others, and every line of a key, every name of a table and every
// comment that the edit is not about is there as before, in the same order. What is
// new is one piece between bytes that stay, and what is removed leaves the rest.
func FuzzEdits(f *testing.F) {
	for _, c := range changes {
		for kind := range uint8(4) {
			f.Add([]byte(c.before), "servers/a", "v", kind)
			f.Add([]byte(c.before), "servers/b/env/A", "v", kind)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, name, value string, kind uint8) {
		if len(file) > 2000 || len(name) > 60 || bytes.Count(file, []byte(".")) > 50 || bytes.Count(file, []byte("{")) > 20 {
			return // the decoder's time grows with the square of these, and config bounds them
		}
		path := strings.Split(name, "/")
		var got []byte
		var err error
		switch kind % 4 {
		case 0:
			got, err = Remove(file, path...)
		case 1:
			got, err = SetKey(file, path, value)
		case 3:
			got, err = SetKey(file, path, map[string]string{"k": value, "long": strings.Repeat("x", 80)})
		default:
			got, err = AddTables(file, Table{Path: path, Keys: []Key{{"k", value}, {"l", []string{value, "-y"}}}})
		}
		if err != nil {
			return
		}
		checkValue(t, got, path, value, kind%4)
		checkBytes(t, file, got, path, kind%4)
		if before, after := kept(t, file, path), kept(t, got, path); !slices.Equal(before, after) {
			t.Errorf("before:\n%q\nafter:\n%q", before, after)
		}
	})
}

func checkValue(t *testing.T, file []byte, path []string, value string, kind uint8) {
	var values map[string]any
	if _, err := toml.Decode(string(bytes.TrimPrefix(file, byteOrderMark)), &values); err != nil {
		t.Fatal(err)
	}
	got, found := at(values, path)
	switch {
	case kind == 0 && found:
		t.Errorf("%q is still there", path)
	case kind == 1 && got != value:
		t.Errorf("got %v", got)
	case kind == 3 && !equal(got, map[string]any{"k": value, "long": strings.Repeat("x", 80)}):
		t.Errorf("got %v", got)
	case kind == 2 && !equal(got, map[string]any{"k": value, "l": []any{value, "-y"}}):
		t.Errorf("got %v", got)
	}
}

func checkBytes(t *testing.T, before, after []byte, path []string, kind uint8) {
	var values map[string]any
	_, _ = toml.Decode(string(bytes.TrimPrefix(before, byteOrderMark)), &values)
	_, found := at(values, path)
	switch {
	case kind == 0:
		rest := before
		for i, c := range after {
			next := bytes.IndexByte(rest, c)
			if next < 0 {
				t.Fatalf("byte %d of %q is not from %q", i, after, before)
			}
			rest = rest[next+1:]
		}
	case !found:
		head, tail := 0, 0
		for head < len(before) && before[head] == after[head] {
			head++
		}
		for tail < len(before) && before[len(before)-1-tail] == after[len(after)-1-tail] {
			tail++
		}
		if head+tail < len(before) {
			t.Errorf("%q became %q", before, after)
		}
	}
}

// kept returns the lines of a file that an edit at a path must leave alone.
func kept(t *testing.T, file []byte, path []string) (lines []string) {
	text := bytes.TrimPrefix(file, byteOrderMark)
	statements, _, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if hasPrefix(s.path, path) || hasPrefix(path, s.path) {
			continue
		}
		lines = append(lines, strings.TrimRight(string(text[s.lines.start:s.lines.end]), "\r\n"))
	}
	return lines
}
