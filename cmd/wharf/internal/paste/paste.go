// Package paste writes what a person pastes into the configuration of an editor or agent, so
// that it starts a program as an MCP server over stdio.
package paste

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// Server is a program that is an MCP server over stdio.
type Server struct {
	Name    string // by which the client shows it
	Command string // the path of the program: editors are seldom started by a shell, so PATH is not theirs
	Args    []string
}

// Client is an editor or agent whose configuration is known.
type Client struct {
	ID, Name string // for a command line, and for people
	Where    string // what is pasted, and into which file, for people

	text func(Server) (string, error)
}

// Clients are the clients whose configurations are known here.
var Clients = []Client{
	{"acp", "an ACP agent", "an element of mcpServers in session/new", func(s Server) (string, error) {
		return object(acpServer{s.Name, s.Command, s.Args, []string{}})
	}},
	{"claude", "Claude Desktop and Claude Code", "into claude_desktop_config.json, or .mcp.json of a project", mcpServers},
	{"codex", "Codex", "into ~/.codex/config.toml", func(s Server) (string, error) {
		return tomledit.Text(tomledit.Table{Path: []string{"mcp_servers", s.Name}, Keys: []tomledit.Key{
			{Name: "command", Value: s.Command}, {Name: "args", Value: s.Args},
		}})
	}},
	{"cursor", "Cursor", "into ~/.cursor/mcp.json, or .cursor/mcp.json of a project", mcpServers},
	{"jetbrains", "JetBrains", "into ~/.junie/mcp/mcp.json, or Settings, Tools, AI Assistant, MCP", mcpServers},
	{"vscode", "VS Code", "into .vscode/mcp.json, or what \"MCP: Open User Configuration\" opens", func(s Server) (string, error) {
		return object(map[string]any{"servers": map[string]vscodeServer{s.Name: {"stdio", s.Command, s.Args}}})
	}},
	{"zed", "Zed", "into what \"zed: open settings\" opens", func(s Server) (string, error) {
		return object(map[string]any{"context_servers": map[string]stdioServer{s.Name: {s.Command, s.Args}}})
	}},
}

// Text returns the lines that start a server, with a line break at their end. In the name of the server, a dash stands
// for what is no letter, digit or underscore: Codex starts no server with another name (validate_mcp_server_name in
// codex-rs), and other clients replace it in the names of tools.
func (c *Client) Text(s Server) (string, error) {
	s.Name = plainName(s.Name)
	return c.text(s)
}

func plainName(name string) string {
	plain := strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}), "-")
	return cmp.Or(plain, "wharf")
}

// stdioServer is a server as most clients have it.
type stdioServer struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// vscodeServer is a server of VS Code.
type vscodeServer struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// acpServer is a server of the Agent Client Protocol, which wants all members.
type acpServer struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []string `json:"env"` // always empty
}

func mcpServers(s Server) (string, error) {
	return object(map[string]any{"mcpServers": map[string]stdioServer{s.Name: {s.Command, s.Args}}})
}

// object returns the JSON of an object, indented for people.
func object(v any) (string, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return text.String(), err
}
