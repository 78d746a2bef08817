package main

import (
	"context"
	"fmt"
	"slices"
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
	return &cobra.Command{
		Use:   "prompt SERVER PROMPT [KEY=VALUE…] | PROMPT [KEY=VALUE…] -- COMMAND…",
		Short: "Fill in a prompt of a server",
		Long: `Fill in a prompt of a server and print the messages that it makes: as text on a
terminal, else the result as JSON, as the server gave it. Values are strings;
key=@FILE is the contents of a file.`,
		Example:           "  wharf prompt demo greet name=Ada",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(atLeast("PROMPT"), a.getPrompt),
		ValidArgsFunction: a.completeServers,
	}
}

func (a *app) getPrompt(ctx context.Context, c *client, words []string) error {
	typed, err := args.Read(ctx, a.In, "", words[1:])
	if err != nil {
		return err
	}
	values, err := typed.Texts()
	if err != nil {
		return err
	}
	if err := c.checkPrompt(ctx, words[0], values); err != nil {
		return err
	}
	result, err := ask(ctx, c, "asking for "+words[0], func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return c.session.GetPrompt(ctx, words[0], values)
	})
	if err != nil {
		return c.explainPrompt(ctx, words[0], err)
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

// explainPrompt returns the error of a prompt, with a hint if the server answered and lists no
// such prompt.
func (c *client) explainPrompt(ctx context.Context, name string, err error) error {
	if !answered(err) || host.Hint(err) != "" {
		return err
	}
	prompts, _ := c.session.ListPrompts(ctx)
	names := make([]string, len(prompts))
	for i := range prompts {
		names[i] = prompts[i].Name
	}
	if len(names) == 0 || slices.Contains(names, name) {
		return err
	}
	if near := meant(name, names); near != "" {
		return exit.WithHint(err, fmt.Sprintf("did you mean %q?", near))
	}
	if s := c.app.settings; c.app.address == "" && (s == nil || !s.has(c.app.server)) {
		return exit.WithHint(err, "`wharf prompts -- COMMAND…` lists the prompts of the server")
	}
	return exit.WithHint(err, fmt.Sprintf("`wharf prompts %s` lists the prompts of the server", plain.Word(c.app.serverWord())))
}

// checkPrompt finds the first argument that a prompt requires and that is missing. Whatever
// the list of prompts does not tell is left to the server.
func (c *client) checkPrompt(ctx context.Context, name string, values map[string]string) error {
	prompts, err := ask(ctx, c, "asking for the prompts", c.session.ListPrompts)
	at := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Name == name })
	if err != nil || at < 0 {
		return nil
	}
	var usage []string
	missing := ""
	for _, argument := range prompts[at].Arguments {
		word := plain.ShellWord(argument.Name) + "=…"
		if !argument.Required {
			word = "[" + word + "]"
		}
		usage = append(usage, word)
		if _, given := values[argument.Name]; argument.Required && !given && missing == "" {
			missing = argument.Name
		}
	}
	if missing == "" {
		return nil
	}
	return exit.Usage(fmt.Errorf("prompt %q: the argument %q is missing", name, missing), "write %s", strings.Join(usage, " "))
}
