package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newResources(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resources SERVER | -- COMMAND…",
		Short: "List the resources of a server",
		Long: `List the resources of a server and the templates of further ones: a table on a
terminal, else a JSON object with the arrays "resources" and "resourceTemplates".`,
		Example:           "  wharf resources demo",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(unexpected("`wharf read SERVER …` reads one"), a.listResources),
		ValidArgsFunction: a.completeServers,
	}
}

// resourceLists are the resources and resource templates of a server.
type resourceLists struct {
	Resources []mcp.Resource         `json:"resources"`
	Templates []mcp.ResourceTemplate `json:"resourceTemplates"`
}

func (a *app) listResources(ctx context.Context, c *client, _ []string) error {
	have, err := ask(ctx, c, "asking "+c.session.Name()+" for its resources", c.resourceLists)
	if err != nil {
		return err
	}
	rows := plain.Table{{"URI", "NAME", "TYPE", "DESCRIPTION"}}
	for _, r := range have.Resources {
		rows = append(rows, []string{plain.Cell(r.URI), plain.Cell(r.Name), plain.Cell(r.MIMEType), about(r.Description, r.Title)})
	}
	for _, r := range have.Templates {
		rows = append(rows, []string{plain.Cell(r.URITemplate), plain.Cell(r.Name), plain.Cell(r.MIMEType), about(r.Description, r.Title)})
	}
	if err := a.printList(have, rows); err != nil {
		return err
	}
	if len(have.Resources)+len(have.Templates) == 0 {
		a.none(plain.Line(c.session.Name()) + " has no resources")
	}
	return nil
}

// resourceLists asks for both lists. A server may have no method for templates.
func (c *client) resourceLists(ctx context.Context) (have resourceLists, err error) {
	have = resourceLists{[]mcp.Resource{}, []mcp.ResourceTemplate{}} // [] and not null
	resources, err := c.session.ListResources(ctx)
	if err != nil {
		return have, err
	}
	templates, err := c.session.ListResourceTemplates(ctx)
	var no *host.RPCError
	if err != nil && !(errors.As(err, &no) && no.Code == mcp.CodeMethodNotFound) {
		return have, err
	}
	have.Resources = append(have.Resources, resources...)
	have.Templates = append(have.Templates, templates...)
	return have, nil
}
