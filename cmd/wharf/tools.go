package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newTools(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "tools SERVER | -- COMMAND…",
		Short:             "List the tools of a server",
		Long:              "List the tools of a server: a table on a terminal, else the JSON array of tools.",
		Example:           "  wharf tools demo\n  wharf tools -- npx -y @modelcontextprotocol/server-everything",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(exactly(), a.listTools),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) listTools(ctx context.Context, c *client, _ []string) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	return a.printTools(tools)
}

func (a *app) printTools(tools []mcp.Tool) error {
	rows := plain.Table{{"TOOL", "ARGUMENTS", "DESCRIPTION"}}
	for _, tool := range tools {
		rows = append(rows, []string{plain.Cell(tool.Name), plain.Cell(signature(tool)), about(tool.Description, tool.Title)})
	}
	return a.printList(append([]mcp.Tool{}, tools...), rows) // [] and not null
}

// signature is how the arguments of a tool are written on the command line,
// the required ones first, the others in brackets.
func signature(tool mcp.Tool) string {
	schema := args.ReadSchema(tool.InputSchema)
	var words []string
	for _, name := range schema.Names() {
		types := schema.Types(name)
		word := name + "=" + strings.Join(types, "|")
		if len(types) == 0 {
			word = name + "=…"
		}
		if !schema.Required(name) {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
