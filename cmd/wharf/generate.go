package main

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/generate"
)

const generateLong = `Write a typed client from the schemas of a server's tools: a function for each tool,
with a type for its arguments and, where the server says what comes back, for that.
Some servers have fewer tools without a terminal, where no person answers their questions;
--respondent, --sampler and --root say what this command can do for a server.

It is written to stdout, or with --out to a file. A file that is there is replaced only
if it is such a client, or is empty.`

func newGenerate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "generate", Short: "Write a typed client for the tools of a server, or a program for the shell", Long: generateLong,
		Args: cobra.ArbitraryArgs,
		RunE: runGroup,
	}
	cmd.AddCommand(newGenerateGo(a), newGenerateTS(a), newGenerateSh(a))
	return cmd
}

func newGenerateGo(a *app) *cobra.Command {
	var out, name string
	cmd := &cobra.Command{
		Use: "go SERVER | -- COMMAND…", Aliases: []string{"golang"}, Short: "Write a client in Go", Long: generateLong + `

The file imports the package host/mcp of Wharf and the standard library. New takes a
*host.Session. What may be left out is a pointer, or left out where it is empty.`,
		Example: "  wharf generate go demo --out demo/client.go",
		RunE: a.withServer(atMost(0), func(ctx context.Context, c *client, _ []string) error {
			name = cmp.Or(name, packageName(c.session.Name()))
			if !token.IsIdentifier(name) || name == "_" {
				return exit.Usage(fmt.Errorf("--package %q is not the name of a package", name), "write a word of letters and digits")
			}
			return c.generate(ctx, out, name, (*generate.Client).Go)
		}),
		ValidArgsFunction: a.completeServers,
	}
	cmd.Flags().StringVar(&out, "out", "", "write the client to this `FILE`")
	cmd.Flags().StringVar(&name, "package", "", "the `NAME` of its package (default: that of the server)")
	return cmd
}

func newGenerateTS(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "ts SERVER | -- COMMAND…", Aliases: []string{"typescript"}, Short: "Write a client in TypeScript", Long: generateLong + `

The module imports nothing. It takes any object with a callTool as that of the Client
in @modelcontextprotocol/sdk.`,
		Example: "  wharf generate ts demo --out demo.ts",
		RunE: a.withServer(atMost(0), func(ctx context.Context, c *client, _ []string) error {
			return c.generate(ctx, out, "", (*generate.Client).TypeScript)
		}),
		ValidArgsFunction: a.completeServers,
	}
	cmd.Flags().StringVar(&out, "out", "", "write the client to this `FILE`")
	return cmd
}

// generate writes a client for the tools of the server to a file, or to stdout.
func (c *client) generate(ctx context.Context, path, name string, write func(*generate.Client) ([]byte, error)) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	text, err := write(&generate.Client{Server: c.session.Name(), Package: name, Tools: tools})
	if err != nil {
		return err
	}
	return c.write(ctx, path, text, 0o666, len(tools))
}

// packageName makes the name of a package in Go from that of a server.
func packageName(server string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(server))
	name = strings.TrimLeft(name, "0123456789")
	if name == "" || token.IsKeyword(name) {
		return name + "client"
	}
	return name
}
