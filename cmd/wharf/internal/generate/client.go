package generate

import (
	"cmp"
	"fmt"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// Client says for which server and tools a client is written.
type Client struct {
	Server  string // for the comment at the top
	Package string // of a client in Go, an identifier
	Tools   []mcp.Tool
}

// MaxTools is how many tools a client is written for.
const MaxTools = 1000

// tool is a tool with its schemas read.
type tool struct {
	name      string // as the server has it
	method    string // as the client has it, from an upper-case letter on
	about     string
	arguments *shape
	result    *shape // nil where the server declares none
}

// read reads the schemas of all tools. No method and no type gets a name that the client
// has for itself.
func (c *Client) read(methods, types names) ([]tool, *reader, error) {
	if len(c.Tools) > MaxTools {
		return nil, nil, fmt.Errorf("the server has %d tools; expected at most %d", len(c.Tools), MaxTools)
	}
	r := &reader{shapes: maxShapes, bytes: maxBytes, types: types}
	var tools []tool
	for _, t := range c.Tools {
		method := methods.take(camel(t.Name))
		read := tool{name: t.Name, method: method, about: cmp.Or(t.Description, t.Title)}
		read.arguments = r.document(t.InputSchema, method, "Arguments", true)
		if len(t.OutputSchema) > 0 {
			read.result = r.document(t.OutputSchema, method, "Result", false)
		}
		tools = append(tools, read)
	}
	return tools, r, nil
}
