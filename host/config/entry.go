package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// entry reads the values of one table and collects their mistakes. A value with a mistake reads
// as its zero.
type entry struct {
	doc     *document
	path    []string // of the table
	subject string   // "server files"
	values  map[string]any
	wrong   []*Error
	noted   []*Error          // what does no harm
	raw     []string          // fields whose variables are in Wharf's own syntax
	named   map[string]string // see [Server]
	keyed   keyNames          // how errors name a field
}

// newEntry returns the entry at a path. If the value there is no table, the entry reads as an
// empty one.
func newEntry(doc *document, subject string, path ...string) *entry {
	e := &entry{doc: doc, path: path, subject: subject}
	values, ok := doc.table(path...)
	if !ok {
		e.fail("", "expected a table of keys and values, not %s", sort(doc.at(path)))
	}
	e.values = values
	return e
}

// newServer returns the entry of a server in the table at a path. If the file has a command line
// or a url in place of the table, the mistake shows how to write that as an entry.
func newServer(doc *document, name string, path ...string) *entry {
	path = append(slices.Clone(path), name)
	e := newEntry(doc, "server "+name, path...)
	if argv := commandLine(doc.at(path)); len(argv) > 0 {
		e.wrong[0].Problem += "; write " + doc.example(name, argv)
	}
	return e
}

// maxExample is the length in bytes of the longest command line that an error shows as an example.
const maxExample = 200

// commandLine returns the words of a text or of a list of texts. It returns nil for any other
// value, and for a command line that is too long for an error.
func commandLine(v any) (argv []string) {
	switch v := v.(type) {
	case string:
		argv = words(v)
	case []any:
		for _, item := range v {
			word, _ := item.(string)
			argv = append(argv, word)
		}
	}
	if slices.Contains(argv, "") || len(strings.Join(argv, " ")) > maxExample {
		return nil
	}
	return argv
}

// example returns the entry of a server with that command line or url, in the format of the
// document.
func (d *document) example(name string, argv []string) string {
	entry, field := `"%s": {%s}`, `"%s": %s` // in YAML too
	if d.format == formatTOML {
		entry, field = `%s = { %s }`, `%s = %s`
	}
	if len(argv) == 1 && strings.Contains(argv[0], "://") {
		return fmt.Sprintf(entry, name, fmt.Sprintf(field, "url", strconv.Quote(argv[0])))
	}
	fields := fmt.Sprintf(field, "command", strconv.Quote(argv[0]))
	if len(argv) > 1 {
		fields += ", " + fmt.Sprintf(field, "args", listOf(argv[1:]))
	}
	return fmt.Sprintf(entry, name, fields)
}

// listOf returns a list of texts in the syntax that all formats share.
func listOf(texts []string) string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = strconv.Quote(text)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// nameless returns the mistake of a table of servers whose keys are those of one server and not
// names, or nil.
func nameless(doc *document, path []string) *Error {
	servers, _ := doc.table(path...)
	for _, key := range []string{"command", "url"} {
		if argv := commandLine(servers[key]); len(argv) > 0 {
			form := doc.example("NAME", append(argv, commandLine(servers["args"])...))
			if len(path) == 0 {
				form = strconv.Quote(rootMCPServers[0]) + ": {" + form + "}"
			}
			return newEntry(doc, "", path...).mistake(key, "is a key of a server, where its name is expected; write %s", form)
		}
	}
	if inner, nested := servers[rootMCPServers[0]].(map[string]any); nested && inner["command"] == nil && inner["url"] == nil {
		return newEntry(doc, "", path...).mistake(rootMCPServers[0], "is within %s; write its servers there", strings.Join(path, "."))
	}
	return nil
}

// within calls read with an entry for values, the table at key below e. A mistake in that table
// counts as a mistake of e.
func (e *entry) within(key string, values map[string]any, read func(inner *entry)) {
	inner := &entry{doc: e.doc, path: append(slices.Clone(e.path), key), subject: e.subject, values: values}
	read(inner)
	for _, n := range inner.noted {
		n.Field = key + "." + n.Field
		e.noted = append(e.noted, n)
	}
	for _, w := range inner.wrong {
		w.Field = strings.TrimSuffix(key+"."+w.Field, ".")
		e.wrong = append(e.wrong, w)
	}
}

// fail records a mistake in a field. A field below a key has a dot: env.TOKEN.
func (e *entry) fail(field, format string, a ...any) {
	e.wrong = append(e.wrong, e.mistake(field, format, a...))
}

// note records a remark about something that does no harm.
func (e *entry) note(field, format string, a ...any) {
	e.noted = append(e.noted, e.mistake(field, format, a...))
}

func (e *entry) mistake(field, format string, a ...any) *Error {
	field = e.keyed.of(field)
	return &Error{File: e.doc.path, Line: e.lineOf(field), Subject: e.subject, Field: field, Problem: fmt.Sprintf(format, a...)}
}

// lines returns the line of each field, by its name.
func (e *entry) lines() map[string]int {
	lines := make(map[string]int)
	for key, value := range e.values {
		lines[key] = e.lineOf(key)
		inner, _ := value.(map[string]any)
		for name := range inner {
			lines[key+"."+name] = e.lineOf(key + "." + name)
		}
	}
	return lines
}

// lineOf returns the line of a field. If that is not known, it returns the line of the key above
// the field.
func (e *entry) lineOf(field string) int {
	key, inner, _ := strings.Cut(field, ".")
	key, _, _ = strings.Cut(key, "[")
	for path := append(slices.Clone(e.path), key, inner); len(path) > 0; path = path[:len(path)-1] {
		if line := e.doc.lineOf(path); line > 0 {
			return line
		}
	}
	return 0
}

// valueOf reads a value of one type. It returns zero if the value is absent, or is of another type.
// expected is the mistake for a value of another type; in it, %s stands for the type that the value
// has.
func valueOf[T any](e *entry, key, expected string) T {
	v, found := e.values[key]
	value, ok := v.(T)
	if found && !ok {
		e.fail(key, expected, sort(v))
	}
	return value
}

// text reads a text.
func (e *entry) text(key string) string {
	return valueOf[string](e, key, "expected a text, not %s; write it in quotes")
}

// oneOf reads a text that is one of a few words.
func (e *entry) oneOf(key string, words ...string) string {
	s := valueOf[string](e, key, "expected a text, not %s; write "+quoted(words))
	if s == "" || slices.Contains(words, s) {
		return s
	}
	e.fail(key, "%q is not known here; write %s", s, quoted(words))
	return ""
}

// flag reads true or false.
func (e *entry) flag(key string) bool {
	return valueOf[bool](e, key, "expected true or false, not %s")
}

// list reads a list of texts.
func (e *entry) list(key string) []string {
	form := `["…", "…"]`
	if text, ok := e.values[key].(string); ok && len(commandLine(text)) > 0 {
		form = listOf(commandLine(text))
	}
	items := valueOf[[]any](e, key, "expected a list, not %s; write "+strings.ReplaceAll(form, "%", "%%"))
	if items == nil {
		return nil
	}
	texts := make([]string, len(items))
	for i, item := range items {
		var ok bool
		if texts[i], ok = item.(string); ok {
			continue
		}
		if _, nested := item.([]any); nested && e.doc.format == formatYAML {
			e.fail(fmt.Sprintf("%s[%d]", key, i), "expected a text, not %s", listInList)
		} else {
			e.fail(fmt.Sprintf("%s[%d]", key, i), "expected a text, not %s; write it in quotes", sort(item))
		}
	}
	return texts
}

// listInList is a kind of value for an error, with its remedy: YAML makes a list in a list of two
// dashes.
const listInList = "a list in the list; leave one dash out, or write the text in quotes"

// texts reads a table of texts. It also takes numbers, true and false, which have only one form
// as a text.
func (e *entry) texts(key string) map[string]string {
	form := `{ NAME = "…" }`
	if e.doc.format != formatTOML {
		form = `{ "NAME": "…" }`
	}
	table := valueOf[map[string]any](e, key, "expected a table of texts, not %s; write "+form)
	if table == nil {
		return nil
	}
	texts := make(map[string]string, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		var ok bool
		if texts[name], ok = asText(table[name]); !ok {
			hint := `, and a variable in it as "${NAME}"`
			if e.keyed.names != nil { // whose client has a syntax of its own
				hint = ""
			}
			e.fail(key+"."+name, "expected a text, not %s; write it in quotes%s", sort(table[name]), hint)
		}
	}
	return texts
}

// asText returns the text of a scalar; ok is false for any other value.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// maxCopies bounds [Server.Copies].
const maxCopies = 1000

// count reads a whole number from 1 to a bound. It returns 0 if there is none.
func (e *entry) count(key string, most int64) int {
	value, found := e.values[key]
	if !found {
		return 0
	}
	n, whole := value.(int64)
	if !whole || n < 1 || n > most {
		e.fail(key, "expected a number from 1 to %d", most)
		return 0
	}
	return int(n)
}

// sort returns the name that people know for the type of v.
func sort(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int64, float64, json.Number:
		return "a number"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date"
}

// quoted lists words: "a", "b" or "c".
func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = strconv.Quote(w)
	}
	last := len(list) - 1
	if last == 0 {
		return list[0]
	}
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
