package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// taskFlags are the flags of call that are about tasks and the log.
type taskFlags struct {
	task, detach bool
	ttl          time.Duration
	level        string
}

// register defines the flags, which belong to call and its shorthand.
func (f *taskFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.task, "task", false, "have the server run the tool as a task, and wait for its result")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "begin a task, print it and leave; `wharf task result` gets the result")
	cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "ask the server to keep the task for a `DURATION` such as 1h (default: what it likes)")
	cmd.Flags().StringVar(&f.level, "log", "", "print on stderr what the server logs from `LEVEL` up: "+levels())
	cmd.RegisterFlagCompletionFunc("log", cobra.FixedCompletions(levelNames(), cobra.ShellCompDirectiveNoFileComp))
}

// check returns an error for flags that contradict each other or mean nothing.
func (f *taskFlags) check() error {
	switch {
	case f.ttl < 0:
		return exit.Usage(errors.New("--ttl: expected a duration that is not negative"), "")
	case f.ttl > 0 && !f.task && !f.detach:
		return exit.Usage(errors.New("--ttl is for tasks"), "give it with --task or --detach")
	}
	return checkLevel(f.level)
}

func newTask(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "See to the tasks of a server",
		Long: `See to the tasks of a server, which ` + "`wharf call --detach`" + ` or another program began: calls
of tools that go on without a connection. How long a server keeps a task is its own
affair; a server that Wharf starts as a command may forget its tasks when it ends.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	sub := func(use, short, long string, check cobra.PositionalArgs, run func(context.Context, *client, []string) error) {
		cmd.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
			RunE: a.withServer(check, run), ValidArgsFunction: a.completeServers,
		})
	}
	sub("list SERVER | -- COMMAND…", "List the tasks that a server keeps",
		"List the tasks that a server keeps for this client. Servers of the revision 2026-07-28\nhave no such list.", exactly(), a.listTasks)
	sub("status SERVER ID | ID -- COMMAND…", "Print how far a task is", "Print how far a task is: as JSON, or a line on a terminal.", exactly("ID"), a.showTask)
	sub("result SERVER ID | ID -- COMMAND…", "Wait for a task and print its result",
		"Wait for a task and print the result of the call that it is, as `wharf call` does. An\ninterrupt ends the wait, and not the task.", exactly("ID"), a.finishTask)
	sub("cancel SERVER ID | ID -- COMMAND…", "Cancel a task", "Ask the server to end a task.", exactly("ID"), a.cancelTask)
	return cmd
}

func (a *app) listTasks(ctx context.Context, c *client, _ []string) error {
	tasks, err := ask(ctx, c, "asking "+c.session.Name()+" for its tasks", c.session.ListTasks)
	if err != nil {
		return err
	}
	rows := plain.Table{{"TASK", "STATUS", "UPDATED", "MESSAGE"}}
	for _, t := range tasks {
		rows = append(rows, []string{plain.Cell(t.ID), plain.Cell(string(t.Status)), plain.Cell(t.LastUpdatedAt), about(t.StatusMessage, "")})
	}
	return a.printList(append([]mcp.Task{}, tasks...), rows) // [] and not null
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

func (a *app) printTask(t *mcp.Task) error {
	if !a.forPeople() {
		return a.PrintJSON(t)
	}
	return a.Print(a.Labelled(plain.Cell(t.ID), string(t.Status)+" "+t.StatusMessage, ""))
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
		err = &toolError{server: c.session.Name(), tool: words[0]}
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

// asTask calls a tool as a task, and waits for the result.
func (c *client) asTask(ctx context.Context, tool string, arguments args.Object) (json.RawMessage, error) {
	task, err := c.session.BeginTask(ctx, tool, arguments, c.app.flags.ttl)
	if err != nil || task.ID == "" { // finished at once
		return rawResult(task), err
	}
	result, err := c.session.FinishTask(ctx, task.ID)
	if result == nil {
		return nil, err
	}
	return result.Raw, err
}

func rawResult(t *mcp.Task) json.RawMessage {
	if t == nil {
		return nil
	}
	return t.Result
}

// detach begins a task and prints it. Where the server finished the call at once, it
// returns the result, and prints nothing.
func (c *client) detach(ctx context.Context, tool string, arguments args.Object) (json.RawMessage, error) {
	task, err := ask(ctx, c, "calling "+tool, func(ctx context.Context) (*mcp.Task, error) {
		return c.session.BeginTask(ctx, tool, arguments, c.app.flags.ttl)
	})
	if err != nil || task.ID == "" {
		return rawResult(task), err
	}
	if c.entry.Command != "" && c.app.shell == nil {
		c.app.Warn("%s ends with this command, and may forget the task", plain.Line(c.session.Name()))
	}
	return nil, c.app.printTask(task)
}

// followLog has the server log from the level of --log up. One that does not log is warned
// of, since the call does not need it.
func (c *client) followLog(ctx context.Context) (end func()) {
	if c.app.flags.level == "" {
		return func() {}
	}
	if err := c.session.SetLevel(ctx, mcp.Level(c.app.flags.level)); err != nil {
		c.app.Warn("%s", plain.Line(err.Error()))
		return func() {}
	}
	return func() { // an answer overtakes what was logged before it
		ctx, cancel := context.WithTimeout(ctx, cancelGrace)
		defer cancel()
		c.session.Ping(ctx)
	}
}
