package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newPrompt(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prompt SERVER PROMPT [ARGUMENT…] | PROMPT [ARGUMENT…] -- COMMAND…",
		Short: "Fill in a prompt of a server",
		Long: `Fill in a prompt of a server and print the messages that it makes: as text on a
terminal, else the result as JSON, as the server gave it.

Arguments are strings: key=value, key:value, or the value of the next argument, first
of those that the prompt requires. Behind a value one that is optional needs its name.
key=@FILE is the contents of a file. A text with = may be a value, as for call. A JSON
object of strings may hold them too, as --args or as a word.

The exit code is 2 when an argument is missing, or the server lists no such prompt
and refuses it.`,
		Example:           "  wharf prompt demo greet name=Ada\n  wharf prompt demo greet Ada",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(a.onePrompt, a.getPrompt),
		ValidArgsFunction: a.completeServers,
	}
	a.flags.registerArgs(cmd)
	return cmd
}

// onePrompt checks that a command gets the name of a prompt. A person who gives none may not know any, so the error
// has a hint.
func (a *app) onePrompt(_ *cobra.Command, words []string) error {
	if len(words) == 0 {
		return exit.Usage(errors.New("PROMPT is missing"), "%s", aPrompt.lists(a))
	}
	return nil
}

func (a *app) getPrompt(ctx context.Context, c *client, words []string) error {
	typed, err := args.Read(ctx, a.stdin(ctx), a.flags.args, words[1:])
	if err != nil {
		return err
	}
	prompts, _ := ask(ctx, c, "asking for the prompts", c.session.ListPrompts) // it may have some that it does not list
	name, names, schema := words[0], make([]string, len(prompts)), (*args.Schema)(nil)
	for i := range prompts {
		if names[i] = prompts[i].Name; names[i] == name {
			schema = promptSchema(&prompts[i])
		}
	}
	if schema == nil && len(names) > 0 && typed.NeedNames() {
		return c.strange(aPrompt, name, names, &unlistedError{c.session.Name(), aPrompt.what, name})
	}
	values, err := typed.Texts(fmt.Sprintf("prompt %q", name), schema)
	if err != nil {
		return err
	}
	if unnamed := schema.Unnamed(values); len(unnamed) > 0 && !a.Quiet {
		a.Tell(term.Dim, "note:", fmt.Sprintf("prompt %q names no argument %s; it is sent all the same", name, strings.Join(unnamed, ", ")), "")
	}
	result, err := ask(ctx, c, "asking for "+name, func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return c.session.GetPrompt(ctx, name, values)
	})
	if answered(err) && host.Hint(err) == "" {
		err = c.strange(aPrompt, name, names, err)
	}
	if err != nil {
		return err
	}
	c.doubt(aPrompt.what, name, names)
	if len(result.Messages) == 0 {
		a.none("the prompt is empty")
	}
	r := a.newRenderer()
	return r.print(result.Raw, a.Print, func() string {
		var out strings.Builder
		for i := range result.Messages {
			message := &result.Messages[i]
			out.WriteString(a.StyleOut(term.Bold, plain.Line(message.Role)+":") + " " + cleantext.Text(endLine(r.block(&message.Content))))
		}
		return out.String()
	})
}

// promptSchema returns the schema of a prompt's arguments, made from the list of prompts.
func promptSchema(p *mcp.Prompt) *args.Schema {
	var names, required []string
	for _, argument := range p.Arguments {
		names = append(names, argument.Name)
		if argument.Required {
			required = append(required, argument.Name)
		}
	}
	return args.TextSchema(names, required)
}

func newPrompts(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "prompts SERVER | -- COMMAND…",
		Short:             "List the prompts of a server",
		Long:              "List the prompts of a server: a table on a terminal, else the JSON array of prompts.",
		Example:           "  wharf prompts demo",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(unexpected("`wharf prompt SERVER …` gets one"), a.listPrompts),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) listPrompts(ctx context.Context, c *client, _ []string) error {
	prompts, err := ask(ctx, c, "asking "+c.session.Name()+" for its prompts", c.session.ListPrompts)
	if err != nil {
		return err
	}
	rows := plain.Table{{"PROMPT", "ARGUMENTS", "DESCRIPTION"}}
	for _, p := range prompts {
		rows = append(rows, []string{plain.Cell(p.Name), plain.Cell(promptSignature(p.Arguments)), about(p.Description, p.Title)})
	}
	if err := a.printList(append([]mcp.Prompt{}, prompts...), rows); err != nil { // [] and not null
		return err
	}
	if len(prompts) == 0 {
		a.none(plain.Line(c.session.Name()) + " has no prompts")
	}
	return nil
}

// promptSignature returns the arguments of a prompt as they are written on the command line.
func promptSignature(arguments []mcp.PromptArgument) string {
	var required, optional []string
	for _, argument := range arguments {
		if argument.Required {
			required = append(required, argument.Name+"=…")
		} else {
			optional = append(optional, "["+argument.Name+"=…]")
		}
	}
	return strings.Join(append(required, optional...), " ")
}
