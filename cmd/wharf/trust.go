package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trust"
)

const trustLong = `Decide about the servers that came with a project.

A project may bring servers: in wharf.toml, .mcp.json, .vscode/mcp.json,
.cursor/mcp.json or .github/mcp.json, in the working folder and in those above it
up to where the repository begins. They are listed, and never started or reached
before you have approved of them. On a terminal you are asked when you use one.

An approval is for what you were shown, and ends when anything of it changes: the
command, an argument, the url, the names of variables, or the scripts of the
project that the command names. It is kept in your own configuration folder.

The list looks at no file of a project for servers that you have not decided about,
and at few of them for the others; it says which servers were not looked at.`

func newTrust(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Decide about the servers that came with a project",
		Long:  trustLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0], nil)
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(
		a.trustCommand("list", "List what you decided, and what waits for it", nil, a.runTrustList),
		a.trustCommand("show SERVER|FILE", "Show all that an approval of servers of this project is for", []string{"SERVER"}, a.runTrustShow),
		a.trustCommand("approve SERVER|FILE", "Show servers of this project, and ask whether they may be used",
			[]string{"SERVER"}, a.runTrustApprove),
		a.trustCommand("deny SERVER|FILE", "Never be asked about servers of this project, as they are",
			[]string{"SERVER"}, a.runTrustDeny),
		a.trustCommand("revoke SERVER|FILE|FOLDER", "Forget what you decided", []string{"SERVER"}, a.runTrustRevoke),
	)
	return cmd
}

// trustCommand is a command that gets what the user decided, and its words.
func (a *app) trustCommand(use, short string, names []string, run func(context.Context, *trust.Store, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: exactly(names...),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.trust()
			if err != nil {
				return err
			}
			return run(cmd.Context(), t, args)
		},
	}
	if len(names) > 0 {
		cmd.ValidArgsFunction = a.completeServers
	}
	return cmd
}

// trust returns what the user decided.
func (a *app) trust() (*trust.Store, error) {
	s, err := a.load()
	if err != nil {
		return nil, err
	}
	dir, err := trust.DefaultDir()
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("find the folder for approvals: %w", err), "approvals are kept in your own configuration folder")
	}
	return trust.Open(dir, s.plugins), nil
}

// letApprove gives a host the callback that asks about servers of projects. Where
// there is nobody to ask and no hash, the host says no by itself.
func (a *app) letApprove(c *host.Config) {
	c.TrustDir, _ = trust.DefaultDir()
	switch {
	case a.flags.trustHash != "":
		c.Approve = func(_ context.Context, p trust.Approval) (trust.Decision, error) {
			if p.Names(a.flags.trustHash) {
				return trust.JustOnce, nil
			}
			return trust.NotNow, nil
		}
	case a.CanAsk():
		c.Approve = a.askApproval
	}
}

// decided is a line of the list.
type decided struct {
	Project string      `json:"project"`
	File    string      `json:"file"`
	Server  string      `json:"server"`
	State   trust.State `json:"state"`
	Decided *time.Time  `json:"decided,omitempty"`
	Hash    string      `json:"hash,omitempty"` // of what it is now, if it was decided about; of another project, of what was decided about
	Problem string      `json:"problem,omitempty"`
}

func (a *app) runTrustList(_ context.Context, t *trust.Store, _ []string) error {
	records, err := t.Records()
	if err != nil {
		return err
	}
	list := []decided{}
	for _, l := range t.List(a.settings.project()) {
		list = append(list, stateOf(l))
	}
	for _, r := range records {
		same := func(d decided) bool { return d.Project == r.Project && d.File == r.File && d.Server == r.Server }
		if !slices.ContainsFunc(list, same) {
			list = append(list, decided{r.Project, r.File, r.Server, r.Verdict, &r.Decided, r.Hash, ""})
		}
	}
	a.warnOf(a.settings)
	if !a.forPeople() {
		return a.PrintJSON(list)
	}
	a.warnUnseen(list)
	rows := plain.Table{{"SERVER", "STATE", "SINCE", "FILE"}}
	for _, d := range list {
		since := ""
		if d.Decided != nil {
			since = d.Decided.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{plain.Line(d.Server), string(d.State), since, plain.Line(filepath.Join(d.Project, filepath.FromSlash(d.File)))})
	}
	return a.PrintTable(rows)
}

// warnUnseen tells of servers that were not looked at, and of the first why.
func (a *app) warnUnseen(list []decided) {
	unseen := 0
	var first string
	for _, d := range list {
		if d.State == trust.Unseen {
			unseen++
			first = cmp.Or(first, d.Problem)
		}
	}
	if unseen > 0 {
		a.Warn("%d of these servers were not looked at: %s", unseen, first)
	}
}

// projectEntries are the servers of this project for the list of servers. Where
// approvals cannot be kept, there are none.
func (a *app) projectEntries() ([]entry, error) {
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
		looked = t.List(servers)
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

// stateOf is how things stand with a server of a project.
func stateOf(l trust.Looked) decided {
	p := l.Approval
	d := decided{Project: p.Project, File: p.File, Server: p.Server, State: p.State, Hash: p.Hash}
	if l.Err != nil {
		d.Problem = l.Err.Error()
	}
	if !p.Decided.IsZero() {
		d.Decided = &p.Decided
	}
	return d
}

// approvalJSON is a server of a project for programs: all that an approval is for.
type approvalJSON struct {
	Project  string       `json:"project"`
	File     string       `json:"file"`
	Server   string       `json:"server"`
	State    trust.State  `json:"state"`
	Hash     string       `json:"hash"`
	Facts    []trust.Fact `json:"facts"`
	Warnings []string     `json:"warnings,omitempty"`
}

// runTrustShow prints all that a question about a server shows the beginnings of.
func (a *app) runTrustShow(_ context.Context, t *trust.Store, args []string) error {
	servers, err := a.settings.meant(args[0])
	if err != nil {
		return err
	}
	for _, l := range t.LookAll(servers) {
		p := l.Approval
		if err := l.Err; err != nil {
			return err
		}
		if a.forPeople() {
			err = a.Print(a.approvalFacts(p, 0))
		} else {
			err = a.PrintJSON(approvalJSON{p.Project, p.File, p.Server, p.State, p.Hash, p.Facts, p.Warnings})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runTrustApprove asks about one server after the other. Those that were approved
// before are not asked about.
func (a *app) runTrustApprove(ctx context.Context, t *trust.Store, args []string) error {
	servers, err := a.settings.meant(args[0])
	if err != nil {
		return err
	}
	var refused error
	for _, l := range t.LookAll(servers) {
		refused = errors.Join(refused, a.approve(ctx, t, l))
	}
	return refused
}

func (a *app) approve(ctx context.Context, t *trust.Store, l trust.Looked) (err error) {
	p := l.Approval
	a.server = p.Server
	d := trust.NotNow
	switch {
	case l.Err != nil:
		return l.Err
	case p.State == trust.Approved:
		fmt.Fprintf(a.Err, "%s is approved.\n", plain.Line(p.Server))
		return nil
	case a.flags.trustHash != "" || !a.CanAsk():
		fmt.Fprint(a.Err, a.approvalFacts(p, factBytes), a.approvalGist(p))
		if p.Names(a.flags.trustHash) {
			d = trust.Always
		}
	default:
		if d, err = a.askApproval(ctx, p); err != nil {
			return err
		}
	}
	if err := t.Decide(ctx, p, d); err != nil {
		return err
	}
	if d != trust.Always {
		return exit.WithHint(&trust.UnapprovedError{Approval: p}, "say yes on a terminal, or add --trust-hash "+p.Hash)
	}
	fmt.Fprintf(a.Err, "%s may be used from now on, as it is.\n", plain.Line(p.Server))
	return nil
}

func (a *app) runTrustDeny(ctx context.Context, t *trust.Store, args []string) error {
	servers, err := a.settings.meant(args[0])
	if err != nil {
		return err
	}
	for _, l := range t.LookAll(servers) {
		err := l.Err
		if err == nil {
			err = t.Decide(ctx, l.Approval, trust.Never)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s is not used, as it is.\n", plain.Line(l.Approval.Server))
	}
	return nil
}

// meant returns the servers of this project that a word means: one by its name,
// or all of a file.
func (s *settings) meant(word string) ([]host.Server, error) {
	if server, found := among(s.servers, word); found {
		return nil, exit.Usage(fmt.Errorf("%s is a server of your own, and needs no approval", server.Name), "")
	}
	var servers []host.Server
	for _, server := range s.project() {
		if server.Name == word || samePath(server.Project.Path(), word) {
			servers = append(servers, server)
		}
	}
	if len(servers) == 0 {
		return nil, exit.Usage(fmt.Errorf("this project has no server and no file of servers %q", word), "`wharf trust list` shows what it has")
	}
	return servers, nil
}

// runTrustRevoke also works for projects that are gone: what is meant by a path
// is what was decided about it.
func (a *app) runTrustRevoke(ctx context.Context, t *trust.Store, args []string) error {
	word := args[0]
	here, err := filepath.Abs(".")
	if real, rerr := filepath.EvalSymlinks(here); rerr == nil {
		here = real
	}
	if err != nil {
		return err
	}
	n, err := t.Revoke(ctx, func(r trust.Record) bool {
		file := filepath.Join(r.Project, filepath.FromSlash(r.File))
		return r.Server == word && isBelow(here, r.Project) || samePath(r.Project, word) || samePath(file, word)
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return exit.Usage(fmt.Errorf("nothing was decided about %q", word), "`wharf trust list` shows what was; a server of another project goes by the path of its file")
	}
	fmt.Fprintf(a.Err, "%d forgotten.\n", n)
	return nil
}

// isBelow reports whether a folder is another one or lies below it.
func isBelow(dir, above string) bool {
	name, err := filepath.Rel(above, dir)
	return err == nil && filepath.IsLocal(name)
}

// samePath reports whether a person means a path, as they wrote it or by where it
// leads.
func samePath(path, word string) bool {
	abs, err := filepath.Abs(word)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(abs)
	return path == abs || err == nil && path == real
}
