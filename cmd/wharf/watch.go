package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	count int
	level string
}

func newWatch(a *app) *cobra.Command {
	var w watchFlags
	cmd := &cobra.Command{
		Use:   "watch SERVER [URI…] | [URI…] -- COMMAND…",
		Short: "Follow what changes on a server",
		Long: `Follow what changes on a server: its lists of tools, prompts and resources, and the
resources that are named. A line each on a terminal, else a JSON object a line.
"missed" says that the connection was lost and is back: anything may have changed.
A SIGHUP without a terminal makes it read the entry of the server anew, and ends it
only if the server has none.

With --log it also follows what the server logs, from a level up; only legacy
servers log without being asked for anything.`,
		Example:           "  wharf watch demo demo://clock\n  wharf watch demo --log info",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeServers,
	}
	named := func(cmd *cobra.Command, uris []string) error {
		if slices.Contains(uris, "") {
			return emptyArgument(cmd, "URI")
		}
		return nil
	}
	follow := a.withServer(named, func(ctx context.Context, c *client, uris []string) error {
		return a.watch(ctx, c, w, uris)
	})
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if w.count < 0 {
			return exit.Usage(fmt.Errorf("--count %d: expected a number of lines", w.count), "0 means no end")
		}
		a.logs, a.OneLine = true, true
		return follow(cmd, words)
	}
	cmd.Flags().IntVar(&w.count, "count", 0, "end after `N` lines: changes, and messages of --log; 0 = only when interrupted")
	cmd.Flags().StringVar(&w.level, "log", "", "follow the log from `LEVEL` up: "+levels())
	cmd.RegisterFlagCompletionFunc("log", cobra.FixedCompletions(levelNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// follower prints what watch follows, and ends it after so many lines.
type follower struct {
	level mcp.Level // of the log, from which up it is printed; "" is all of it
	most  int       // 0 is no end
	end   context.CancelCauseFunc

	mu      sync.Mutex
	printed int
}

// errEnough is the cause of the context of a watch that has printed all that was asked for.
var errEnough = errors.New("enough is printed")

// print calls f, which prints a line, unless enough is printed.
func (f *follower) print(line func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.most > 0 && f.printed == f.most {
		return nil
	}
	err := line()
	if f.printed++; f.printed == f.most {
		f.end(errEnough)
	}
	return err
}

func (a *app) watch(ctx context.Context, c *client, w watchFlags, uris []string) error {
	ctx, over := a.UntilUnread(ctx)
	defer over()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	f := &follower{level: mcp.Level(w.level), most: w.count, end: end}
	err := a.follow(ctx, c, f, uris)
	switch cause := context.Cause(ctx); {
	case cause == errEnough:
		return nil
	case term.IsUnread(cause):
		return cause
	}
	return err
}

// follow prints what changes on a server until ctx ends, and what it logs if f has a level.
func (a *app) follow(ctx context.Context, c *client, f *follower, uris []string) error {
	if f.level != "" {
		if err := checkLevel(string(f.level)); err != nil {
			return err
		}
		defer a.hearFrom(f)()
		if err := c.session.SetLevel(ctx, f.level); err != nil {
			return err
		}
	}
	for _, uri := range uris {
		if c.hasTemplate(ctx, uri) {
			return isTemplate(uri, blanksOf(uri))
		}
	}
	wanted := mcp.Filter{Tools: true, Prompts: true, Resources: true, URIs: uris}
	sub, err := ask(ctx, c, "subscribing on "+c.session.Name(), func(ctx context.Context) (*host.Subscription, error) {
		return c.session.Subscribe(ctx, wanted)
	})
	if errors.Is(err, host.ErrUnsupported) {
		return a.watchLogAlone(ctx, c, f, len(uris) > 0, err)
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := a.checkHonoured(c, uris, sub.Honoured()); err != nil {
		return err
	}
	c.warnOfAbsent(ctx, uris)
	if a.ErrTTY && !a.Quiet {
		what := append(slices.Clone(uris), "the lists of "+plain.Name(a.server, plain.NameColumns))
		fmt.Fprint(a.Err, a.Own("Following %s; Ctrl-C ends it.", plain.Clip(plain.Line(strings.Join(what, ", ")), 400)))
	}
	defer c.followConfig(ctx)()
	a.endless = f.most == 0
	for ctx.Err() == nil {
		change, err := sub.Next(ctx)
		if err == nil {
			err = f.print(func() error { return a.printChange(change) })
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// hearFrom has f print what servers log, until end is called. Of two calls the first counts.
func (a *app) hearFrom(f *follower) (end func()) {
	hears := a
	if a.shell != nil {
		hears = a.shell.app
	}
	hears.follower.CompareAndSwap(nil, f)
	return func() { hears.follower.Store(nil) }
}

// watchLogAlone follows the log of a server that tells of no changes, which refused has the reason for. It
// returns that error where URIs are wanted, or the server has no log to follow.
func (a *app) watchLogAlone(ctx context.Context, c *client, f *follower, named bool, refused error) error {
	declared := c.followable()
	switch {
	case !named && c.session.Info().Era == mcp.Legacy && declared.Logging != nil:
	case !named && declared.Resources != nil && declared.Resources.Subscribe:
		return exit.WithHint(refused, "it tells of changes of resources that are named: "+aFollowed.lists(a))
	case named && declared.Resources != nil:
		return exit.WithHint(refused, a.readInstead())
	default:
		return exit.WithHint(refused, "it tells of no changes; for what there is now, "+aTool.lists(a))
	}
	defer a.hearFrom(f)()
	if a.ErrTTY && !a.Quiet {
		fmt.Fprint(a.Err, a.Own("Following the log of %s, which tells of no changes; Ctrl-C ends it.", plain.Name(a.server, plain.NameColumns)))
	}
	defer c.followConfig(ctx)()
	a.endless = f.most == 0
	<-ctx.Done()
	return context.Cause(ctx)
}

// warnOfAbsent warns of resources that are not listed and cannot be read. The command follows them
// all the same, because they may appear.
func (c *client) warnOfAbsent(ctx context.Context, uris []string) {
	if len(uris) == 0 {
		return
	}
	defer c.app.Busy("looking for what is followed")()
	var listed []string
	resources, _ := c.session.ListResources(ctx) // a server that refuses the list may still have them
	for _, r := range resources {
		listed = append(listed, r.URI)
	}
	for _, uri := range uris {
		if slices.Contains(listed, uri) {
			continue
		}
		_, err := c.session.ReadResource(ctx, uri)
		if answer := (*host.RPCError)(nil); errors.As(err, &answer) {
			text := fmt.Sprintf("%s is followed in case it appears: the server does not list it, and answers %v", uri, answer)
			if near := meant(uri, listed); near != "" {
				text += fmt.Sprintf("; did you mean %s?", near)
			}
			c.app.Warn("%s", text)
		}
	}
}

// followable are the capabilities of a server that watch looks at.
type followable struct {
	Logging   map[string]any
	Resources *struct{ Subscribe bool }
}

// followable returns what the server declares. A capability that cannot be read is not there.
func (c *client) followable() (declared followable) {
	json.Unmarshal(c.session.Info().Capabilities, &declared)
	return declared
}

// readInstead is the hint at a resource that cannot be followed.
func (a *app) readInstead() string {
	if a.shell != nil {
		return `"read" reads it as it is now`
	}
	return "`wharf read` reads it as it is now"
}

// checkHonoured says which changes the server will not report. For a resource that was
// named, that is an error.
func (a *app) checkHonoured(c *client, uris []string, honoured mcp.Filter) error {
	for _, uri := range uris {
		if !slices.Contains(honoured.URIs, uri) {
			hint := a.readInstead()
			if c.followable().Resources == nil {
				hint = "it has no resources; " + aTool.lists(a)
			}
			return exit.WithHint(fmt.Errorf("watch %s: %w: it does not tell of changes of %s", a.server, host.ErrUnsupported, uri), hint)
		}
	}
	var silent []string
	for name, kept := range map[string]bool{"tools": honoured.Tools, "prompts": honoured.Prompts, "resources": honoured.Resources} {
		if !kept {
			silent = append(silent, name)
		}
	}
	if slices.Sort(silent); len(silent) > 0 && a.ErrTTY {
		fmt.Fprintf(a.Err, "%s the server does not tell when its list of %s changes\n",
			a.StyleErr(term.Bold, "note:"), strings.Join(silent, " or of "))
	}
	return nil
}

func (a *app) printChange(c mcp.Change) error {
	if !a.forPeople() {
		return a.PrintJSON(c)
	}
	text := map[mcp.ChangeKind]string{
		mcp.ToolsChanged: "the list of tools changed", mcp.PromptsChanged: "the list of prompts changed",
		mcp.ResourcesChanged: "the list of resources changed", mcp.ResourceUpdated: "changed: " + plain.Line(c.URI),
		mcp.Missed: "the connection was lost for a while: anything may have changed",
	}[c.Kind]
	return a.printLaidOut(a.Labelled(time.Now().Format(time.TimeOnly), text, ""))
}
