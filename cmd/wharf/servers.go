package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

func newServers(a *app) *cobra.Command {
	var status, follow bool
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the servers of your configuration, and their states",
		Long: `List the servers of your configuration, and what each of them is reached by.
No server is started. Variables are shown by their names, and what looks like a
secret is not shown. The demo is listed as long as there is no other server. On a
terminal it also tells which file they come from. One that cannot start as its entry
stands, such as for a value that is not set, is marked as a problem; JSON says which.

With --status all enabled servers are started at once, looked at, and stopped
again: their state, era and revision of the protocol, transport, latency, number of
tools, and error. No question is asked: a server that needs a sign-in or an
approval is shown as such. The exit code is 4 if one is not connected that you have
not denied. These connections are its own: what a running ` + "`wharf serve`" + ` has done, that one
tells at /metrics, if it was started with --metrics. Some servers offer more tools where
there is a person to ask, so the number may be greater on a terminal than in a pipe.

With --watch they are kept, and their states followed until it is interrupted: in
place on a terminal, else a JSON object for each change. When the configuration
changes, or on SIGHUP, servers are added, dropped and restarted one by one, and so
they are when the file of a plugin is replaced; what a server was asked before has
ten seconds to end. On a terminal a SIGHUP ends it: that is how one learns that its
terminal is closed.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Example:           "  wharf servers --status\n  wharf servers --watch",
		Args: func(cmd *cobra.Command, words []string) error {
			hint := "`wharf doctor …` looks at one server, and `wharf tools …` lists its tools"
			switch { // as other programs have it
			case len(words) == 1 && (words[0] == "list" || words[0] == "ls"):
				hint = "`wharf servers` lists them"
			case len(words) > 0:
				hint = cmp.Or(elsewhere["servers "+words[0]], elsewhere[words[0]], hint)
			}
			return unexpected(hint)(cmd, words)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if status || follow {
				return a.runStatus(cmd.Context(), follow)
			}
			return a.runServers(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&status, "status", false, "start the servers and show their states")
	cmd.Flags().BoolVar(&follow, "watch", false, "start the servers, keep them, and follow their states")
	return cmd
}

func (a *app) runServers(ctx context.Context) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	entries, err := a.keepers().List(ctx, s.shown())
	if err != nil {
		return err
	}
	for i, e := range entries {
		if !e.Enabled || e.Project != "" || e.Problem != "" {
			continue
		}
		server, _ := s.find(e.Name)
		entries[i].Problem = a.entryProblem(s, server)
	}
	a.warnUnread(s)
	a.warnOf(s)
	a.noteOf(s)
	if !a.forPeople() {
		return a.PrintJSON(entries)
	}
	a.Place("configuration:", s.place())
	problem := false
	rows := plain.Table{{"SERVER", "TRANSPORT", "ENABLED", "TARGET"}}
	for _, e := range entries {
		enabled := "yes"
		switch {
		case !e.Enabled && e.Project != "":
			enabled = "no, project"
		case !e.Enabled:
			enabled = "no"
		case e.Project != "":
			enabled = "project, " + string(e.Trust)
		case e.Problem != "":
			enabled, problem = "yes, problem", true
		}
		rows = append(rows, []string{plain.Line(e.Name), plain.Line(e.Transport), enabled, plain.Line(e.Target)})
	}
	if err := a.printTable(rows); err != nil || !problem {
		return err
	}
	fmt.Fprint(a.Err, a.Own("problem: it cannot start as its entry stands; `wharf doctor` says why."))
	return nil
}
