package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// candidates are the words that a command line about one server may go on with: what is
// known of the server without asking it.
type candidates struct {
	tools     []mcp.Tool
	prompts   []mcp.Prompt
	resources []mcp.Resource
	templates []mcp.ResourceTemplate
}

// next returns what a word may become that follows the given ones in a command. The command
// is one that is about a server, whose name is not among the words.
func (c *candidates) next(command string, words []string, word string) []string {
	var all []string
	switch first := len(words) == 0; {
	case command == "call" && first, command == "tools" && first:
		for _, tool := range c.tools {
			all = append(all, tool.Name)
		}
	case command == "call":
		return c.arguments(words, word)
	case command == "prompt" && first:
		for _, prompt := range c.prompts {
			all = append(all, prompt.Name)
		}
	case command == "prompt" || command == "complete" && !first:
		if i := slices.IndexFunc(c.prompts, func(p mcp.Prompt) bool { return p.Name == words[0] }); i >= 0 {
			for _, argument := range c.prompts[i].Arguments {
				all = append(all, argument.Name+"=")
			}
		}
		all = slices.DeleteFunc(all, func(key string) bool { return given(words[1:], key) })
	case command == "complete":
		for _, prompt := range c.prompts {
			all = append(all, prompt.Name)
		}
		for _, template := range c.templates {
			all = append(all, template.URITemplate)
		}
	case command == "read" && first, command == "watch":
		for _, resource := range c.resources {
			all = append(all, resource.URI)
		}
		for _, template := range c.templates { // up to its first variable
			uri, _, _ := strings.Cut(template.URITemplate, "{")
			all = append(all, uri)
		}
	}
	return beginning(all, word)
}

// arguments are the keys of a tool's arguments that are not given yet, and behind a key
// the values that the schema names.
func (c *candidates) arguments(words []string, word string) []string {
	i := slices.IndexFunc(c.tools, func(t mcp.Tool) bool { return t.Name == words[0] })
	if i < 0 {
		return nil
	}
	var all []string
	for _, p := range args.ReadSchema(c.tools[i].InputSchema).Properties() {
		if given(words[1:], p.Name+"=") {
			continue
		}
		if !strings.HasPrefix(word, p.Name+"=") {
			all = append(all, p.Name+"=")
			continue
		}
		for _, value := range p.Enum {
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			all = append(all, p.Name+"="+text)
		}
		if len(p.Types) == 1 && p.Types[0] == "boolean" {
			all = append(all, p.Name+"=true", p.Name+"=false")
		}
	}
	return beginning(all, word)
}

// given reports whether a key is among the words, as key=value or key:=JSON.
func given(words []string, key string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.HasPrefix(word, key) || strings.HasPrefix(word, strings.TrimSuffix(key, "=")+":=")
	})
}

// beginning returns the words that begin with a word, and leaves out those that the line
// would take for a flag, and those that a shell or a terminal could take for something else.
func beginning(all []string, word string) []string {
	all = slices.DeleteFunc(all, func(text string) bool {
		return text == "" || text[0] == '-' || len(text) > longestCandidate || !strings.HasPrefix(text, word) || cleantext.Visible(text) != text
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// longestCandidate is the longest word that is offered, in bytes.
const longestCandidate = 500
