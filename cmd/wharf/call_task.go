package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func (a *app) printTask(t *mcp.Task) error {
	if !a.forPeople() {
		return a.PrintJSON(t)
	}
	return a.printLaidOut(a.Labelled(plain.Cell(t.ID), string(t.Status)+" "+t.StatusMessage, ""))
}

// asTask calls a tool as a task, and waits for the result.
func (c *client) asTask(ctx context.Context, tool string, arguments args.Object) (json.RawMessage, error) {
	task, err := c.session.BeginTask(ctx, tool, arguments, c.app.flags.ttl)
	if err != nil || task.ID == "" { // finished at once
		return rawResult(task), err
	}
	c.noteTask(task.ID)
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

// noteTask notes that the command is about a task, which has begun.
func (c *client) noteTask(id string) {
	word := plain.Word(c.app.serverWord())
	if c.entry.Command != "" {
		c.app.ofTask = word + " ended with it, and may have forgotten the task"
	} else {
		c.app.ofTask = fmt.Sprintf("the task may run on: `wharf task result %s %s` waits for it", word, plain.ShellWord(id))
	}
}

// detach begins a task and prints it. If the server finished the call at once, it returns the
// result and prints nothing.
func (c *client) detach(ctx context.Context, tool string, arguments args.Object) (json.RawMessage, error) {
	task, err := ask(ctx, c, "calling "+tool, func(ctx context.Context) (*mcp.Task, error) {
		return c.session.BeginTask(ctx, tool, arguments, c.app.flags.ttl)
	})
	if err != nil {
		return rawResult(task), err
	}
	if task.ID == "" {
		if !c.app.Quiet {
			c.app.Tell(term.Dim, "note:", plain.Line(c.session.Name())+" made no task of it, and called the tool at once", "")
		}
		return rawResult(task), nil
	}
	if ends := c.processEnds(); ends != "" {
		c.app.Warn("%s, and may forget the task", ends)
	}
	return nil, c.app.printTask(task)
}

// processEnds says when the process that keeps the tasks of a server ends, or "" for a server that Wharf
// does not start, and so does not end.
func (c *client) processEnds() string {
	name := plain.Line(c.session.Name())
	switch {
	case c.entry.Command == "":
		return ""
	case c.app.shell != nil:
		return name + " ends with this shell"
	case c.joined:
		return fmt.Sprintf("%s ends with the daemon, which keeps it for a task, for %d hours at most", name, int(taskTime.Hours()))
	}
	return name + " ends with this command"
}

// followLog tells the server to log from the level of --log up. If the server does not log, it
// only warns, since the call does not need the log.
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
