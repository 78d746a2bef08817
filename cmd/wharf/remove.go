package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

func newRemove(a *app) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "remove SERVER…", Short: "Take servers out of your configuration", Aliases: []string{"rm"},
		Long: `Take servers out of your configuration, with the secrets and bundles that
` + "`wharf add`" + ` has kept for them and no other entry means. The comments directly above and below an
entry go with it, but for those that begin the file, which are about all of it. Everything else in
the file stays as it is. So does what is saved of a sign-in, which ` + "`wharf logout`" + ` forgets.`,
		Args:              atLeast("SERVER"),
		ValidArgsFunction: a.completeOwn,
		RunE: func(cmd *cobra.Command, names []string) error {
			for _, name := range names { // before the first is removed
				if _, _, err := a.ownServer(name); err != nil {
					return err
				}
			}
			var removed []changed
			var err error
			for i, name := range names {
				if slices.Contains(names[:i], name) {
					continue
				}
				var one changed
				if one, err = a.runRemove(cmd.Context(), name, yes); err != nil {
					break
				}
				removed = append(removed, one)
			}
			switch {
			case a.forPeople() || len(removed) == 0:
				return err
			case len(names) == 1:
				return a.PrintJSON(removed[0])
			}
			return errors.Join(a.PrintJSON(removed), err)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) runRemove(ctx context.Context, name string, yes bool) (removed changed, err error) {
	f, s, err := a.ownServer(name)
	if err != nil {
		return removed, err
	}
	change, err := amend.Remove(f, name)
	if err != nil {
		return removed, unfit(err)
	}
	above := a.StyleErr(term.Bold, a.Own("This would be removed from %s:", cleantext.Visible(f.Path)))
	lines, whole := amend.RemovedLines(string(f.Text), string(change.Text))
	text := strings.Join(lines, "\n")
	if !whole { // of an inline table, which has others in the same line
		if text, err = tomledit.Text(tomledit.Server(s)); err != nil {
			return removed, err
		}
	}
	above += a.Quote(s.HidePlainSecrets(text, "***"), wholeEntry, "")
	command, lasts := a.logoutOf(ctx, f, s)
	if command != "" && !lasts {
		above += a.Own("! %s", a.withConfig("what is saved of its sign-in stays; to sign out before: "+command))
	}
	if err := a.agreeTo(ctx, above, "Remove it? yes, [n]o: ", yes); err != nil {
		return removed, fmt.Errorf("remove %s: %w", name, err)
	}
	if err := writeChange(ctx, change, yes); err != nil {
		return removed, err
	}
	if err := a.forgetSecrets(ctx, f, *change.Was); err != nil {
		return removed, err
	}
	a.forgetBundles(f, *change.Was)
	fmt.Fprint(a.Err, a.Own("%s is removed.", plain.Name(name, plain.NameColumns)))
	if lasts {
		fmt.Fprint(a.Err, a.Own("%s", a.withConfig("What is saved of its sign-in stays; to forget it: "+command)))
	}
	return changed{Name: name, File: f.Path, State: "removed"}, nil
}

// logoutOf returns the command that forgets what is saved of the sign-in to a server whose entry is to be removed,
// and whether it is of use without the entry too. It returns "" if nothing is saved, or another entry has the url.
func (a *app) logoutOf(ctx context.Context, f *tomledit.File, s host.Server) (command string, lasts bool) {
	shares := func(other host.Server) bool { return other.Name != s.Name && other.URL == s.URL && s.URL != "" }
	if entries, _ := a.vaultEntries(ctx); len(entries) == 0 || slices.ContainsFunc(f.Read.Servers, shares) {
		return "", false
	}
	h, err := a.newHost(ctx, nil)
	if err != nil {
		return "", false // what cannot start has to be removable
	}
	defer h.Close()
	if saved, err := h.IsSaved(ctx, s); err != nil || !saved {
		return "", false
	}
	if address, ok := atAddress(s.URL); ok && !strings.Contains(address, "$") {
		return "wharf logout --all " + plain.ShellWord(address), true
	}
	return "wharf logout " + plain.ShellWord(s.Name), false
}

// ownServer returns an entry of the user's own file.
func (a *app) ownServer(name string) (*tomledit.File, host.Server, error) {
	f, err := a.ownFile()
	if err != nil {
		return nil, host.Server{}, err
	}
	a.server = name
	if s, found := among(f.Read.Servers, name); found {
		return f, s, nil
	}
	s, err := a.load()
	if err != nil {
		return nil, host.Server{}, err
	}
	switch other, found := s.find(name); {
	case !found:
		err = s.unknownServer(name, serversHint)
	case other.Project != nil:
		err = exit.Usage(fmt.Errorf("the server %q is not in your own configuration", name), "it is in %s, which wharf only reads", other.Project.Path())
	default:
		err = exit.Usage(fmt.Errorf("the server %q is not in %s", name, f.Path), "it is part of wharf")
	}
	return nil, host.Server{}, err
}

// forgetSecrets removes from the vault the secrets that add has kept for an entry that was removed or
// changed, unless an entry uses them, and says so.
func (a *app) forgetSecrets(ctx context.Context, f *tomledit.File, s host.Server) error {
	var names []string
	for _, ref := range s.Secrets() {
		if strings.HasPrefix(ref.Secret, s.Name+"/") {
			names = append(names, ref.Secret)
		}
	}
	if len(names) == 0 {
		return nil
	}
	others, err := a.keeping(f)
	if err != nil {
		return err
	}
	v, err := a.vault()
	if err != nil {
		return err
	}
	forgotten, err := forgetUnused(ctx, v, names, others)
	if len(forgotten) > 0 {
		fmt.Fprint(a.Err, a.Own("Forgotten in the vault: %s.", cleantext.Words(forgotten)))
	}
	return err
}
