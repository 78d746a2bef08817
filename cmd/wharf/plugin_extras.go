package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/plugins/extras"
)

func newPluginExtras(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "extras", Short: "List the plugins that `wharf plugin add` installs by their names",
		Long: `List the plugins that are built from the source of wharf and are no part of it:
` + "`wharf plugin add NAME`" + ` installs one of them. A small one is in the program, any other
is fetched. What is installed has the sha256 that is listed, or it is refused.`,
		Args: exactly(), ValidArgsFunction: cobra.NoFileCompletions, RunE: a.onStore(a.runPluginExtras),
	}
}

// listedExtra is how the JSON output shows an extra.
type listedExtra struct {
	extras.Extra
	URL       string `json:"url"`       // where it is published
	Installed bool   `json:"installed"` // this very file, under any name
}

func (a *app) runPluginExtras(_ context.Context, store *pluginstore.Store, _ []string) error {
	known, err := extras.List()
	if err != nil {
		return err
	}
	installed, err := store.List()
	if err != nil {
		return err
	}
	list, rows := []listedExtra{}, plain.Table{{"NAME", "VERSION", "SIZE", "ASKS FOR", "INSTALLED", "FOR"}}
	for _, e := range known {
		is := slices.ContainsFunc(installed, func(p pluginstore.Installed) bool { return p.SHA256 == e.SHA256 })
		list = append(list, listedExtra{e, e.URL, is})
		rows = append(rows, []string{e.Name, e.Version, fmt.Sprintf("%d KB", (e.Size+999)/1000), accesses(e.Asks), map[bool]string{true: "yes", false: "no"}[is], e.About})
	}
	return a.printList(list, rows)
}

// nameExtra makes the request install an extra if its source is the name of one. A bare word
// that is neither that nor a file is an error.
func (r *installRequest) nameExtra() error {
	known, err := extras.List()
	if err != nil {
		return err
	}
	var names []string
	for _, e := range known {
		if names = append(names, e.Name); e.Name == r.Source {
			r.Source = pluginstore.ExtraScheme + e.Name
			r.Name, r.SHA256 = cmp.Or(r.Name, e.Name), cmp.Or(r.SHA256, e.SHA256) // so --yes is a yes to this file
			return nil
		}
	}
	if strings.ContainsAny(r.Source, `./\:`) {
		return nil
	}
	if _, err := os.Stat(r.Source); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if plugins.Builtin()[r.Source] != nil {
		return exit.Usage(fmt.Errorf("%s is a part of wharf, and is there already", r.Source), "`wharf plugin extras` lists the plugins that are not")
	}
	hint := "`wharf plugin extras` lists the names; write ./NAME for a file whose name has no dot"
	if near := meant(r.Source, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return exit.Usage(fmt.Errorf("there is no file %q, and no plugin of that name comes with wharf", r.Source), "%s", hint)
}

// completeExtras offers the names of extras beside files.
func completeExtras(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	list, _ := extras.List() // an error is reported when the command runs
	for _, e := range list {
		names = append(names, e.Name+"\t"+e.About)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// installing returns the hint at what installs a transport that is not there, if it comes with wharf, else "".
func installing(transport string) string {
	name := cmp.Or(config.TransportOf(transport), transport)
	list, _ := extras.List() // an error is reported by the commands that list them
	switch is := func(e extras.Extra) bool { return e.Name == name }; {
	case !slices.ContainsFunc(list, is):
		return ""
	case name != transport:
		return fmt.Sprintf("write transport = %q, which `wharf plugin add %[1]s` installs", name)
	}
	return fmt.Sprintf("`wharf plugin add %s` installs it", name)
}

// lacksTransport returns an error for a transport that comes with wharf, and is not installed.
func (a *app) lacksTransport(name string) error {
	hint := installing(name)
	s, err := a.readSettings() // and not load, which would keep what the file is before the server is added
	if err == nil {
		err = s.addInstalled()
	}
	if err != nil || hint == "" || s.plugins[name].File != "" {
		return nil // what is wrong with the configuration is told when it is written
	}
	return exit.Usage(fmt.Errorf("no transport is called %q", name), "%s", hint)
}
