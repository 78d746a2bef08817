package main

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// candidates finds the words that may continue a command line about one server. It uses what is
// known of the server, and asks the server for values.
type candidates struct {
	ask asker // nil = the server is not asked

	tools     []mcp.Tool
	prompts   []mcp.Prompt
	resources []mcp.Resource
	templates []mcp.ResourceTemplate
	completes bool // the server has said that it proposes values
}

// next returns the candidates for the next word of a command. words are the words before it,
// without the name of the server; word is what is typed of it.
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
		all = c.values(words, word)
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
		all = append(all, c.addresses(word)...)
	}
	return beginning(all, word)
}

// values returns the keys of a prompt, or of a template's variables, that are not given yet.
// Behind a key it returns the values that the server proposes.
func (c *candidates) values(words []string, word string) (all []string) {
	ref, keys := mcp.PromptRef(words[0]), []string(nil)
	for _, p := range c.prompts {
		if p.Name == words[0] {
			for _, argument := range p.Arguments {
				keys = append(keys, argument.Name)
			}
		}
	}
	if slices.ContainsFunc(c.templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == words[0] }) {
		ref, keys = mcp.ResourceRef(words[0]), variables(words[0])
	}
	settled := make(map[string]string)
	for _, w := range words[1:] {
		if key, value, found := strings.Cut(w, "="); found {
			settled[strings.TrimSuffix(key, ":")] = value
		}
	}
	for _, key := range keys {
		if _, is := settled[key]; is {
			continue
		}
		if path, typed := strings.CutPrefix(word, key+"=@"); typed {
			all = append(all, filesAt(key+"=@", path)...)
			continue
		}
		value, typed := strings.CutPrefix(word, key+"=")
		if !typed {
			all = append(all, key+"=")
			continue
		}
		for _, proposed := range c.proposed(ref, key, value, settled) {
			all = append(all, key+"="+proposed)
		}
	}
	return all
}

// addresses returns resources that match the templates, with the values that the server proposes
// for the variable that is being typed.
func (c *candidates) addresses(word string) (all []string) {
	for _, template := range c.templates {
		if name, value, before, settled, found := variableAt(template.URITemplate, word); found {
			for _, proposed := range c.proposed(mcp.ResourceRef(template.URITemplate), name, value, settled) {
				all = append(all, before+url.PathEscape(proposed))
			}
		}
	}
	return all
}

// proposed returns the server's proposals for an argument whose beginning is given.
func (c *candidates) proposed(ref mcp.Ref, name, value string, settled map[string]string) []string {
	if c.ask == nil {
		return nil
	}
	p := mcp.CompleteParams{Ref: ref, Argument: mcp.Argument{Name: name, Value: value}}
	if len(settled) > 0 {
		p.Context = &mcp.CompleteContext{Arguments: settled}
	}
	return c.ask(p)
}

// arguments returns the keys of a tool's arguments that are not given yet. Behind a key it
// returns the values that the schema names.
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
		if path, typed := strings.CutPrefix(word, p.Name+"=@"); typed {
			all = append(all, filesAt(p.Name+"=@", path)...)
			continue
		}
		if !strings.HasPrefix(word, p.Name+"=") {
			all = append(all, p.Name+"=")
			continue
		}
		for _, value := range p.Enum {
			text := string(value)
			if mcp.KindOf(value) == "string" {
				json.Unmarshal(value, &text)
			}
			all = append(all, p.Name+"="+text)
		}
		if len(p.Types) == 1 && p.Types[0] == "boolean" {
			all = append(all, p.Name+"=true", p.Name+"=false")
		}
	}
	return beginning(all, word)
}

// filesAt returns the files and folders whose path begins with what is typed of it, behind a prefix.
// A file whose name begins with a dot is only returned if the dot is typed.
func filesAt(prefix, path string) (all []string) {
	folder, typed := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, typed) || name[0] == '.' && typed == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.IsDir() { // through a link
			name += "/"
		}
		all = append(all, prefix+folder+name)
	}
	return all
}

// given reports whether a key is among the words, as key=value or key:=JSON.
func given(words []string, key string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.HasPrefix(word, key) || strings.HasPrefix(word, strings.TrimSuffix(key, "=")+":=")
	})
}

// beginning returns the candidates that begin with a word. It leaves out those that the program
// would take for a flag, and those that a shell or a terminal could take for something else.
func beginning(all []string, word string) []string {
	all = slices.DeleteFunc(all, func(text string) bool { return !strings.HasPrefix(text, word) })
	all = omit(all, func(text string) bool {
		return text == "" || text[0] == '-' || len(text) > longestCandidate || cleantext.Visible(text) != text
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// omit leaves out the words that cannot be offered. With an unfit value it leaves out all values
// of that key: a shell would complete the only one that is left, which may be the wrong one.
func omit(all []string, unfit func(string) bool) []string {
	keys := make(map[string]bool)
	for _, word := range all {
		if key, _, isValue := strings.Cut(word, "="); isValue && unfit(word) {
			keys[key] = true
		}
	}
	return slices.DeleteFunc(all, func(word string) bool {
		key, _, isValue := strings.Cut(word, "=")
		return unfit(word) || isValue && keys[key]
	})
}

// longestCandidate is the longest word that is offered, in bytes.
const longestCandidate = 500
