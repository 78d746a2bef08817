package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newComplete(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "complete SERVER PROMPT|TEMPLATE KEY=BEGINNING [KEY=VALUE…] | PROMPT|TEMPLATE … -- COMMAND…",
		Short: "Ask a server to complete an argument",
		Long: `Ask a server to complete the argument of a prompt, or the variable of a resource
template: one value a line on a terminal, else a JSON object. The first KEY is the
one to complete; those that follow have their values.

A word with "://" or "{" in it is a template, and every other one a prompt.`,
		Example:           "  wharf complete demo greet name=A\n  wharf complete demo 'demo://greeting/{name}' name=",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(atLeast("PROMPT", "KEY=BEGINNING"), a.complete),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) complete(ctx context.Context, c *client, words []string) error {
	wanted, err := args.Parse(ctx, words[1])
	if err != nil {
		return c.keyOf(ctx, words[0], words[1], err)
	}
	settled, err := args.Pairs(ctx, words[2:], args.TextForm)
	if err != nil {
		return err
	}
	params := mcp.CompleteParams{Ref: mcp.PromptRef(words[0]), Argument: mcp.Argument{Name: wanted.Key, Value: wanted.Text}}
	if strings.Contains(words[0], "://") || strings.Contains(words[0], "{") {
		params.Ref = mcp.ResourceRef(words[0])
	}
	if len(settled) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: settled}
	}
	found, err := ask(ctx, c, "asking "+c.session.Name(), func(ctx context.Context) (*mcp.Completion, error) {
		return c.session.Complete(ctx, params)
	})
	if err != nil {
		return err
	}
	c.doubtCompletion(ctx, words[0], wanted.Key)
	if !a.forPeople() {
		return a.PrintRaw(found.Raw)
	}
	var out strings.Builder
	for _, value := range found.Values {
		out.WriteString(plain.Line(value) + "\n")
	}
	return a.printLaidOut(out.String())
}

// doubtCompletion warns of a prompt or template, or of a key of it, that the server probably does not
// have: servers propose values for any.
func (c *client) doubtCompletion(ctx context.Context, name, key string) {
	var known candidates
	var names []string
	known.prompts, _ = c.session.ListPrompts(ctx)
	known.templates, _ = c.session.ListResourceTemplates(ctx)
	for _, p := range known.prompts {
		names = append(names, p.Name)
	}
	for _, t := range known.templates {
		names = append(names, t.URITemplate)
	}
	c.doubt("prompt or template", name, names)
	var keys []string
	for _, key := range known.values([]string{name}, "") {
		keys = append(keys, strings.TrimSuffix(key, "="))
	}
	c.doubt("argument", key, keys)
}

// keyOf adds a hint to the error of a word that lacks a key: the word as a key, if the prompt or template
// of that name has it, or else the word with the first key.
func (c *client) keyOf(ctx context.Context, name, word string, err error) error {
	var known candidates
	known.prompts, _ = c.session.ListPrompts(ctx)
	known.templates, _ = c.session.ListResourceTemplates(ctx)
	keys := known.values([]string{name}, "")
	switch {
	case slices.Contains(keys, word+"="): // the argument itself, with no beginning
		return exit.Usage(err, "write %s", plain.ShellWord(word+"="))
	case len(keys) > 0:
		return exit.Usage(err, "write %s", plain.ShellWord(keys[0]+word))
	}
	return exit.Usage(err, args.TextForm)
}
