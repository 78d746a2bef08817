package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

const addLong = `Add a server to your configuration: one of the MCP registry, by its name, one at a
url, or a command after "--". The entry is shown as it will be in the file, with the
command that it runs, and is written if you say yes. Comments and order of the file
stay. -e NAME=VALUE gives it a variable, -e NAME one that it takes from the environment
whenever it starts, and -H a header. The server gets what is typed, with ${env:NAME},
${secret:NAME} and ${file:PATH} replaced when it starts, and ${NAME} in a url or header.

Of a server of the registry, what it needs is asked for, and ${NAME} is a variable in each
answer. A secret goes to the vault as it is typed, and the entry has ${secret:NAME} in
its place; one that is ${NAME}, or has ${env:NAME} or the like in it, stays in the entry.
Without a terminal, what is not given by -e, -H or --set is taken from the environment
when the server starts. Packages are preferred to servers that run elsewhere; --prefer
names another kind. NAME@VERSION is one version; without it the newest is taken.
` + "`wharf update`" + ` finds newer ones.`

func newAdd(a *app) *cobra.Command {
	var r addRequest
	cmd := &cobra.Command{
		Use: "add NAME[@VERSION] | URL | -- COMMAND…", Short: "Add a server to your configuration, after showing what it runs", Long: addLong,
		Example: `  wharf add io.github.example/weather
  wharf add https://mcp.example.com/mcp -H 'Authorization: Bearer ${secret:example}'
  wharf add --name files -- npx -y @modelcontextprotocol/server-filesystem ~/notes`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.env, r.headers = a.flags.variables, a.flags.headers
			return a.runAdd(cmd, args, &r)
		},
	}
	registerRegistry(cmd, &r.registry)
	f := cmd.Flags()
	f.StringVar(&r.name, "name", "", "what the server is called here (default: a `NAME` made of what is added)")
	f.StringArrayVar(&r.set, "set", nil, "the answer to what a server of the registry needs, `INPUT=VALUE`")
	f.StringVar(&r.prefer, "prefer", "", "the `KIND` of package that is run: "+strings.Join(packageKinds, ", ")+", or remote")
	cmd.RegisterFlagCompletionFunc("prefer", cobra.FixedCompletions(append(packageKinds, "remote"), cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&r.replace, "replace", false, "put it in the place of the server of that name, if there is one")
	f.BoolVar(&r.yes, "yes", false, "do not ask")
	return cmd
}

// packageKinds are the kinds of packages that a registry has.
var packageKinds = []string{"npm", "pypi", "nuget", "oci", "cargo", "mcpb"}

func (a *app) runAdd(cmd *cobra.Command, args []string, r *addRequest) (err error) {
	f, err := a.ownFile()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.dropBundles()
		}
	}()
	var add *addition
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash == 0 && len(args) > 0 && runner(args[0], args[1:]) != nil:
		line := append([]string{"wharf"}, a.argv[:slices.Index(a.argv, "--")+1]...)
		return exit.Usage(fmt.Errorf("%q is no command", args[0]), "%s", lineHint(line, "it is a file of this folder", runner(args[0], args[1:])))
	case dash == 0:
		add, err = r.command(args)
	case dash > 0 || len(args) > 1:
		err := fmt.Errorf("unexpected argument %q", args[min(1, len(args)-1)])
		if hint := a.forgotten(cmd); hint != "" {
			return exit.Usage(err, "%s", hint)
		}
		return exit.Usage(err, "usage: %s; a command goes after --", cmd.UseLine())
	case len(args) == 0:
		return exit.Usage(errors.New("what to add is missing"), "usage: %s", cmd.UseLine())
	default:
		if address, ok := atAddress(args[0]); ok {
			if add, err = r.url(address); err == nil {
				err = a.lacksTransport(add.server.Via())
			}
		} else if err = a.notInRegistry(cmd, args[0]); err == nil {
			add, err = a.fromRegistry(cmd.Context(), f, r, args[0])
		}
	}
	if err != nil {
		return err
	}
	return a.add(cmd, f, add, r)
}

// add shows an entry, and writes it if the user agrees.
func (a *app) add(cmd *cobra.Command, f *tomledit.File, add *addition, r *addRequest) error {
	ctx, s := cmd.Context(), add.server
	a.server = s.Name
	if err := config.CheckName(s.Name); err != nil {
		return exit.Usage(err, "--name gives it another")
	}
	change, err := amend.Add(f, s, r.replace)
	if err != nil {
		return unfit(err)
	}
	above, agree, err := a.additionSummary(f, add)
	if err != nil {
		return err
	}
	switch {
	case s.Name == demoName:
		above += a.Own("! the demo server cannot be named while this one has its name; --name gives it another")
	case isCommand(cmd.Root(), s.Name):
		above += a.Own("! %s is a command of wharf: `wharf call %[1]s TOOL` calls a tool of this server; --name gives it another name", s.Name)
	}
	if err := a.agreeTo(ctx, above, agree, r.yes); err != nil {
		return fmt.Errorf("add %s: %w", s.Name, err)
	}
	state, err := a.writeAddition(ctx, change, add.inputs, r.yes || change.Was == nil)
	if err != nil {
		return err
	}
	fmt.Fprint(a.Err, a.added(f, s.Name, state))
	if a.forPeople() {
		return nil
	}
	needs := slices.Clone(add.inputs.unset)
	for _, name := range s.Unset(os.LookupEnv) { // of what was typed
		if !slices.Contains(needs, name) {
			needs = append(needs, name)
		}
	}
	return a.PrintJSON(changed{Name: s.Name, File: f.Path, To: s.Registry.Version, State: state, Needs: needs, Problem: a.notReady(f, s.Name)})
}

// added says that a server is in the file now, and what to type next.
func (a *app) added(f *tomledit.File, name, state string) string {
	return cmp.Or(a.unready(name, state, a.notReady(f, name)), a.Own("%s is %s; `wharf tools %[1]s` lists what it can do.", name, state))
}

// unready says that a server is in the file as it is to be, and has a problem; "" if it has none.
func (a *app) unready(name, state, problem string) string {
	if problem == "" {
		return ""
	}
	return a.Own("%s is %s, but is not ready: %s", name, state, cleantext.Visible(strings.ReplaceAll(problem, "\n", "; ")))
}

// notReady says why a server that is in the file now cannot be used yet, or returns "".
func (a *app) notReady(f *tomledit.File, name string) string {
	server, _ := among(f.Read.Servers, name)
	s, err := a.load()
	if err != nil {
		return ""
	}
	return a.entryProblem(s, server)
}
