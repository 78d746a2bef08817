package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newPrompts(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "prompts SERVER | -- COMMAND…",
		Short:             "List the prompts of a server",
		Long:              "List the prompts of a server: a table on a terminal, else the JSON array of prompts.",
		Example:           "  wharf prompts demo",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.visit(exactly(), a.listPrompts),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) listPrompts(ctx context.Context, l *link, _ []string) error {
	prompts, err := ask(ctx, l, "asking "+l.session.Name()+" for its prompts", l.session.ListPrompts)
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintJSON(append([]mcp.Prompt{}, prompts...)) // [] and not null
	}
	rows := plain.Table{{"PROMPT", "ARGUMENTS", "DESCRIPTION"}}
	for _, p := range prompts {
		rows = append(rows, []string{plain.Cell(p.Name), plain.Cell(blanks(p.Arguments)), plain.Cell(about(p.Description, p.Title))})
	}
	return a.PrintTable(rows)
}

// blanks is how the arguments of a prompt are written on the command line.
func blanks(arguments []mcp.PromptArgument) string {
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

func newPrompt(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prompt SERVER PROMPT [KEY=VALUE…] | PROMPT [KEY=VALUE…] -- COMMAND…",
		Short: "Fill in a prompt of a server",
		Long: `Fill in a prompt of a server and print the messages that it makes: as text on a
terminal, else the result as JSON, as the server gave it. Values are strings;
key=@FILE is the contents of a file.`,
		Example:           "  wharf prompt demo greet name=Ada",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.visit(atLeast("PROMPT"), a.getPrompt),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) getPrompt(ctx context.Context, l *link, words []string) error {
	typed, err := args.Read(ctx, a.In, "", words[1:])
	if err != nil {
		return err
	}
	values, err := typed.Texts()
	if err != nil {
		return err
	}
	result, err := ask(ctx, l, "asking for "+words[0], func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return l.session.GetPrompt(ctx, words[0], values)
	})
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintRaw(result.Raw)
	}
	var out strings.Builder
	for i := range result.Messages {
		message := &result.Messages[i]
		out.WriteString(a.StyleOut(term.Bold, plain.Line(message.Role)+":") + " " + plain.Text(endLine(blockText(&message.Content))))
	}
	return a.Print(out.String())
}

func newComplete(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "complete SERVER PROMPT|TEMPLATE KEY=BEGINNING [KEY=VALUE…]",
		Short: "Ask a server how an argument may go on",
		Long: `Ask a server how the argument of a prompt, or the variable of a resource template,
may go on: one value a line on a terminal, else a JSON object. The first KEY is
the one to complete, and what follows is settled already.

A word with "://" or "{" in it is a template, and every other one a prompt.`,
		Example:           "  wharf complete demo greet name=A\n  wharf complete demo 'demo://greeting/{name}' name=",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.visit(atLeast("PROMPT", "KEY=BEGINNING"), a.complete),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) complete(ctx context.Context, l *link, words []string) error {
	wanted, err := args.Parse(ctx, words[1])
	if err != nil {
		return err
	}
	others, err := args.Read(ctx, a.In, "", words[2:])
	if err != nil {
		return err
	}
	settled, err := others.Texts()
	if err != nil {
		return err
	}
	params := mcp.CompleteParams{Ref: refOf(words[0]), Argument: mcp.Argument{Name: wanted.Key, Value: wanted.Text}}
	if len(settled) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: settled}
	}
	found, err := ask(ctx, l, "asking "+l.session.Name(), func(ctx context.Context) (*mcp.Completion, error) {
		return l.session.Complete(ctx, params)
	})
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintRaw(found.Raw)
	}
	var out strings.Builder
	for _, value := range found.Values {
		out.WriteString(plain.Line(value) + "\n")
	}
	return a.Print(out.String())
}

// refOf says what a word of the command line stands for.
func refOf(word string) mcp.Ref {
	if strings.Contains(word, "://") || strings.Contains(word, "{") {
		return mcp.ResourceRef(word)
	}
	return mcp.PromptRef(word)
}
