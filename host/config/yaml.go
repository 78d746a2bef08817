package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of a file in YAML. The parser keeps several hundred bytes for each byte of the file,
// and recurses as deep as the file nests. An alias stands for all values that its anchor names.
const (
	maxYAML         = 1 << 20 // bytes
	maxYAMLDepth    = 100     // brackets within brackets, or lists within lists on one line
	maxYAMLBrackets = 5_000   // that open, those in texts and comments among them
	maxYAMLValues   = 100_000 // with each alias replaced
)

// readYAML parses a file in YAML, which has one document. Tags mean nothing here, and merge keys
// ("<<") do what they do in YAML 1.1. The parser refuses a key that stands twice.
func readYAML(path string, text string) (*document, error) {
	if len(text) > maxYAML {
		return nil, &Error{File: path, Problem: fmt.Sprintf("is larger than %d MiB, which is more than is read of YAML; is it a configuration?", maxYAML>>20)}
	}
	if line, problem := tooDeepYAML(text); line > 0 {
		return nil, &Error{File: path, Line: line, Problem: "is not read: " + problem}
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		problem, line := "is not YAML: "+syntax.GetMessage(), syntax.GetToken().Position.Line
		if lines := strings.Split(text, "\n"); line >= 1 && line <= len(lines) && strings.HasPrefix(strings.TrimLeft(lines[line-1], " "), "\t") {
			problem = "is not YAML: a line begins with a tab; write blanks in its place"
		}
		return nil, &Error{File: path, Line: line, Problem: problem}
	case err != nil:
		return nil, &Error{File: path, Problem: "is not YAML: " + err.Error()}
	}
	r := &yamlReader{keys: &branch{}, anchors: make(map[string]ast.Node), left: maxYAMLValues}
	var root any
	documents := 0
	for _, d := range file.Docs {
		if d.Body != nil && d.Body.Type() != ast.DirectiveType {
			documents++
			root = r.value(d.Body, nil, 0)
		}
	}
	table, ok := root.(map[string]any)
	switch {
	case r.err != nil:
		return nil, &Error{File: path, Line: r.line, Problem: "is not read: " + r.err.Error()}
	case documents > 1:
		return nil, &Error{File: path, Problem: "has more than one document; expected one"}
	case !ok:
		return nil, &Error{File: path, Line: 1, Problem: "expected keys and values: mcpServers: …"}
	}
	return &document{path: path, root: table, keys: r.keys, line: r.keys.lineAt, format: formatYAML}, nil
}

// tooDeepYAML returns the line at which a file nests deeper than any configuration, or 0, and
// what is wrong with it. It also counts the brackets in texts and comments. A closing bracket
// there hides the depth, so the number of opening ones is bounded as well. If all of them nest,
// the parser takes 86 MiB, since it keeps a path for each level.
func tooDeepYAML(text string) (line int, problem string) {
	depth, brackets := 0, 0
	for l := range strings.Lines(text) {
		line++
		dashes := 0
		for i := range len(l) {
			switch c := l[i]; c {
			case '[', '{':
				depth++
				brackets++
			case ']', '}':
				depth = max(0, depth-1)
			case '-', '?', ':':
				if i+1 < len(l) && (l[i+1] == ' ' || l[i+1] == '\t') {
					dashes++
				}
			}
			switch {
			case depth > maxYAMLDepth || dashes > maxYAMLDepth:
				return line, "it nests too deeply"
			case brackets > maxYAMLBrackets:
				return line, "it has more brackets than any configuration"
			}
		}
	}
	return 0, ""
}

// yamlReader turns the nodes of a file into values.
type yamlReader struct {
	keys    *branch
	anchors map[string]ast.Node
	inside  []string // the anchors whose values are being read
	left    int      // values that may still be read

	err  error
	line int // of err
}

func (r *yamlReader) fail(n ast.Node, err error) any {
	if r.err == nil {
		r.err = err
		if t := n.GetToken(); t != nil {
			r.line = t.Position.Line
		}
	}
	return nil
}

// value returns the value of a node. depth counts the nodes above it, including those that an
// alias stands for.
func (r *yamlReader) value(n ast.Node, path []string, depth int) any {
	if r.left--; r.err != nil || n == nil {
		return nil
	}
	if r.left < 0 || depth > maxYAMLDepth {
		return r.fail(n, errors.New("its aliases stand for more than any configuration holds"))
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.Values, path, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n}, path, depth)
	case *ast.SequenceNode:
		list := []any{}
		for i, v := range n.Values {
			inner := append(path[:len(path):len(path)], strconv.Itoa(i))
			r.grow(inner, v)
			list = append(list, r.value(v, inner, depth+1))
		}
		return list
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		r.anchors[name] = n.Value
		return r.value(n.Value, path, depth+1)
	case *ast.AliasNode:
		return r.alias(n, path, depth)
	case *ast.TagNode:
		return r.value(n.Value, path, depth+1)
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return json.Number(n.GetToken().Value)
	case *ast.FloatNode:
		return json.Number(n.GetToken().Value)
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.StringNode:
		return n.Value
	}
	return n.GetToken().Value
}

func (r *yamlReader) alias(n *ast.AliasNode, path []string, depth int) any {
	name := n.Value.GetToken().Value
	target, known := r.anchors[name]
	if !known || slices.Contains(r.inside, name) {
		return r.fail(n, fmt.Errorf("*%s stands for nothing, or for itself", name))
	}
	r.inside = append(r.inside, name)
	v := r.value(target, path, depth+1)
	r.inside = r.inside[:len(r.inside)-1]
	return v
}

func (r *yamlReader) mapping(values []*ast.MappingValueNode, path []string, depth int) any {
	table := make(map[string]any)
	merged := make(map[string]any)
	for _, pair := range values {
		if pair.Key.IsMergeKey() {
			r.merge(merged, r.value(pair.Value, path, depth+1))
			continue
		}
		key := keyOfYAML(pair.Key)
		inner := append(path[:len(path):len(path)], key)
		r.grow(inner, pair.Key)
		table[key] = r.value(pair.Value, inner, depth+1)
	}
	for key, v := range merged {
		if _, own := table[key]; !own {
			table[key] = v
		}
	}
	return table
}

// merge adds the keys of a table, or of a list of tables. If several of the tables have a key, the
// first of them counts.
func (r *yamlReader) merge(into map[string]any, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if _, own := into[key]; !own {
				into[key] = value
			}
		}
	case []any:
		for _, item := range v {
			if table, ok := item.(map[string]any); ok {
				r.merge(into, table)
			}
		}
	}
}

func (r *yamlReader) grow(path []string, n ast.Node) {
	if t := n.GetToken(); t != nil && len(path) <= keyDepth {
		r.keys.grow(path, t.Position.Line)
	}
}

// keyOfYAML returns the text of a key.
func keyOfYAML(n ast.MapKeyNode) string {
	if s, ok := ast.Node(n).(*ast.StringNode); ok {
		return s.Value
	}
	if k, ok := ast.Node(n).(*ast.MappingKeyNode); ok && k.Value != nil {
		return k.Value.GetToken().Value
	}
	return n.GetToken().Value
}
