package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/plugins"
)

// workerCommand is the program as it compiles a plugin that is not part of it, and as
// it runs one apart from the others.
const workerCommand = "plugin-worker"

// isWorker reports whether the command line is that of a worker. It is looked at
// before all else: a worker is started for each plugin, and has to be quick.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == workerCommand }

// runWorker is the whole of a worker, and returns its exit code.
func runWorker() int {
	if err := host.RunWorker(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.CodeInternal
	}
	return exit.CodeOK
}

// worker is the command that starts a worker of this program, or nil where the
// program cannot be found.
func worker() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, workerCommand}
}

// openStore returns the plugins that the user installed.
func openStore() (*pluginstore.Store, error) {
	dir, files, err := pluginstore.DefaultDirs()
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("find the folder for plugins: %w", err), "they are kept in folders of your own")
	}
	c := pluginstore.Config{
		Dir: dir, Files: files,
		Reserved:  slices.Collect(maps.Keys(plugins.Builtin())),
		Inspector: inspector{},
	}
	c.VaultDir, _ = vault.DefaultDir()
	return pluginstore.Open(c), nil
}

// inspector inspects each module in a host of its own. What it compiles in a worker
// stays in the cache.
type inspector struct{}

// InspectModule is [host.Host.InspectModule].
func (inspector) InspectModule(ctx context.Context, path string, binary []byte) (*pluginstore.Info, error) {
	c := host.Config{Worker: worker()}
	c.CacheDir, _ = host.DefaultCacheDir()
	h, err := host.New(ctx, c)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.InspectModule(ctx, path, binary)
}

// addInstalled adds what the user installed to the plugins of a configuration,
// whose own go before. A lock that cannot be read is an error: without it, one
// would use a plugin that nobody pinned, or miss one.
func (s *settings) addInstalled() error {
	store, err := openStore()
	if err != nil {
		return nil // no home, no plugins
	}
	files, err := store.Files()
	if err != nil {
		return err
	}
	outranked, err := store.Outranked()
	if err != nil {
		return err
	}
	for _, p := range outranked {
		if s.plugins[p.Name].File == "" { // else neither of them is used
			s.outranked = append(s.outranked, p.Name)
		}
	}
	for name, p := range s.plugins {
		if installed := files[name]; p.File == "" { // it only says where the plugin runs
			installed.Name, installed.Isolation = name, p.Isolation
			p = installed
		}
		files[name] = p
	}
	s.plugins = files
	if _, err := os.Stat(store.Lockfile()); err == nil {
		s.lock = store.Lockfile()
	}
	return nil
}

// warnOutranked tells of installed plugins that are not used, once of each.
func (a *app) warnOutranked(names []string) {
	for _, name := range names {
		if slices.Contains(a.outranked, name) {
			continue
		}
		a.outranked = append(a.outranked, name)
		a.Warn("the installed plugin %s is not used: wharf has a plugin of that name now. To give it another name, "+
			"`wharf plugin remove %[1]s`, and add it again with --name", name)
	}
}

// completePlugins offers the names of installed plugins for the first word.
func (a *app) completePlugins(others cobra.ShellCompDirective) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if store, err := openStore(); err == nil && len(args) == 0 {
			installed, _ := store.List() // an error is told when the command is run
			for _, p := range installed {
				names = append(names, p.Name)
			}
		}
		return names, others
	}
}

// onStore is a command that works on what is installed.
func (a *app) onStore(run func(context.Context, *pluginstore.Store, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := openStore()
		if err != nil {
			return err
		}
		return run(cmd.Context(), store, args)
	}
}

func newList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the installed plugins, and what they were granted",
		Args: exactly(), RunE: a.onStore(a.runPluginList),
	}
}

// installed is what the command tells about an installed plugin.
type installed struct {
	Name    string    `json:"name"`
	Plugin  string    `json:"plugin,omitempty"` // what it calls itself
	Kind    string    `json:"kind"`
	Version string    `json:"version"`
	Summary string    `json:"summary"`
	Source  string    `json:"source"`
	SHA256  string    `json:"sha256"`
	Size    int64     `json:"size"`
	Key     string    `json:"key,omitempty"` // the publisher's
	Asked   []string  `json:"asked"`
	Granted []string  `json:"granted"`
	Time    time.Time `json:"time"`
	File    string    `json:"file"`
}

func tell(store *pluginstore.Store, p pluginstore.Installed) installed {
	return installed{
		p.Name, p.Plugin, string(p.Kind), p.Version, p.Summary, p.Source, p.SHA256, p.Size, p.Key,
		orEmpty(p.Asked), orEmpty(p.Granted), p.Time, store.Path(p),
	}
}

func (a *app) runPluginList(_ context.Context, store *pluginstore.Store, _ []string) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	list, rows := []installed{}, plain.Table{{"NAME", "KIND", "VERSION", "GRANTED", "SIGNED BY", "SOURCE"}}
	for _, p := range all {
		list = append(list, tell(store, p))
		rows = append(rows, []string{p.Name, string(p.Kind), plain.Line(p.Version), accesses(p.Granted), signer(p.Key), plain.Line(p.Source)})
	}
	if !a.forPeople() {
		return a.PrintJSON(list)
	}
	return a.PrintTable(rows)
}

// accesses are the words for what a plugin was granted, or asks for.
func accesses(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return plain.Line(strings.Join(list, ", "))
}

func signer(key string) string {
	if key == "" {
		return "nobody"
	}
	return pluginstore.KeyID(key)
}

func newVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Read installed plugins again, and compare them with the lock and their signatures",
		Args: cobra.ArbitraryArgs, RunE: a.onStore(a.runVerify),
		ValidArgsFunction: a.completePlugins(cobra.ShellCompDirectiveNoFileComp),
	}
}

// verdict is what became of comparing a plugin.
type verdict struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) runVerify(_ context.Context, store *pluginstore.Store, names []string) error {
	all, err := meantPlugins(store, names)
	if err != nil {
		return err
	}
	var wrong error
	list, rows := []verdict{}, plain.Table{{"NAME", "STATE", "PROBLEM"}}
	for _, p := range all {
		v, state := verdict{p.Name, true, ""}, "ok"
		if err := store.Verify(p); err != nil {
			v.OK, v.Problem, state = false, err.Error(), "wrong"
			if wrong == nil {
				wrong = err
			}
		}
		list, rows = append(list, v), append(rows, []string{v.Name, state, plain.Line(v.Problem)})
	}
	if !a.forPeople() {
		err = a.PrintJSON(list)
	} else {
		err = a.PrintTable(rows)
	}
	if err != nil {
		return err
	}
	return wrong
}

// meantPlugins returns the plugins of some names, or all without any.
func meantPlugins(store *pluginstore.Store, names []string) ([]pluginstore.Installed, error) {
	if len(names) == 0 {
		return store.List()
	}
	var all []pluginstore.Installed
	for _, name := range names {
		p, err := store.Find(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

const grantLong = `A transport may be given kinds of things to open, by a server entry that says
which: process (the command of the entry), stream (its address), http (its url).
An auth provider may be given origins to call, such as https://sso.example, and
discover: every public https origin that it learns of on the way.`

// newGrant makes the command that gives an access, or the one that takes it.
func newGrant(a *app, give bool) *cobra.Command {
	use, short := "grant NAME ACCESS…", "Let server entries give an installed plugin more"
	if !give {
		use, short = "revoke NAME ACCESS…", "Take from an installed plugin what it was granted"
	}
	return &cobra.Command{
		Use: use, Short: short, Long: short + ".\n\n" + grantLong,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exactly("NAME", "ACCESS")(cmd, args)
			}
			return nil
		},
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			p, err := store.Grant(ctx, args[0], give, args[1:]...)
			if err != nil {
				return err
			}
			return a.sayInstalled(store, p, "is granted "+accesses(p.Granted))
		}),
		ValidArgsFunction: a.completeGrants,
	}
}

// completeGrants offers installed plugins, and behind one what it asks for.
func (a *app) completeGrants(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completePlugins(cobra.ShellCompDirectiveNoFileComp)(cmd, args, word)
	}
	var words []string
	if store, err := openStore(); err == nil {
		if p, err := store.Find(args[0]); err == nil {
			words = slices.Concat(p.Asked, p.Granted)
		}
	}
	slices.Sort(words)
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
}

func newRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget an installed plugin, and delete its file and what it keeps in the vault", Aliases: []string{"rm"},
		Args: exactly("NAME"),
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			if err := store.Remove(ctx, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s is removed.\n", plain.Line(args[0]))
			return nil
		}),
		ValidArgsFunction: a.completePlugins(cobra.ShellCompDirectiveNoFileComp),
	}
}

// sayInstalled prints a plugin, with what became of it for people.
func (a *app) sayInstalled(store *pluginstore.Store, p pluginstore.Installed, what string) error {
	if !a.forPeople() {
		return a.PrintJSON(tell(store, p))
	}
	return a.Print(p.Name + " " + what + ".\n")
}
