package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

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
	return a.printList(append([]mcp.Prompt{}, prompts...), rows) // [] and not null
}

// promptSignature is how the arguments of a prompt are written on the command line.
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
