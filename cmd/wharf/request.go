package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newRequest(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "request SERVER METHOD [ARGUMENT…] | METHOD [ARGUMENT…] -- COMMAND…",
		Short: "Send a server a request of any method",
		Long: `Send a server a request of any method and print the result as JSON. The params
are written as the arguments of call. There is no schema for them, so key=value is
always a string, key:=JSON is any other value, and nothing is checked.`,
		Example: `  wharf request demo tools/list
  wharf request demo resources/read uri=demo://about`,
		Args:              cobra.ArbitraryArgs,
		PreRun:            func(*cobra.Command, []string) { a.flags.noValidate = true },
		RunE:              a.withServer(atLeast("METHOD"), a.request),
		ValidArgsFunction: a.completeServers,
	}
	a.flags.registerArgs(cmd)
	return cmd
}

// methods are the methods of the protocol that a server may know, for completion.
var methods = []string{
	mcp.MethodListTools, mcp.MethodCallTool, mcp.MethodListPrompts, mcp.MethodGetPrompt, mcp.MethodListResources, mcp.MethodListTemplates,
	mcp.MethodReadResource, mcp.MethodComplete, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodListTasks,
	mcp.MethodGetTask, mcp.MethodCancelTask, mcp.MethodTaskResult, mcp.MethodUpdateTask, mcp.MethodPing, mcp.MethodDiscover,
}

func (a *app) request(ctx context.Context, c *client, words []string) error {
	if words[0] == "" {
		return exit.Usage(errors.New("the method is empty"), "write one, such as tools/list")
	}
	typed, err := args.Read(ctx, a.stdin(ctx), a.flags.args, words[1:])
	if err != nil {
		return err
	}
	params, err := typed.Params(words[0])
	if err != nil {
		return err
	}
	result, err := ask(ctx, c, "asking "+c.session.Name(), func(ctx context.Context) (result json.RawMessage, err error) {
		err = c.session.Call(ctx, words[0], params, &result)
		return result, err
	})
	var answer *host.RPCError
	if near := meant(words[0], methods); errors.As(err, &answer) && answer.Code == mcp.CodeMethodNotFound && near != "" && near != words[0] {
		return exit.WithHint(err, fmt.Sprintf("did you mean %s?", near))
	}
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintRaw(result)
	}
	return a.PrintPlain(endLine(term.Indented(result)))
}
