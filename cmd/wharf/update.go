package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/registry"
)

func newUpdate(a *app) *cobra.Command {
	var r updateRequest
	cmd := &cobra.Command{
		Use: "update [SERVER]", Short: "Bring servers of a registry to their newest versions, after showing what changes",
		Long: `Bring a server of your configuration that came from a registry to its newest
version, or all of them. What would change is shown, and written if you say yes.
What you have changed in an entry yourself stays. A secret that the new version does
not take any more leaves the vault. What it needs and the entry lacks is asked for, or given
by --set; without a terminal it is taken from the environment when the server starts.

A version of a server never changes. If the registry says something else of the
version that you have than it said when you added it, you are told. For that, for a
lower version and for a url of another host, --yes does not stand for your answer.

With --registry another registry is asked than the one that the server came from, and
without a SERVER those are updated that came from there.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRegistered,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.runUpdate(cmd.Context(), args[0], &r)
			}
			if len(r.set) > 0 {
				return exit.Usage(errors.New("--set is for one server"), "write its name too")
			}
			return a.runUpdateAll(cmd.Context(), &r)
		},
	}
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	cmd.Flags().StringArrayVar(&r.set, "set", nil, "the answer to what the new version needs, `INPUT=VALUE`")
	cmd.Flags().StringVar(&r.registry, "registry", "", "ask the registry at this `URL` (default: the one that the server came from)")
	return cmd
}

// updateRequest is how servers are to be updated, by the flags of update.
type updateRequest struct {
	registry string // "" is the one that a server came from
	set      []string
	yes      bool
}

func (a *app) runUpdate(ctx context.Context, name string, r *updateRequest) error {
	f, s, err := a.ownServer(name)
	if err != nil {
		return err
	}
	if s.Registry.Name == "" {
		return exit.Usage(fmt.Errorf("the server %q did not come from a registry", name), "an entry that did says so in its registry table")
	}
	done, err := a.update(ctx, f, s, cmp.Or(r.registry, addressOf(s.Registry)), r)
	if err != nil || a.forPeople() {
		return err
	}
	return a.PrintJSON([]changed{done})
}

// runUpdateAll updates one server after the other. A server that cannot or must not be
// updated does not stop the others. A registry leaves out those that came from elsewhere.
func (a *app) runUpdateAll(ctx context.Context, r *updateRequest) error {
	f, err := a.ownFile()
	if err != nil {
		return err
	}
	address := r.registry
	if address != "" {
		c, err := a.registryAt(address)
		if err != nil {
			return err
		}
		address = c.Address() // as entries have it
		c.Close()
	}
	list, failed := []changed{}, exit.Failures{}
	for _, s := range f.Read.Servers {
		from := addressOf(s.Registry)
		if s.Registry.Name == "" || ctx.Err() != nil || address != "" && address != from {
			continue
		}
		done, err := a.update(ctx, f, s, from, r)
		if err != nil {
			failed.Add(s.Name, err)
			continue
		}
		list = append(list, done)
	}
	refused := failed.Err()
	if a.server = failed.Only(); len(list) == 0 && refused == nil {
		from := "a registry"
		if address != "" {
			from = cleantext.Visible(address)
		}
		fmt.Fprint(a.Err, a.Own("No server of %s came from %s.", cleantext.Visible(f.Path), from))
	}
	if a.forPeople() {
		return refused
	}
	return errors.Join(a.PrintJSON(list), refused)
}

// versions holds what the registry now says of the version that an entry has, and of the newest.
type versions struct {
	had     *registry.Listing // nil: the registry no longer has it
	latest  *registry.Listing
	changed bool // it now says something else of had than when the entry was made
}

func (a *app) versionsOf(ctx context.Context, c *registry.Client, r config.Registry) (*versions, error) {
	latest, err := a.lookUp(ctx, c, r.Name, "latest")
	if err != nil {
		return nil, err
	}
	v := &versions{latest: latest}
	if v.had = latest; latest.Server.Version != r.Version {
		v.had, err = a.lookUp(ctx, c, r.Name, r.Version)
	}
	if errors.Is(err, host.ErrConfig) { // it is not there
		v.had, err = nil, nil
	}
	v.changed = v.had != nil && r.SHA256 != "" && v.had.SHA256 != r.SHA256
	return v, err
}

// addressOf returns the address of the registry that an entry came from. The environment does not
// change it.
func addressOf(r config.Registry) string {
	if r.Address == "" {
		return registry.Official
	}
	return r.Address
}

// update shows how an entry differs from the newest version of its server in the registry at an
// address, and changes it if the user agrees.
func (a *app) update(ctx context.Context, f *tomledit.File, s host.Server, address string, r *updateRequest) (done changed, err error) {
	a.server = s.Name
	defer func() {
		if err != nil {
			a.dropBundles()
			err = fmt.Errorf("update %s: %w", s.Name, err)
		}
	}()
	done = changed{Name: s.Name, File: f.Path, State: "current", From: s.Registry.Version, To: s.Registry.Version}
	c, err := a.registryAt(address)
	if err != nil {
		return done, err
	}
	defer c.Close()
	v, err := a.versionsOf(ctx, c, s.Registry)
	if err != nil {
		return done, err
	}
	latest := v.latest
	switch {
	case latest.Status == registry.Deleted:
		return done, exit.Usage(fmt.Errorf("%s was deleted from the registry", s.Registry.Name), "")
	case latest.Server.Version == s.Registry.Version && !v.changed:
		for _, c := range statusCaution(latest) {
			a.Warn("%s: %s", s.Name, c)
		}
		if len(r.set) > 0 {
			a.Warn("%s: --set is of no use, since there is nothing to update", s.Name)
		}
		fmt.Fprint(a.Err, a.Own("%s is the newest version, %s.", plain.Name(s.Name, plain.NameColumns), plain.Name(latest.Server.Version, plain.NameColumns)))
		return done, nil
	}
	n := newInputs(s.Name)
	next, text, above, err := a.proposal(ctx, c, v, f.Text, s, n, r)
	if err != nil {
		for _, c := range v.underItsName(s) { // no question tells of it
			a.Warn("%s: %s", s.Name, c)
		}
		return done, err
	}
	alone := len(v.unexpected(s, next)) == 0 // --yes is enough
	if err := a.agreeTo(ctx, above, "Update it? yes, [n]o: ", r.yes && alone); err != nil {
		if !alone && !a.CanAsk() {
			err = exit.WithHint(err, "there is no terminal to ask at, and --yes does not stand for your answer to such a change")
		}
		return done, err
	}
	undo, err := a.storeSecrets(ctx, n.secrets, "`wharf auth secret --forget %s` forgets that one, if nothing else needs it")
	if err != nil {
		return done, err
	}
	if err := notWritten(ctx, f.Write(ctx, text)); err != nil { // also if it is not what the person was shown
		undo()
		return done, err
	}
	if err := a.forgetSecrets(ctx, f, s); err != nil {
		return done, err
	}
	a.forgetBundles(f, s)
	done.State, done.To, done.Needs = "updated", next.Registry.Version, n.unset
	if !next.Disabled {
		done.Problem = a.notReady(f, s.Name)
	}
	is := plain.Name(done.To, plain.NameColumns) + " now"
	fmt.Fprint(a.Err, cmp.Or(a.unready(s.Name, is, done.Problem), a.Own("%s is %s.", plain.Name(s.Name, plain.NameColumns), is)))
	return done, nil
}

// proposal returns the entry for the newest version, the text of the file with it, and what a person
// should know before they agree to it.
func (a *app) proposal(ctx context.Context, c *registry.Client, v *versions, file []byte, s host.Server, n *inputs, r *updateRequest) (next host.Server, text []byte, above string, err error) {
	next, kept, cautions, err := a.merged(ctx, c, v, s, n, r)
	if err != nil {
		return s, nil, "", err
	}
	if text, err = rewritten(file, s, next); err != nil {
		return s, nil, "", exit.Usage(err, "")
	}
	if above, err = a.differences(file, text, next); err != nil {
		return s, nil, "", err
	}
	for _, k := range kept {
		above += a.Own("  %s", cleantext.Visible(k))
	}
	for _, c := range slices.Concat(v.unexpected(s, next), v.cautions(s.Registry), statusCaution(v.latest), cautions, n.cautions()) {
		above += a.Own("! %s", c)
	}
	return next, text, above, nil
}

// merged returns the entry for the newest version, with the user's changes and the answers of --set. It asks
// for inputs that are still missing.
func (a *app) merged(ctx context.Context, c *registry.Client, v *versions, s host.Server, n *inputs, r *updateRequest) (next host.Server, kept, cautions []string, err error) {
	old, fresh, err := a.optionsOf(ctx, c, v, s)
	if err != nil {
		return s, nil, nil, err
	}
	if fresh == nil {
		_, err := choose(&v.latest.Server, "")
		if err != nil { // nor could it be added anew
			return s, nil, nil, err
		}
		err = fmt.Errorf("%s %s is not run as this entry runs it", s.Registry.Name, plain.Line(v.latest.Server.Version))
		if v.changed {
			return s, nil, nil, exit.Usage(err, "the entry stays as it is; ask its publisher what has changed before you add it anew")
		}
		return s, nil, nil, exit.Usage(err, "to add it anew, with its answers: `wharf remove %s && wharf add %s --name %s`", s.Name, s.Registry.Name, s.Name)
	}
	if _, _, err := (&addRequest{set: r.set}).answer(n, fresh.Inputs()); err != nil {
		return s, nil, nil, err
	}
	for {
		next, kept, err = registry.Merge(old, fresh, s, n.answers)
		var missing *registry.MissingError
		if !errors.As(err, &missing) {
			break
		}
		if err := a.completeInputs(ctx, n, missing.Inputs, a.CanAsk() && !r.yes); err != nil {
			return s, nil, nil, err
		}
	}
	next.Registry.Version, next.Registry.SHA256 = v.latest.Server.Version, v.latest.SHA256
	if next.Registry.Address = c.Address(); c.Address() == registry.Official {
		next.Registry.Address = ""
	}
	return next, kept, append(n.unused(fresh.Inputs(), next, ": what it is for stays as it is"), fresh.Cautions(next)...), err
}

// optionsOf returns the option that an entry was made from (nil if that is not known), and
// the option of the newest version that runs in the same way (nil if it has none).
func (a *app) optionsOf(ctx context.Context, c *registry.Client, v *versions, s host.Server) (old, fresh *registry.Option, err error) {
	if v.had != nil && !v.changed {
		options := v.had.Server.Options(false)
		for _, o := range options {
			if o.Bundle != nil && meansBundle(s, o.Bundle.SHA256) {
				if err := a.unpack(ctx, c, o); err != nil {
					return nil, nil, err
				}
			}
		}
		old = registry.Find(options, s)
	}
	options := v.latest.Server.Options(false)
	if old != nil {
		if fresh = old.Successor(options, s); fresh != nil {
			err = a.unpack(ctx, c, fresh)
		}
		return old, fresh, err
	}
	if fresh = registry.Find(options, s); fresh != nil && !fresh.IsIn(s) {
		fresh = nil // it may be another package, and nothing says that it follows this one
	}
	return nil, fresh, nil
}

// unexpected lists the changes from s to next that no update should make. --yes alone does not
// agree to them.
func (v *versions) unexpected(s, next host.Server) (list []string) {
	list = v.underItsName(s)
	had, latest := plain.Name(s.Registry.Version, plain.NameColumns), plain.Name(next.Registry.Version, plain.NameColumns)
	if order, ok := pluginstore.CompareVersions(next.Registry.Version, s.Registry.Version); ok && order < 0 {
		list = append(list, fmt.Sprintf("version %s is lower than %s, which you have", latest, had))
	}
	if before, after := urlHost(s.URL), urlHost(next.URL); before != after {
		list = append(list, fmt.Sprintf("the url leads to %s and no longer to %s; your headers and the sign-in go there", plain.Name(after, plain.TargetColumns), plain.Name(before, plain.TargetColumns)))
	}
	return list
}

// underItsName says that the registry now describes the version of an entry in another way than when
// the entry was made.
func (v *versions) underItsName(s host.Server) []string {
	if !v.changed {
		return nil
	}
	return []string{fmt.Sprintf("what the registry says of version %s is not what it said when you added it: a version that changes under its name may be an attack", plain.Name(s.Registry.Version, plain.NameColumns))}
}

// urlHost is the host of a url as the configuration has it, with its port, and references
// to variables not expanded.
func urlHost(text string) string {
	if _, behind, found := strings.Cut(text, "://"); found {
		text = behind
	}
	if i := strings.IndexAny(text, `/\?#`); i >= 0 {
		text = text[:i]
	}
	return strings.ToLower(text)
}

// cautions says what is unusual about the version that an entry has.
func (v *versions) cautions(r config.Registry) []string {
	if v.had == nil {
		return []string{fmt.Sprintf("the registry no longer has version %s, so what you changed cannot be told from what it said; to take all that it says now, remove the entry and add %s anew", plain.Name(r.Version, plain.NameColumns), plain.Name(r.Name, plain.NameColumns))}
	}
	return nil
}

// differences shows what changes in the lines of an entry.
func (a *app) differences(before, after []byte, s host.Server) (string, error) {
	old, err := tomledit.Lines(before, "servers", s.Name)
	if err != nil {
		return "", err
	}
	fresh, err := tomledit.Lines(after, "servers", s.Name)
	if err != nil {
		return "", err
	}
	heading := a.Own("%s would become version %s:", plain.Name(s.Name, plain.NameColumns), plain.Name(s.Registry.Version, plain.NameColumns))
	return a.StyleErr(term.Bold, heading) + a.Quote(strings.Join(lineChanges(lines(old), lines(fresh)), "\n"), wholeEntry, ""), nil
}

func lines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n"), "\n")
}

// lineChanges marks the lines that only the first list has with a minus, and those that
// only the second has with a plus, in their order.
func lineChanges(before, after []string) (out []string) {
	common := make([][]int, len(before)+1) // the most lines that two ends have in common
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			out = append(out, "  "+before[i])
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+before[i])
			i++
		default:
			out = append(out, "+ "+after[j])
			j++
		}
	}
	return out
}

// rewritten changes the keys of an entry that differ, and no others.
func rewritten(text []byte, before, after host.Server) ([]byte, error) {
	keys := func(s host.Server) map[string]any {
		values := make(map[string]any)
		for _, key := range tomledit.Server(s).Keys {
			values[key.Name] = key.Value
		}
		return values
	}
	old, fresh := keys(before), keys(after)
	var err error
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if was, had := old[name]; had && reflect.DeepEqual(was, fresh[name]) {
			continue // it may be spelled in another way in the file
		}
		if text, err = tomledit.SetKey(text, []string{"servers", before.Name, name}, fresh[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, there := fresh[name]; there {
			continue
		}
		if text, err = tomledit.Remove(text, "servers", before.Name, name); err != nil {
			return nil, err
		}
	}
	return text, nil
}
