package tomledit

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// splice replaces a range of the text.
func (d *document) splice(at span, text string) error {
	return d.become(slices.Concat(d.text[:at.start], []byte(text), d.text[at.end:]))
}

// add adds tables at the end of the file, and sets the values of those that are there. The values are
// those of the targets.
func (d *document) add(tables []Table, targets []target) error {
	var added strings.Builder
	for i, t := range tables {
		if _, found := at(d.values, t.Path); found || d.inlineAbove(t.Path) != nil {
			if err := d.set(t.Path, targets[i].value); err != nil {
				return err
			}
			continue
		}
		if added.Len() > 0 {
			added.WriteString(d.newline)
		}
		added.WriteString(t.text(d.newline))
	}
	if added.Len() == 0 {
		return nil
	}
	gap := ""
	if len(bytes.TrimSpace(d.text)) > 0 {
		gap = d.newline
		if !bytes.HasSuffix(d.text, []byte("\n")) {
			gap += d.newline
		}
		if bytes.HasSuffix(d.text, []byte("\n\n")) || bytes.HasSuffix(d.text, []byte("\n\r\n")) {
			gap = ""
		}
	}
	return d.splice(span{len(d.text), len(d.text)}, gap+added.String())
}

// set sets the value at a path.
func (d *document) set(path []string, value any) error {
	old, found := at(d.values, path)
	if found && equal(old, value) {
		return nil
	}
	table, isTable := value.(map[string]any)
	if s := d.key(path); s != nil {
		if set, err := d.setItems(s, old, value); set || err != nil {
			return err
		}
		if isTable && s.inline && len(s.inner) > 0 && len(table) > 0 {
			return d.setEach(path, table)
		}
		return d.splice(s.value, d.wrappedIn(s, value))
	}
	if found {
		if !isTable {
			return &Error{path, "it is a table there"}
		}
		return d.setEach(path, table)
	}
	return d.insert(path, value)
}

// setItems replaces the items of a list that differ, so that what the person wrote between the others stays. It
// reports false, and does nothing, where s is no list of strings, or old and value have no item in common or not as
// many.
func (d *document) setItems(s *statement, old, value any) (set bool, err error) {
	was, _ := old.([]any)
	is, _ := value.([]any)
	items := s.items // the document parses its text anew after each change
	if len(items) == 0 || len(items) != len(was) || len(was) != len(is) {
		return false, nil
	}
	var differ []int
	for i := range is {
		if !equal(was[i], is[i]) {
			differ = append(differ, i)
		}
	}
	if len(differ) == len(is) {
		return false, nil
	}
	for _, i := range slices.Backward(differ) {
		if err := d.splice(items[i], valueText(is[i])); err != nil {
			return true, err
		}
	}
	return true, nil
}

// wrappedIn returns the text of a new value of the statement s. Inside of an inline table the text
// has one line.
func (d *document) wrappedIn(s *statement, value any) string {
	if d.inlineAbove(s.path) != nil {
		return valueText(value)
	}
	return wrapped(dotted(s.path[s.depth:]), value, d.newline)
}

// setEach gives the table at a path exactly the keys and values of table.
func (d *document) setEach(path []string, table map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if err := d.set(append(slices.Clone(path), name), table[name]); err != nil {
			return err
		}
	}
	old, _ := at(d.values, path)
	inside, _ := old.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		if _, kept := table[name]; !kept {
			if err := d.remove(append(slices.Clone(path), name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// key returns the statement of exactly this key. It also looks inside of inline tables.
func (d *document) key(path []string) *statement { return keyIn(d.statements, path) }

func keyIn(list []statement, path []string) *statement {
	for i := range list {
		s := &list[i]
		switch {
		case s.isTable || !hasPrefix(path, s.path):
		case len(s.path) == len(path):
			return s
		default:
			return keyIn(s.inner, path)
		}
	}
	return nil
}

// inlineAbove returns the innermost inline table that a path leads into, or nil.
func (d *document) inlineAbove(path []string) (found *statement) {
	for n := 1; n < len(path); n++ {
		if s := d.key(path[:n]); s != nil && s.inline {
			found = s
		}
	}
	return found
}

// insert adds a new key beside the keys that are nearest to it.
func (d *document) insert(path []string, value any) error {
	above := path[:len(path)-1]
	if s := d.inlineAbove(path); s != nil {
		return d.insertInline(s, path, value)
	}
	if s := d.lastBeside(above); s != nil {
		if table, ok := value.(map[string]any); ok && s.depth == len(above) && s.depth > 0 && utf8.RuneCountInString(d.line("", path[s.depth:], value)) > maxLine {
			return d.insertTable(s, path, table)
		}
		return d.insertAfter(s, s.depth, path, value)
	}
	for i := range d.statements {
		if s := &d.statements[i]; s.isTable && len(s.path) > len(above) && hasPrefix(s.path, above) { // [servers.x.env] without [servers.x]
			start := d.commentsAbove(s.lines.start)
			text := Table{Path: above, Keys: []Key{{path[len(above)], value}}}.text(d.newline)
			if len(above) == 0 {
				text = d.line("", path, value)
			}
			return d.splice(span{start, start}, text+d.newline)
		}
	}
	if len(above) == 0 {
		start := len(d.text) // there is nothing but comments
		return d.splice(span{start, start}, d.ended(start)+d.line("", path, value))
	}
	if s := d.lastBeside(above[:len(above)-1]); s != nil && len(above) > 2 {
		return d.insertAfter(s, s.depth, above, map[string]any{path[len(above)]: value})
	}
	return d.add([]Table{{Path: above, Keys: []Key{{path[len(above)], value}}}}, []target{{above, map[string]any{path[len(above)]: value}}})
}

// lastBeside returns the last key that is directly in a table, or else the name of the table. A
// table may exist by dotted keys only, without a name in the file: then lastBeside returns the last
// of these keys.
func (d *document) lastBeside(table []string) (found *statement) {
	for i := range d.statements {
		s := &d.statements[i]
		switch {
		case s.isTable && slices.Equal(s.path, table):
			found = s
		case s.isTable || len(s.path) <= len(table) || !hasPrefix(s.path, table):
		case s.depth == len(table), s.depth < len(table) && (found == nil || found.depth < len(table)):
			found = s
		}
	}
	return found
}

// insertAfter adds a line behind a statement of the same table. path is that of the new key, and
// its first depth names are those of the table.
func (d *document) insertAfter(s *statement, depth int, path []string, value any) error {
	line := d.text[s.lines.start:s.lines.end]
	indent := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	return d.splice(span{s.lines.end, s.lines.end}, d.ended(s.lines.end)+d.line(indent, path[depth:], value))
}

// insertTable adds a table that is too long for one line, behind the last key of the table
// around it.
func (d *document) insertTable(s *statement, path []string, table map[string]any) error {
	t := Table{Path: path}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		t.Keys = append(t.Keys, Key{name, table[name]})
	}
	end := s.lines.end
	text := d.ended(end) + d.newline + t.text(d.newline)
	if end < len(d.text) && len(bytes.TrimSpace(lineAt(d.text, end))) > 0 {
		text += d.newline
	}
	return d.splice(span{end, end}, text)
}

// ended returns the line break to write before an offset if the line there has none, and ""
// otherwise.
func (d *document) ended(at int) string {
	if at > 0 && d.text[at-1] != '\n' {
		return d.newline
	}
	return ""
}

func (d *document) line(indent string, key []string, value any) string {
	return indent + dotted(key) + " = " + wrapped(dotted(key), value, d.newline) + d.newline
}

// insertInline adds a pair to an inline table.
func (d *document) insertInline(s *statement, path []string, value any) error {
	pair := dotted(path[len(s.path):]) + " = " + valueText(value)
	if n := len(s.inner); n > 0 {
		end := s.inner[n-1].lines.end
		return d.splice(span{end, end}, ", "+pair)
	}
	return d.splice(s.value, "{ "+pair+" }")
}
