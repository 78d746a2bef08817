package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
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
	result, err := ask(ctx, c, "reading "+words[0], func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return c.session.ReadResource(ctx, words[0])
	})
	if errors.As(err, new(*host.RPCError)) {
		return exit.WithHint(err, c.otherResource(ctx, words[0]))
	}
	if err != nil {
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
