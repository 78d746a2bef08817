package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/host"
)

const trustLong = `Decide about the servers that came with a project.

A project may bring servers: in wharf.toml, .mcp.json, .vscode/mcp.json,
.cursor/mcp.json or .github/mcp.json, in the working folder and in those above it
up to where the repository begins. They are listed, and never started or reached
before you have approved of them. On a terminal you are asked when you use one.

An approval is for what you were shown, and ends when anything of it changes: the
command, an argument, the url, the names of variables, or the scripts of the
project that the command names. It is kept in your own configuration folder.`

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
		a.trustCommand("approve SERVER|FILE", "Show servers of this project, and ask whether they may be used",
			[]string{"SERVER"}, a.runTrustApprove),
		a.trustCommand("deny SERVER|FILE", "Never be asked about servers of this project, as they are",
			[]string{"SERVER"}, a.runTrustDeny),
		a.trustCommand("revoke SERVER|FILE|FOLDER", "Forget what you decided", []string{"SERVER"}, a.runTrustRevoke),
	)
	return cmd
}

// trustCommand is a command that gets what the user decided, and its words.
func (a *app) trustCommand(use, short string, names []string, run func(context.Context, *host.Trust, []string) error) *cobra.Command {
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
func (a *app) trust() (*host.Trust, error) {
	s, err := a.load()
	if err != nil {
		return nil, err
	}
	dir, err := host.DefaultTrustDir()
	if err != nil {
		return nil, usage(fmt.Errorf("find the folder for approvals: %w", err), "approvals are kept in your own configuration folder")
	}
	return host.OpenTrust(dir, s.plugins), nil
}

// letApprove gives a host the callback that asks about servers of projects. Where
// there is nobody to ask and no hash, the host says no by itself.
func (a *app) letApprove(c *host.Config) {
	c.TrustDir, _ = host.DefaultTrustDir()
	switch {
	case a.flags.trustHash != "":
		c.Approve = func(_ context.Context, p host.Approval) (host.Decision, error) {
			if p.Names(a.flags.trustHash) {
				return host.JustOnce, nil
			}
			return host.NotNow, nil
		}
	case a.canAsk():
		c.Approve = a.askApproval
	}
}

// askApproval shows a server of a project and asks whether it may be used. It is
// no, unless the person says yes.
func (a *app) askApproval(ctx context.Context, p host.Approval) (host.Decision, error) {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return host.NotNow, err
	}
	defer leave()
	a.showApproval(p)
	a.keys().forget() // consent is given to what one has read
	text, err := a.keys().ask(ctx, "May it be used? yes, [n]o, never: ", "", false)
	switch {
	case errors.Is(err, errRefused), errors.Is(err, errEscaped):
		return host.NotNow, nil
	case err != nil:
		return host.NotNow, err
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return host.Always, nil
	case "never":
		return host.Never, nil
	}
	return host.NotNow, nil
}

func (a *app) showApproval(p host.Approval) {
	lines := p.Lines()
	fmt.Fprintln(a.err, a.styled(a.errTTY, styleBold, lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintln(a.err, line)
	}
}

// decided is a line of the list.
type decided struct {
	Project string          `json:"project"`
	File    string          `json:"file"`
	Server  string          `json:"server"`
	State   host.TrustState `json:"state"`
	Decided *time.Time      `json:"decided,omitempty"`
	Hash    string          `json:"hash,omitempty"` // of what it is now; of another project, of what was decided about
	Problem string          `json:"problem,omitempty"`
}

func (a *app) runTrustList(_ context.Context, t *host.Trust, _ []string) error {
	records, err := t.Records()
	if err != nil {
		return err
	}
	list := []decided{}
	here := a.settings.project()
	for _, s := range here {
		list = append(list, stateOf(t, s))
	}
	for _, r := range records {
		same := func(d decided) bool { return d.Project == r.Project && d.File == r.File && d.Server == r.Server }
		if !slices.ContainsFunc(list, same) {
			list = append(list, decided{r.Project, r.File, r.Server, host.TrustState(r.Verdict), &r.Decided, r.Hash, ""})
		}
	}
	a.settings.warn(a.err)
	if !a.forPeople() {
		return a.printJSON(list)
	}
	rows := table{{"SERVER", "STATE", "SINCE", "FILE"}}
	for _, d := range list {
		since := ""
		if d.Decided != nil {
			since = d.Decided.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{line(d.Server), string(d.State), since, line(filepath.Join(d.Project, filepath.FromSlash(d.File)))})
	}
	return a.printTable(rows)
}

// projectEntries are the servers of this project for the list of servers. Where
// approvals cannot be kept, there are none.
func (a *app) projectEntries() ([]entry, error) {
	state := func(host.Server) host.TrustState { return host.TrustNew }
	if _, err := host.DefaultTrustDir(); err == nil {
		t, err := a.trust()
		if err != nil {
			return nil, err
		}
		state = t.State
	}
	var entries []entry
	for _, s := range a.settings.project() {
		entries = append(entries, entry{
			Name: s.Name, Transport: s.Via(), Target: targetOf(s), Enabled: !s.Disabled,
			Project: s.Project.Path(), Trust: state(s),
		})
	}
	return entries, nil
}

// stateOf is how things stand with a server of a project.
func stateOf(t *host.Trust, s host.Server) decided {
	d := decided{Project: s.Project.Folder, File: s.Project.File, Server: s.Name, State: host.TrustNew}
	p, err := t.Look(s)
	if err != nil {
		d.Problem = err.Error()
		return d
	}
	d.State, d.Hash = p.State, p.Hash
	if !p.Decided.IsZero() {
		d.Decided = &p.Decided
	}
	return d
}

// runTrustApprove asks about one server after the other. Those that were approved
// before are not asked about.
func (a *app) runTrustApprove(ctx context.Context, t *host.Trust, args []string) error {
	servers, err := a.settings.meant(args[0])
	if err != nil {
		return err
	}
	var refused error
	for _, s := range servers {
		refused = errors.Join(refused, a.approve(ctx, t, s))
	}
	return refused
}

func (a *app) approve(ctx context.Context, t *host.Trust, s host.Server) error {
	a.server = s.Name
	p, err := t.Look(s)
	if err != nil {
		return err
	}
	d := host.NotNow
	switch {
	case p.State == host.TrustApproved:
		fmt.Fprintf(a.err, "%s is approved.\n", line(s.Name))
		return nil
	case a.flags.trustHash != "" || !a.canAsk():
		a.showApproval(p)
		if p.Names(a.flags.trustHash) {
			d = host.Always
		}
	default:
		if d, err = a.askApproval(ctx, p); err != nil {
			return err
		}
	}
	if err := t.Decide(ctx, p, d); err != nil {
		return err
	}
	if d != host.Always {
		return &hinted{&host.UnapprovedError{Approval: p}, "say yes on a terminal, or add --trust-hash " + p.Hash}
	}
	fmt.Fprintf(a.err, "%s may be used from now on, as it is.\n", line(s.Name))
	return nil
}

func (a *app) runTrustDeny(ctx context.Context, t *host.Trust, args []string) error {
	servers, err := a.settings.meant(args[0])
	if err != nil {
		return err
	}
	for _, s := range servers {
		p, err := t.Look(s)
		if err == nil {
			err = t.Decide(ctx, p, host.Never)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.err, "%s is not used, as it is.\n", line(s.Name))
	}
	return nil
}

// meant returns the servers of this project that a word means: one by its name,
// or all of a file.
func (s *settings) meant(word string) ([]host.Server, error) {
	if server, found := among(s.servers, word); found {
		return nil, usage(fmt.Errorf("%s is a server of your own, and needs no approval", server.Name), "")
	}
	var servers []host.Server
	for _, server := range s.project() {
		if server.Name == word || samePath(server.Project.Path(), word) {
			servers = append(servers, server)
		}
	}
	if len(servers) == 0 {
		return nil, usage(fmt.Errorf("this project has no server and no file of servers %q", word), "`wharf trust list` shows what it has")
	}
	return servers, nil
}

// runTrustRevoke also works for projects that are gone: what is meant by a path
// is what was decided about it.
func (a *app) runTrustRevoke(ctx context.Context, t *host.Trust, args []string) error {
	word := args[0]
	here, err := filepath.Abs(".")
	if real, rerr := filepath.EvalSymlinks(here); rerr == nil {
		here = real
	}
	if err != nil {
		return err
	}
	n, err := t.Revoke(ctx, func(r host.TrustRecord) bool {
		file := filepath.Join(r.Project, filepath.FromSlash(r.File))
		return r.Server == word && isBelow(here, r.Project) || samePath(r.Project, word) || samePath(file, word)
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return usage(fmt.Errorf("nothing was decided about %q", word), "`wharf trust list` shows what was; a server of another project goes by the path of its file")
	}
	fmt.Fprintf(a.err, "%d forgotten.\n", n)
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
