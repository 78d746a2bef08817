package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"path/filepath"
	"regexp"
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
	"github.com/wharf-mcp/wharf/host/registry"
)

const addLong = `Add a server to your configuration: one of the MCP registry, by its name, one at a
url, or a command behind "--". The entry is shown as it will be in the file, with the
command that it runs, and is written if you say yes. Comments and order of the file
stay. -e NAME=VALUE gives it a variable, -e NAME one that it takes from the environment
whenever it starts, and -H a header.

Of a server of the registry, what it needs is asked for. Secrets go to the vault, and
the entry has ${secret:NAME} in their place. Without a terminal, what is not given by
-e, -H or --set is taken from the environment when the server starts. Packages are
preferred to servers that run elsewhere; --prefer names another kind. NAME@VERSION is
one version; without it the newest is taken. ` + "`wharf update`" + ` finds newer ones.`

// addRequest is what the user wants added, by the flags of add.
type addRequest struct {
	name, registry, prefer string
	env, headers           []string // of -e and -H
	set                    []string
	replace, yes           bool
}

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
	f.StringVar(&r.prefer, "prefer", "", "the `KIND` of package that is run: npm, pypi, nuget, oci, cargo, mcpb, or remote")
	f.BoolVar(&r.replace, "replace", false, "put it in the place of the server of that name, if there is one")
	f.BoolVar(&r.yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) runAdd(cmd *cobra.Command, args []string, r *addRequest) error {
	f, err := a.ownFile()
	if err != nil {
		return err
	}
	var add *addition
	dash := cmd.ArgsLenAtDash()
	switch {
	case r.name == "--": // which is the value of the flag then
		return exit.Usage(errors.New("--name: the name is missing"), "")
	case dash == 0:
		add, err = r.command(args)
	case dash > 0 || len(args) > 1:
		err := fmt.Errorf("unexpected argument %q", args[min(1, len(args)-1)])
		if hint := a.forgotten(cmd); hint != "" {
			return exit.Usage(err, "%s", hint)
		}
		return exit.Usage(err, "usage: %s; a command goes behind --", cmd.UseLine())
	case len(args) == 0:
		return exit.Usage(errors.New("what to add is missing"), "usage: %s", cmd.UseLine())
	default:
		if address, ok := atAddress(args[0]); ok {
			add, err = r.url(address)
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
	if err := r.free(f, s.Name); err != nil {
		return err
	}
	before, replaces := among(f.Read.Servers, s.Name)
	text, err := tomledit.AddTables(f.Text, tomledit.Server(s))
	if err == nil {
		_, err = config.Parse(f.Path, text)
	}
	if err != nil {
		return exit.Usage(err, "")
	}
	above, agree, err := a.additionSummary(f, add)
	if err != nil {
		return err
	}
	if at := s.Script(); at >= 0 {
		above += a.Own("! %s is looked for in the folder that wharf is started in; write its whole path, unless that is meant", cleantext.Word(s.Args[at]))
	}
	switch {
	case s.Name == demoName:
		above += a.Own("! the demo server cannot be named while this one has its name; --name gives it another")
	case slices.Contains(subcommands(cmd.Root()), s.Name):
		above += a.Own("! `wharf %s` is a command: `wharf call %[1]s TOOL` calls a tool of this server; --name gives it another name", s.Name)
	}
	if err := a.agreeTo(ctx, above, agree, r.yes); err != nil {
		a.forgetBundles(f, s)
		return fmt.Errorf("add %s: %w", s.Name, err)
	}
	undo, err := a.keep(ctx, add.inputs)
	if err != nil {
		return err
	}
	if err := writeOwn(ctx, f, text); err != nil {
		undo()
		return err
	}
	state := "added"
	if replaces {
		state = "updated"
		a.forgetBundles(f, before)
		if err := a.forgetSecrets(ctx, f, before); err != nil {
			return err
		}
	}
	fmt.Fprint(a.Err, a.Own("%s is %s; `wharf tools %[1]s` lists what it can do.", s.Name, state))
	if a.forPeople() {
		return nil
	}
	return a.PrintJSON(changed{Name: s.Name, File: f.Path, To: s.Registry.Version, State: state, Needs: add.inputs.unset})
}

// free refuses a name that is taken in the file, unless the user wants that server replaced.
func (r *addRequest) free(f *tomledit.File, name string) error {
	if _, taken := among(f.Read.Servers, name); taken && !r.replace {
		return exit.Usage(fmt.Errorf("there is a server %q in %s already", name, f.Path), "--name gives this one another name; `wharf remove %s` removes the other, and --replace does both", name)
	}
	return nil
}

// command is the entry of a command line.
func (r *addRequest) command(argv []string) (*addition, error) {
	s, err := adHoc(argv)
	if err != nil {
		return nil, err
	}
	s.Name = r.named(commandName(argv))
	if len(r.headers)+len(r.set) > 0 {
		return nil, exit.Usage(errors.New("a command has no headers, and nothing that --set could give"), "variables are given with -e NAME=VALUE")
	}
	if filepath.Base(s.Command) != s.Command { // a relative path in the file counts from the folder of the file
		if s.Command, err = filepath.Abs(s.Command); err != nil {
			return nil, err
		}
	}
	s.Env, err = assigned(r.env, "=", "-e NAME=VALUE")
	return &addition{server: s, inputs: newInputs(s.Name)}, err
}

// url is the entry of a url.
func (r *addRequest) url(address string) (*addition, error) {
	s := remote(address)
	s.Name = r.named(siteName(s.Name))
	if len(r.env)+len(r.set) > 0 {
		return nil, exit.Usage(errors.New("a url has no variables, and nothing that --set could give"), "headers are given with -H 'NAME: VALUE'")
	}
	var err error
	s.Headers, err = assigned(r.headers, ":", "-H 'NAME: VALUE'")
	return &addition{server: s, inputs: newInputs(s.Name)}, err
}

// named is the name that was given, or else the one that was made.
func (r *addRequest) named(made string) string {
	if r.name != "" {
		return r.name
	}
	made = strings.Trim(notInEntryNames.ReplaceAllString(made, "-"), "-._")
	return made[:min(len(made), 64)]
}

var notInEntryNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// commandName makes a name of a command line: of the package, where a program is known
// to run packages.
func commandName(argv []string) string {
	program := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	if !slices.Contains([]string{"npx", "bunx", "uvx", "dnx"}, program) {
		return program
	}
	for _, arg := range argv[1:] {
		if !strings.HasPrefix(arg, "-") {
			base := path.Base(arg)
			name, _, _ := strings.Cut(base, "@")
			return name
		}
	}
	return program
}

// siteName makes a name of a host: the first part of it that says whose it is. Of an IP
// address all parts are needed, and every loopback address is "localhost".
func siteName(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Unmap().IsLoopback() {
			return "localhost"
		}
		return strings.NewReplacer(".", "-", ":", "-").Replace(host)
	}
	for part := range strings.SplitSeq(host, ".") {
		if !slices.Contains([]string{"www", "mcp", "api"}, part) {
			return part
		}
	}
	return host
}

// assigned reads names and values. A name alone means the variable of that name.
func assigned(words []string, between, form string) (map[string]string, error) {
	table := make(map[string]string)
	for _, w := range words {
		name, value, found := strings.Cut(w, between)
		name = strings.TrimSpace(name)
		switch {
		case name == "" || !found && between != "=":
			return nil, exit.Usage(fmt.Errorf("%q is not what is expected", w), "write %s", form)
		case !found:
			value = "${" + name + "}"
		case between != "=":
			value = strings.TrimSpace(value)
		}
		table[name] = value
	}
	if len(table) == 0 {
		return nil, nil
	}
	return table, nil
}

// fromRegistry is the entry of a server of a registry.
func (a *app) fromRegistry(ctx context.Context, f *tomledit.File, r *addRequest, word string) (*addition, error) {
	name, version, pinned := strings.Cut(word, "@")
	if !pinned {
		version = "latest"
	}
	if !registry.IsName(name) || version == "" {
		return nil, exit.Usage(fmt.Errorf("%q is no name of a server in a registry, no url, and no command behind --", word),
			"names are like io.github.user/weather; `wharf search %s` lists them", plain.Line(name))
	}
	c, err := a.registryAt(r.registry)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	l, err := a.lookUp(ctx, c, name, version)
	if err != nil {
		return nil, err
	}
	if l.Status == registry.Deleted {
		return nil, fmt.Errorf("%s was deleted from the registry: %w", name, host.ErrDenied)
	}
	entry := r.named(path.Base(name))
	if err := r.free(f, entry); err != nil {
		return nil, err
	}
	o, err := choose(&l.Server, r.prefer)
	if err != nil {
		return nil, err
	}
	if err := a.unpack(ctx, c, o); err != nil {
		return nil, err
	}
	n := newInputs(entry)
	env, headers, err := r.answer(n, o.Inputs())
	if err != nil {
		return nil, err
	}
	if err := a.completeInputs(ctx, n, o.Inputs(), a.CanAsk() && !r.yes); err != nil {
		return nil, err
	}
	s, err := o.Entry(n.answers)
	if err != nil {
		return nil, err
	}
	s.Name, s.Env, s.Headers = entry, joined(s.Env, env), joined(s.Headers, headers)
	s.Registry = config.Registry{Name: name, Version: l.Server.Version, SHA256: l.SHA256}
	if c.Address() != registry.Official {
		s.Registry.Address = c.Address()
	}
	return &addition{s, n, a.aboutListing(l, o), slices.Concat(statusCaution(l), o.Cautions(s))}, nil
}

func (a *app) lookUp(ctx context.Context, c *registry.Client, name, version string) (*registry.Listing, error) {
	defer a.Busy("asking the registry")()
	return c.Version(ctx, name, version)
}

// joined returns the entries of both tables; those of the second take precedence.
func joined(table, more map[string]string) map[string]string {
	if len(more) == 0 {
		return table
	}
	all := maps.Clone(more)
	for name, value := range table {
		if _, given := all[name]; !given {
			all[name] = value
		}
	}
	return all
}

// choose returns the first option that can be used, of the kind that is preferred. A package
// whose program is on this machine comes before one whose program is not.
func choose(s *registry.Server, prefer string) (*registry.Option, error) {
	var why []string
	var second *registry.Option
	for _, o := range s.Options(prefer == "remote") {
		isRemote := o.Kind == "http" || o.Kind == "sse"
		switch {
		case prefer != "" && o.Kind != prefer && !(prefer == "remote" && isRemote):
		case o.Unusable == "" && o.Missing() != "":
			second = cmp.Or(second, o)
		case o.Unusable == "" && (isRemote || o.Bundle != nil) && second != nil:
			return second, nil
		case o.Unusable == "":
			return o, nil
		default:
			why = append(why, fmt.Sprintf("%s %s: %s", o.Kind, plain.Name(o.Runs, plain.TargetColumns), o.Unusable))
		}
	}
	kinds := strings.Join(kindsOf(s), ", ")
	switch {
	case second != nil:
		return second, nil
	case len(why) > 0:
		return nil, fmt.Errorf("no way to run %s can be used (%s): %w", s.Name, cleantext.Visible(strings.Join(why, "; ")), host.ErrDenied)
	case kinds == "":
		return nil, fmt.Errorf("the registry does not say how %s is run: %w", s.Name, host.ErrUnsupported)
	}
	return nil, exit.Usage(fmt.Errorf("%s is not to be had as %q", s.Name, prefer), "the registry has it as %s", plain.Line(kinds))
}

// answer gives the answers of the flags, and returns the variables and headers that the
// registry does not know of.
func (r *addRequest) answer(n *inputs, wanted []registry.Input) (env, headers map[string]string, err error) {
	given := func(kind string, table map[string]string) (map[string]string, error) {
		for _, name := range sortedNames(table) {
			i := slices.IndexFunc(wanted, func(in registry.Input) bool { return in.Of == kind+name && in.ID == name })
			if i < 0 {
				continue
			}
			if err := n.give(wanted[i], table[name]); err != nil {
				return nil, exit.Usage(err, "")
			}
			delete(table, name)
		}
		return table, nil
	}
	if env, err = assigned(r.env, "=", "-e NAME=VALUE"); err == nil {
		env, err = given("the variable ", env)
	}
	if err == nil {
		headers, err = assigned(r.headers, ":", "-H 'NAME: VALUE'")
	}
	if err == nil {
		headers, err = given("the header ", headers)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, word := range r.set {
		id, value, found := strings.Cut(word, "=")
		i := slices.IndexFunc(wanted, func(in registry.Input) bool { return in.ID == id })
		switch {
		case !found:
			return nil, nil, exit.Usage(fmt.Errorf("%q is not what is expected", word), "write --set INPUT=VALUE")
		case i < 0:
			return nil, nil, unknownInput(id, wanted)
		}
		if err := n.give(wanted[i], value); err != nil {
			return nil, nil, exit.Usage(err, "")
		}
	}
	return env, headers, nil
}

// aboutListing says what the registry says of a server, and what else it takes.
func (a *app) aboutListing(l *registry.Listing, o *registry.Option) string {
	s := l.Server
	facts := []term.Fact{{Name: "name", Text: s.Name + " " + s.Version}, {Name: "says", Text: s.Description}, {Name: "runs", Text: o.Kind + " " + o.Runs}}
	if s.Repository != nil {
		facts = append(facts, term.Fact{Name: "source", Text: s.Repository.URL})
	}
	for _, other := range s.Options(false) {
		if other.Kind != o.Kind && other.Unusable == "" {
			facts = append(facts, term.Fact{Name: "or", Text: other.Kind + " " + other.Runs + ", by --prefer " + other.Kind})
		}
	}
	for _, in := range o.Inputs() {
		if !in.IsRequired {
			facts = append(facts, term.Fact{Name: "takes", Text: in.Of + ": " + in.Description})
		}
	}
	for i := range facts {
		facts[i].Text = cleantext.Visible(plain.CutBytes(facts[i].Text, factBytes))
	}
	return a.Facts(facts, ofFacts, 0, "")
}

// statusCaution says that the publisher of a version advises against it.
func statusCaution(l *registry.Listing) []string {
	if l.Status == registry.Active || l.Status == "" {
		return nil
	}
	return []string{fmt.Sprintf("it is %s: %s", plain.Name(string(l.Status), plain.NameColumns), plain.Name(l.StatusMessage, 4*plain.TargetColumns))}
}
