package tomledit

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// span is a range of bytes in a file.
type span struct{ start, end int }

// statement is the name of a table, or a key with its value. In the file it takes whole lines;
// inside of an inline table it takes a part of a line.
type statement struct {
	isTable bool
	path    []string // from the root of the file
	depth   int      // how many names of the path are those of the table it stands in
	lines   span     // whole lines, with the last line break; of an inline one, the pair
	value   span     // of a key
	inner   []statement
	inline  bool   // the value is an inline table
	items   []span // of a list of strings
}

// unnamed begins the path of everything in an array of tables, which has no path of its own. It
// is not UTF-8, so no path of a file begins like it.
const unnamed = "\xff"

// parse returns the statements of a file, and the paths of its arrays of tables.
func parse(text []byte) (statements []statement, arrays [][]string, err error) {
	var p unstable.Parser
	p.Reset(text)
	var table []string
	inArray := false
	for p.NextExpression() {
		node := p.Expression()
		key, last := keyOf(node)
		path := slices.Concat(table, key)
		if node.Kind != unstable.KeyValue {
			path, table = key, key
			if node.Kind == unstable.ArrayTable {
				arrays = append(arrays, path)
			}
			inArray = slices.ContainsFunc(arrays, func(a []string) bool { return hasPrefix(path, a) })
		}
		if inArray {
			path = append([]string{unnamed}, path...)
		}
		s := statement{isTable: true, path: path, depth: len(path)}
		if node.Kind == unstable.KeyValue {
			s = keyValue(&p, node, path[:len(path)-len(key)])
		}
		end := max(last, s.value.end)
		s.lines.start = bytes.LastIndexByte(text[:firstOf(node)], '\n') + 1
		s.lines.end = len(text)
		if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
			s.lines.end = end + i + 1
		}
		statements = append(statements, s)
	}
	if err := p.Error(); err != nil {
		return nil, nil, err
	}
	return statements, arrays, nil
}

// keyOf returns the names of a key, and the offset where the key ends.
func keyOf(node *unstable.Node) (path []string, end int) {
	for key := node.Key(); key.Next(); {
		n := key.Node()
		if n.Kind != unstable.Key {
			break // a comment behind it
		}
		path = append(path, string(n.Data))
		end = int(n.Raw.Offset + n.Raw.Length)
	}
	return path, end
}

func firstOf(node *unstable.Node) int {
	key := node.Key()
	key.Next()
	return int(key.Node().Raw.Offset)
}

// keyValue returns the statement of a key with its value in the table at a path.
func keyValue(p *unstable.Parser, node *unstable.Node, table []string) statement {
	key, end := keyOf(node)
	s := statement{path: slices.Concat(table, key), depth: len(table)}
	s.lines = span{int(node.Raw.Offset), int(node.Raw.Offset + node.Raw.Length)}
	rest := p.Data()[end:s.lines.end]
	equals := bytes.IndexByte(rest, '=') // only spaces stand before it
	s.value = span{end + equals + 1, s.lines.end}
	s.value.start += len(rest[equals+1:]) - len(bytes.TrimLeft(rest[equals+1:], " \t"))
	switch value := node.Value(); value.Kind {
	case unstable.InlineTable:
		s.inline = true
		for it := value.Children(); it.Next(); {
			if n := it.Node(); n.Kind == unstable.KeyValue {
				s.inner = append(s.inner, keyValue(p, n, s.path))
			}
		}
	case unstable.Array:
		s.items = stringsOf(value)
	}
	return s
}

// stringsOf returns where the items of a list are. It returns nil if one of them is no string.
func stringsOf(list *unstable.Node) (items []span) {
	for it := list.Children(); it.Next(); {
		n := it.Node()
		if n.Kind != unstable.String {
			return nil
		}
		items = append(items, span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
	}
	return items
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}
