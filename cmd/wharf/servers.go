package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/trust"
)

func newServers(a *app) *cobra.Command {
	var status, follow bool
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the servers of your configuration, and their states",
		Long: `List the servers of your configuration, and what each of them is reached by.
No server is started. Variables are shown by their names, and what looks like a
secret is not shown. The demo is listed as long as there is no other server. On a
terminal it also tells which file they come from. One that cannot start because a
value is not set is marked as unset, and has a problem in JSON.

With --status all enabled servers are started at once, looked at, and stopped
again: their state, era and revision of the protocol, transport, latency, number of
tools, and error. No question is asked: a server that needs a sign-in or an
approval is shown as such. The exit code is 4 if one is not connected that you have
not denied.

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
			if len(words) == 1 && (words[0] == "list" || words[0] == "ls") { // as other programs have it
				hint = "`wharf servers` lists them"
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

// entry is a server in the list.
type entry struct {
	Name      string `json:"name"`
	Transport string `json:"transport"`
	Target    string `json:"target"`
	Enabled   bool   `json:"enabled"`
	Problem   string `json:"problem,omitempty"` // the value that it lacks; it cannot start without

	// Of a server that came with a project: the file, and whether it is approved.
	Project string      `json:"project,omitempty"`
	Trust   trust.State `json:"trust,omitempty"`
}

func (a *app) runServers(ctx context.Context) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	entries, err := a.projectEntries(ctx)
	if err != nil {
		return err
	}
	a.warnOf(s)
	a.noteOf(s)
	for i, server := range s.own() {
		e := entry{Name: server.Name, Transport: server.Via(), Target: plain.Target(server), Enabled: !server.Disabled}
		if err := server.CheckVariables(os.LookupEnv); err != nil && e.Enabled {
			e.Problem = err.Error()
		} else if e.Enabled {
			e.Problem = cmp.Or(missingReference(server), a.missingSecret(server))
		}
		entries = slices.Insert(entries, i, e)
	}
	if !a.forPeople() {
		return a.PrintJSON(entries)
	}
	a.Place("configuration:", s.place())
	unset := false
	rows := plain.Table{{"SERVER", "TRANSPORT", "ENABLED", "TARGET"}}
	for _, e := range entries {
		enabled := "yes"
		switch {
		case !e.Enabled:
			enabled = "no"
		case e.Problem != "":
			enabled, unset = "yes, unset", true
		}
		if e.Project != "" {
			enabled = "project, " + string(e.Trust)
		}
		rows = append(rows, []string{plain.Line(e.Name), plain.Line(e.Transport), enabled, plain.Line(e.Target)})
	}
	if err := a.printTable(rows); err != nil || !unset {
		return err
	}
	fmt.Fprint(a.Err, a.Own("unset: it cannot start without a value that is not set; `wharf doctor` says which."))
	return nil
}

// projectEntries returns the servers of this project for the list. If there is no folder for
// approvals, all of them count as new.
func (a *app) projectEntries(ctx context.Context) ([]entry, error) {
	servers := a.settings.project()
	looked := make([]trust.Looked, len(servers))
	for i := range looked {
		looked[i].Approval.State = trust.New
	}
	if _, err := trust.DefaultDir(); err == nil {
		t, err := a.trust()
		if err != nil {
			return nil, err
		}
		looked = t.List(ctx, servers)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var entries []entry
	for i, s := range servers {
		entries = append(entries, entry{
			Name: s.Name, Transport: s.Via(), Target: plain.Target(s), Enabled: !s.Disabled,
			Project: s.Project.Path(), Trust: looked[i].Approval.State,
		})
	}
	return entries, nil
}
