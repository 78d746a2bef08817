package config

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// maxXMLDepth is how deep the elements of a file may nest.
const maxXMLDepth = 100

// xmlServers are the elements that describe a server in options/llm.mcpServers.xml of a JetBrains IDE. Its AI
// Assistant writes them until 2025.2; since then the file has McpServerConfigurationProperties, which only say whether
// a server of .ai/mcp/mcp.json is used. The form is that of persisted state of the IntelliJ platform: options with
// name and value, and EnvironmentVariablesData for the variables.
var xmlServers = map[string]bool{"McpServerCommand": true, "McpServerURL": true}

// xmlKeys are the keys of an entry, by the names of options, where these are others.
var xmlKeys = map[string]string{"programPath": "command", "arguments": "args", "workingDirectory": "cwd"}

// readXML parses a file of a JetBrains IDE. Its servers become a list under mcpServers.
func readXML(path, text string) (*document, error) {
	r := &xmlReader{keys: &branch{}, servers: []any{}}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			root := map[string]any{rootMCPServers[0]: r.servers}
			return &document{path: path, root: root, keys: r.keys, line: r.keys.lineAt, format: formatXML}, nil
		case errors.As(err, &syntax):
			return nil, &Error{File: path, Line: syntax.Line, Problem: "is not XML: " + syntax.Msg}
		case err != nil:
			return nil, &Error{File: path, Line: line, Problem: "is not XML: " + err.Error()}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if r.open(t, line); len(r.path) > maxXMLDepth {
				return nil, &Error{File: path, Line: line, Problem: "is not read: it nests too deeply"}
			}
		case xml.EndElement:
			r.path = r.path[:len(r.path)-1]
		}
	}
}

// xmlReader collects the servers of a file.
type xmlReader struct {
	path    []string // the elements that are open; an option is "option NAME"
	depth   int      // of the last server, in path
	servers []any
	keys    *branch
}

// open reads the start of an element.
func (r *xmlReader) open(t xml.StartElement, line int) {
	name, label, value, valued := t.Name.Local, "", "", false
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "name", "key":
			label = a.Value
		case "value":
			value, valued = a.Value, true
		}
	}
	if name == "option" {
		name += " " + label
	}
	above := r.path
	r.path = append(r.path, name)
	if xmlServers[name] {
		r.depth = len(r.path)
		r.servers = append(r.servers, map[string]any{})
		r.set(line)
		return
	}
	if len(r.servers) == 0 || len(above) < r.depth || !xmlServers[above[r.depth-1]] || !valued {
		return
	}
	switch inside := strings.Join(above[r.depth:], "/"); {
	case inside == "" && t.Name.Local == "option":
		r.option(label, value, line)
	case inside == "envs":
		r.table("env", label, value, line)
	case inside == "option headers/map":
		r.table("headers", label, value, line)
	}
}

// option sets a key of the last server.
func (r *xmlReader) option(name, value string, line int) {
	key := name
	if own := xmlKeys[name]; own != "" {
		key = own
	}
	server := r.servers[len(r.servers)-1].(map[string]any)
	switch on, err := strconv.ParseBool(value); {
	case key == "args":
		server[key] = platformWords(value)
	case key == "enabled" && err == nil:
		server[key] = on
	default:
		server[key] = value
	}
	r.set(line, key)
}

// table sets a key in a table of the last server.
func (r *xmlReader) table(key, name, value string, line int) {
	server := r.servers[len(r.servers)-1].(map[string]any)
	t, _ := server[key].(map[string]any)
	if t == nil {
		t = make(map[string]any)
		server[key] = t
	}
	t[name] = value
	r.set(line, key, name)
}

// set notes the line of a key of the last server.
func (r *xmlReader) set(line int, keys ...string) {
	r.keys.grow(append([]string{rootMCPServers[0], fmt.Sprint(len(r.servers) - 1)}, keys...), line)
}

// platformWords splits a command line as the IntelliJ platform does (ParametersListUtil.parse): at blanks outside
// double quotes. A backslash before a double quote keeps that, and is a character elsewhere.
func platformWords(line string) []any {
	list, word := []any{}, strings.Builder{}
	quoted, begun := false, false
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case c == '\\' && i+1 < len(runes) && runes[i+1] == '"':
			i++
			word.WriteRune('"')
			begun = true
		case c == '"':
			quoted, begun = !quoted, true
		case unicode.IsSpace(c) && !quoted:
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		list = append(list, word.String())
	}
	return list
}
