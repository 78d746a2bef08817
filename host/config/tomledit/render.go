package tomledit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine is the length of a line, beyond which a list or a table is written over several lines.
const maxLine = 80

// normal turns a value into what a decoder would return for it.
func normal(value any) (any, error) {
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.New("the text is not UTF-8")
		}
		return v, nil
	case bool, int64, float64:
		return v, nil
	case int:
		return int64(v), nil
	case []string:
		return normalList(v)
	case []any:
		return normalList(v)
	case map[string]string:
		return normalTable(v)
	case map[string]any:
		return normalTable(v)
	}
	return nil, fmt.Errorf("a value of type %T is not written", value)
}

func normalList[T any](values []T) (any, error) {
	list := make([]any, len(values))
	for i, item := range values {
		var err error
		if list[i], err = normal(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func normalTable[T any](values map[string]T) (any, error) {
	table := make(map[string]any, len(values))
	for name, item := range values {
		var err error
		if table[name], err = normal(item); err != nil {
			return nil, err
		}
		if !utf8.ValidString(name) {
			return nil, errors.New("a key is not UTF-8")
		}
	}
	return table, nil
}

// value returns what a decoder would return for the table.
func (t Table) value() (map[string]any, error) {
	table := make(map[string]any, len(t.Keys))
	for _, key := range t.Keys {
		v, err := normal(key.Value)
		if err != nil {
			return nil, &Error{append(slices.Clone(t.Path), key.Name), err.Error()}
		}
		table[key.Name] = v
	}
	if len(table) != len(t.Keys) || len(t.Path) == 0 || !utf8.ValidString(strings.Join(t.Path, "")) {
		return nil, &Error{t.Path, "the table has no name, or a key twice"}
	}
	return table, nil
}

// text returns the lines of the table. Tables in it that are too long for a line come last,
// under names of their own. Every value must be of a type that can be written.
func (t Table) text(newline string) string {
	var head, tail strings.Builder
	for line := range strings.Lines(t.Comment) {
		head.WriteString(strings.TrimRight("# "+cleanComment(line), " ") + newline)
	}
	head.WriteString("[" + dotted(t.Path) + "]" + newline)
	for _, key := range t.Keys {
		value, _ := normal(key.Value)
		line := keyText(key.Name) + " = " + valueText(value)
		inner, isTable := value.(map[string]any)
		if !isTable || utf8.RuneCountInString(line) <= maxLine {
			head.WriteString(keyText(key.Name) + " = " + wrapped(key.Name, value, newline) + newline)
			continue
		}
		below := Table{Path: append(slices.Clone(t.Path), key.Name)}
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			below.Keys = append(below.Keys, Key{name, inner[name]})
		}
		tail.WriteString(newline + below.text(newline))
	}
	return head.String() + tail.String()
}

// cleanComment returns a line without the characters that a comment may not have.
func cleanComment(line string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(line, ""))
}

// wrapped returns the text of a value. A list that is too long for one line has each item on a
// line of its own.
func wrapped(name string, value any, newline string) string {
	text := valueText(value)
	list, isList := value.([]any)
	if !isList || len(list) == 0 || utf8.RuneCountInString(keyText(name)+" = "+text) <= maxLine {
		return text
	}
	var b strings.Builder
	b.WriteString("[" + newline)
	for _, item := range list {
		b.WriteString("  " + valueText(item) + "," + newline)
	}
	return b.String() + "]"
}

// valueText returns the text of a value on one line.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return stringText(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = valueText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, keyText(name)+" = "+valueText(v[name]))
		}
		return "{ " + strings.Join(pairs, ", ") + " }"
	}
	panic(fmt.Sprintf("tomledit: a value of type %T", value)) // normal lets no other through
}

// floatText returns a float with a point or an exponent: 1 would be read as an integer.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// keyText returns the text of a key, in quotes if it needs them.
func keyText(key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return basicString(key)
	}
	return key
}

// stringText returns a string in quotes. They are single ones if backslashes would have to be
// doubled, as in the paths of Windows.
func stringText(s string) string {
	if strings.Contains(s, `\`) && !strings.Contains(s, "'") && !strings.ContainsFunc(s, isEscaped) {
		return "'" + s + "'"
	}
	return basicString(s)
}

// isEscaped reports whether a character is written as its number. That holds for control
// characters, which may not stand in a string, and for those that a person cannot see, such as
// the ones that turn the direction of a text.
func isEscaped(r rune) bool { return !strconv.IsPrint(r) }

func basicString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case isEscaped(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		case isEscaped(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
