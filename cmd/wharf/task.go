package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const taskResultLong = "Wait for a task and print the result of the call that it is, as `wharf call` does. An\n" +
	"interrupt ends the wait, and not the task."

func newTask(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "See to the tasks of a server",
		Long: fmt.Sprintf(`See to the tasks of a server, which `+"`wharf call --detach`"+` or another program began: calls
of tools that go on without a connection. The server has the tasks, and how long it keeps
them is its own affair: Wharf keeps none. A server that Wharf starts as a command may
forget them when it ends, which is with the command or the shell that started it; or, where
it runs in the daemon, with the daemon (see wharf daemon). The daemon goes on, and keeps the
server, until the task has ended. If the server has said how long it keeps the task, the
daemon waits until that time is over or a client has asked for the result. It waits for %d
hours at most. A server that is reached by an address goes on when Wharf ends.`, int(taskTime.Hours())),
		RunE: runGroup,
	}
	sub := func(use, short, long string, check cobra.PositionalArgs, run func(context.Context, *client, []string) error) {
		cmd.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
			RunE: a.withServer(check, withTaskHint(run)), ValidArgsFunction: a.completeServers,
		})
	}
	sub("list SERVER | -- COMMAND…", "List the tasks that a server keeps",
		"List the tasks that a server keeps for this client, and since when. A note says when the\nserver ends. Servers of the revision 2026-07-28 have no such list.", exactly(), a.listTasks)
	sub("status SERVER ID | ID -- COMMAND…", "Print how far a task is", "Print how far a task is: as JSON, or a line on a terminal.", exactly("ID"), a.showTask)
	sub("result SERVER ID | ID -- COMMAND…", "Wait for a task and print its result",
		taskResultLong, exactly("ID"), a.finishTask)
	sub("cancel SERVER ID | ID -- COMMAND…", "Cancel a task", "Ask the server to end a task.", exactly("ID"), a.cancelTask)
	return cmd
}

// withTaskHint adds a hint at the list of tasks if the server does not know the one of a request. If
// the server knows no such request, it says so.
func withTaskHint(run func(context.Context, *client, []string) error) func(context.Context, *client, []string) error {
	return func(ctx context.Context, c *client, words []string) error {
		if len(words) > 0 && c.entry.Command != "" { // else the command can be begun anew
			c.noteTask(words[0])
		}
		err := run(ctx, c, words)
		var answer *host.RPCError
		if !errors.As(err, &answer) {
			return err
		}
		if answer.Code == mcp.CodeMethodNotFound {
			return fmt.Errorf("%s offers no tasks: %w", c.session.Name(), err)
		}
		if len(words) > 0 && c.app.known() && answer.Code == mcp.CodeInvalidParams && c.session.Info().Era == mcp.Legacy {
			list := "wharf task list " + plain.Word(c.app.serverWord())
			if c.app.shell != nil {
				list = "task list"
			}
			err = exit.WithHint(err, fmt.Sprintf("`%s` lists the tasks that the server keeps", list))
		}
		return err
	}
}

func (a *app) listTasks(ctx context.Context, c *client, _ []string) error {
	tasks, err := ask(ctx, c, "asking "+c.session.Name()+" for its tasks", c.session.ListTasks)
	if err != nil {
		return err
	}
	rows := plain.Table{{"TASK", "STATUS", "SINCE", "UPDATED", "MESSAGE"}}
	for _, t := range tasks {
		rows = append(rows, []string{plain.Cell(t.ID), plain.Cell(string(t.Status)), plain.Cell(t.CreatedAt), plain.Cell(t.LastUpdatedAt), about(t.StatusMessage, "")})
	}
	err = a.printList(append([]mcp.Task{}, tasks...), rows) // [] and not null
	switch ends := c.processEnds(); {
	case err != nil:
		return err
	case len(tasks) == 0:
		a.none(plain.Line(c.session.Name()) + " keeps no tasks for this client")
	case ends == "":
		a.none(plain.Line(c.session.Name()) + " keeps them, also when Wharf ends")
	default:
		a.none(ends + ", and may forget them")
	}
	return nil
}

func (a *app) showTask(ctx context.Context, c *client, words []string) error {
	task, err := ask(ctx, c, "asking "+c.session.Name()+" for a task", func(ctx context.Context) (*mcp.Task, error) {
		return c.session.Task(ctx, words[0])
	})
	if err != nil {
		return err
	}
	return a.printTask(task)
}

func (a *app) finishTask(ctx context.Context, c *client, words []string) error {
	ctx = host.WithOptions(ctx, host.RequestOptions{KeepTask: true})
	result, err := ask(ctx, c, "waiting for a task of "+c.session.Name(), func(ctx context.Context) (*mcp.CallToolResult, error) {
		return c.session.FinishTask(ctx, words[0])
	})
	if err != nil {
		return err
	}
	failed, err := a.printResult(result.Raw)
	if failed && err == nil {
		err = &toolError{server: c.session.Name(), task: words[0]}
	}
	return err
}

func (a *app) cancelTask(ctx context.Context, c *client, words []string) error {
	_, err := ask(ctx, c, "cancelling a task of "+c.session.Name(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.session.CancelTask(ctx, words[0])
	})
	if err != nil || !a.forPeople() {
		return err
	}
	return a.Print(fmt.Sprintf("%s was asked to cancel %s\n", plain.Line(c.session.Name()), plain.Line(words[0])))
}
