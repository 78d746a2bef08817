package main

import (
	"context"
	"errors"
	"strings"

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
		RunE:              a.visit(exactly(), a.listResources),
		ValidArgsFunction: a.completeServers,
	}
}

// holdings are what a server has to read.
type holdings struct {
	Resources []mcp.Resource         `json:"resources"`
	Templates []mcp.ResourceTemplate `json:"resourceTemplates"`
}

func (a *app) listResources(ctx context.Context, l *link, _ []string) error {
	have, err := ask(ctx, l, "asking "+l.session.Name()+" for its resources", l.holdings)
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintJSON(have)
	}
	rows := plain.Table{{"URI", "NAME", "TYPE", "DESCRIPTION"}}
	for _, r := range have.Resources {
		rows = append(rows, []string{plain.Cell(r.URI), plain.Cell(r.Name), plain.Cell(r.MIMEType), plain.Cell(about(r.Description, r.Title))})
	}
	for _, r := range have.Templates {
		rows = append(rows, []string{plain.Cell(r.URITemplate), plain.Cell(r.Name), plain.Cell(r.MIMEType), plain.Cell(about(r.Description, r.Title))})
	}
	return a.PrintTable(rows)
}

// holdings asks for both lists. A server may know nothing of templates.
func (l *link) holdings(ctx context.Context) (have holdings, err error) {
	have = holdings{[]mcp.Resource{}, []mcp.ResourceTemplate{}} // [] and not null
	resources, err := l.session.ListResources(ctx)
	if err != nil {
		return have, err
	}
	templates, err := l.session.ListResourceTemplates(ctx)
	var no *host.RPCError
	if err != nil && !(errors.As(err, &no) && no.Code == mcp.CodeMethodNotFound) {
		return have, err
	}
	have.Resources = append(have.Resources, resources...)
	have.Templates = append(have.Templates, templates...)
	return have, nil
}

// about is what people read about something: its description up to the first
// blank line, or else its title.
func about(description, title string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(description), "\n\n")
	if text == "" {
		return title
	}
	return text
}

func newRead(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "read SERVER URI | URI -- COMMAND…",
		Short: "Read a resource of a server",
		Long: `Read a resource of a server and print what it holds: its text on a terminal, else
the result as JSON, as the server gave it. Bytes are shown by their kind and size.`,
		Example:           "  wharf read demo demo://about",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.visit(exactly("URI"), a.readResource),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) readResource(ctx context.Context, l *link, words []string) error {
	result, err := ask(ctx, l, "reading "+words[0], func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return l.session.ReadResource(ctx, words[0])
	})
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintRaw(result.Raw)
	}
	var out strings.Builder
	for i := range result.Contents {
		out.WriteString(endLine(resourceText(&result.Contents[i])))
	}
	return a.PrintPlain(out.String())
}
