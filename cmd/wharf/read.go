package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newRead(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "read SERVER URI|TEMPLATE [KEY=VALUE…] | URI|TEMPLATE [KEY=VALUE…] -- COMMAND…",
		Short: "Read a resource of a server",
		Long: `Read a resource of a server and print what it holds: its text on a terminal, else
the result as JSON, as the server gave it. Bytes are shown by their kind and size;
--save DIR writes them to files. A template gets a value for each of its variables.`,
		Example:           "  wharf read demo demo://about\n  wharf read demo 'demo://greeting/{name}' name=Ada",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(a.oneURI, a.readResource),
		ValidArgsFunction: a.completeServers,
	}
}

// oneURI checks that a command gets one uri, or a template with values. A person who gives none may not know any, so the error
// has a hint.
func (a *app) oneURI(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return exit.Usage(errors.New("URI is missing"), "%s", aResource.lists(a))
	}
	if len(args.Blanks(words[0])) > 0 {
		return nil
	}
	return exactly("URI")(cmd, words)
}

func (a *app) readResource(ctx context.Context, c *client, words []string) error {
	uri, blanks := words[0], blanksOf(words[0])
	if len(words) > 1 {
		values, err := args.Pairs(ctx, words[1:], args.Pairing(uri))
		if err == nil {
			uri, err = args.Expand(uri, values)
		}
		if err != nil {
			return err
		}
		blanks = ""
	} else if c.hasTemplate(ctx, uri) {
		return isTemplate(uri, blanks+", or "+args.Pairing(uri))
	}
	result, err := ask(ctx, c, "reading "+uri, func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return c.session.ReadResource(ctx, uri)
	})
	switch refused := errors.As(err, new(*host.RPCError)); {
	case refused && blanks != "":
		return exit.WithHint(err, blanks)
	case refused:
		return exit.WithHint(err, c.otherResource(ctx, uri))
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

// hasTemplate reports whether a uri is a template of the server.
func (c *client) hasTemplate(ctx context.Context, uri string) bool {
	if len(args.Blanks(uri)) == 0 {
		return false
	}
	templates, _ := c.session.ListResourceTemplates(ctx) // a server may have none
	return slices.ContainsFunc(templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == uri })
}

func isTemplate(uri, hint string) error {
	return exit.Usage(fmt.Errorf("%q is a template, and no resource", plain.Clip(uri, 80)), "%s", hint)
}

// blanksOf returns a hint for a uri that has expressions of a template in it, or "".
func blanksOf(uri string) string {
	blanks := args.Blanks(uri)
	if blanks == nil {
		return ""
	}
	for i, blank := range blanks {
		blanks[i] = plain.Clip(plain.Line(blank), 40)
	}
	return "put a value in the place of " + strings.Join(blanks, " and ")
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
