package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

func newRead(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "read SERVER URI | URI -- COMMAND…",
		Short: "Read a resource of a server",
		Long: `Read a resource of a server and print what it holds: its text on a terminal, else
the result as JSON, as the server gave it. Bytes are shown by their kind and size;
--save DIR writes them to files.`,
		Example:           "  wharf read demo demo://about",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(a.oneURI, a.readResource),
		ValidArgsFunction: a.completeServers,
	}
}

// oneURI checks that a command gets one uri. A person who gives none may not know any, so the error
// has a hint.
func (a *app) oneURI(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return exit.Usage(errors.New("URI is missing"), "%s", aResource.lists(a))
	}
	return exactly("URI")(cmd, words)
}

func (a *app) readResource(ctx context.Context, c *client, words []string) error {
	blanks := blanksOf(words[0])
	if blanks != "" {
		templates, _ := c.session.ListResourceTemplates(ctx) // a server may have none
		if slices.ContainsFunc(templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == words[0] }) {
			return exit.Usage(fmt.Errorf("%q is a template, and no resource", plain.Clip(words[0], 80)), "%s", blanks)
		}
	}
	result, err := ask(ctx, c, "reading "+words[0], func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return c.session.ReadResource(ctx, words[0])
	})
	switch refused := errors.As(err, new(*host.RPCError)); {
	case refused && blanks != "":
		return exit.WithHint(err, blanks)
	case refused:
		return exit.WithHint(err, c.otherResource(ctx, words[0]))
	case err != nil:
		return err
	}
	if !slices.ContainsFunc(result.Contents, func(part mcp.ResourceContents) bool { return part.Text != "" || part.Blob != "" }) {
		a.none("the resource is empty")
	}
	r := a.newRenderer()
	return r.print(result.Raw, a.PrintPlain, func() string {
		var out strings.Builder
		for i := range result.Contents {
			out.WriteString(endLine(r.resource(&result.Contents[i])))
		}
		return out.String()
	})
}

// blanksOf returns a hint for a uri that has expressions of a template in it (RFC 6570), or "". No uri has braces.
func blanksOf(uri string) string {
	var blanks []string
	for _, m := range expression.FindAllStringSubmatch(uri, -1) {
		blanks = append(blanks, plain.Clip(plain.Line(m[0]), 40))
	}
	if blanks == nil {
		return ""
	}
	return "put a value in the place of " + strings.Join(blanks, " and ")
}

var expression = lazyregexp.New(`\{[^{}]+\}`)

// otherResource returns a hint for a resource that the server refuses to read: the one that was
// probably meant, or how resources are listed.
func (c *client) otherResource(ctx context.Context, uri string) string {
	listed, _ := c.session.ListResources(ctx)
	uris := make([]string, len(listed))
	for i := range listed {
		uris[i] = listed[i].URI
	}
	if near := meant(uri, uris); near != "" && near != uri {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return aResource.lists(c.app)
}
