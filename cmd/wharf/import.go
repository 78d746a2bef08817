package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

const importLong = `Copy servers of other clients on this machine into your configuration.

The files of these clients are read: %s. Without a CLIENT all of them are.
Nothing in them is started or reached by that.

With --list the servers are listed that were found: where, whether they are new, and
what of them would not carry over. Otherwise the new ones are shown as they will be in
your configuration, and are written if you say yes. Comments and order of the file
stay. A value that is named like a secret goes to the vault, and so does what looks like
one in arguments, variables and urls; the entry has ${secret:NAME} in its place.

What a client forbids stays forbidden: servers and tools that its file disables. Where
several clients have one server by one name, its entry forbids what any of them does.
Where they differ in their values or their names, each has an entry of its own, and you
are warned if one allows what another forbids. What a client allows without asking is not
taken. A server that means the folder of a workspace is left out: here it would be any
folder you stand in. The other client's file is not changed.`

func newImport(a *app) *cobra.Command {
	var list, yes bool
	var only []string
	var name string
	cmd := &cobra.Command{
		Use:     "import [CLIENT…]",
		Short:   "Copy servers of other clients into your configuration",
		Long:    fmt.Sprintf(importLong, strings.Join(config.ClientIDs(), ", ")),
		Example: "  wharf import --list\n  wharf import cursor --server github",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := a.ownFile()
			if err != nil {
				return err
			}
			if name != "" && len(only) != 1 {
				return exit.Usage(errors.New("--name is for one server"), "name that with --server")
			}
			items, found, err := importable(own, args, only, name)
			if err != nil {
				return err
			}
			if len(only) == 0 { // a person who names a server wants that one
				if err := a.findRenamed(cmd.Context(), own.Read.Servers, items); err != nil {
					return err
				}
			}
			if err := a.compareSecrets(cmd.Context(), own.Read.Servers, items); err != nil {
				return err
			}
			switch {
			case len(found) == 0 && (a.forPeople() || !list):
				a.tellOfNoFile(cmd, args)
				if a.forPeople() {
					return nil
				}
				return a.PrintJSON([]importItem{})
			case list:
				return a.listImports(items, found)
			}
			for _, f := range found {
				if f.Err != nil && slices.Contains(args, f.ID) {
					return exit.Usage(f.Err, "")
				}
			}
			a.tellOfFiles(found, only, false)
			return a.runImport(cmd.Context(), own, items, yes)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return config.ClientIDs(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list what was found, and write nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringArrayVar(&only, "server", nil, "the `NAME` of a server to copy, and no others; may be given more than once")
	cmd.RegisterFlagCompletionFunc("server", func(_ *cobra.Command, ids []string, _ string) ([]string, cobra.ShellCompDirective) {
		items, _, _ := importable(&tomledit.File{Read: new(config.File)}, ids, nil, "")
		var names []string
		for _, item := range items {
			names = append(names, item.server.Name)
		}
		return offer(names)
	})
	cmd.Flags().StringVar(&name, "name", "", "what the server of --server is called here (default: its `NAME` there)")
	cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	return cmd
}

// tellOfNoFile says that the clients with those ids, or all, have no file with servers, and which were looked for.
func (a *app) tellOfNoFile(cmd *cobra.Command, ids []string) {
	if len(ids) == 0 {
		fmt.Fprint(a.Err, a.Own("No file of another client with servers was found. `%s --help` names the clients that Wharf knows.", cmd.CommandPath()))
		return
	}
	fmt.Fprint(a.Err, a.Own("No file of %s with servers was found. These were looked for:", strings.Join(ids, ", ")))
	for _, path := range config.ClientFiles(ids...) {
		fmt.Fprintf(a.Err, "  %s\n", cleantext.Visible(path))
	}
}

// importList is what --list prints as JSON.
type importList struct {
	Servers []importItem `json:"servers"`
	Files   []importFile `json:"files"`
}

// importFile is a file of another client.
type importFile struct {
	Client   string   `json:"client"`
	File     string   `json:"file"`
	Problem  string   `json:"problem,omitempty"`  // why it cannot be read
	Warnings []string `json:"warnings,omitempty"` // of what would not be copied
	Notes    []string `json:"notes,omitempty"`
}

// importable returns the servers of the clients with those ids, each with the name that it would
// get in own: name, if it is not "". If only is not empty, it returns those servers alone. Each forbids
// what any client forbids for it.
func importable(own *tomledit.File, ids, only []string, name string) (items []importItem, found []config.Found, err error) {
	cwd, err := os.Getwd()
	if err == nil {
		found, err = config.FindClients(cwd, ids...)
	}
	if i := slices.IndexFunc(ids, func(id string) bool { return strings.ContainsAny(id, `/\.`) }); err != nil && i >= 0 {
		if strings.Contains(ids[i], "://") {
			return nil, nil, exit.Usage(err, "`wharf add URL` adds the server at an address; a file of servers has to be on this machine")
		}
		return nil, nil, exit.Usage(err, "`wharf --config %s servers` reads a file as it is", plain.ShellWord(ids[i]))
	}
	if err != nil {
		return nil, nil, exit.Usage(err, "")
	}
	for i, name := range only {
		only[i] = cmp.Or(config.ShellName(name), name)
	}
	var names []string
	var ours []importItem
	for _, f := range found {
		if f.Err != nil {
			continue
		}
		for _, s := range f.File.Servers {
			names = append(names, s.Name)
			switch {
			case len(only) > 0 && !slices.Contains(only, s.Name):
			case servesOwn(s):
				ours = append(ours, importItem{Name: s.Name, Client: f.ID, File: f.Path, State: importSelf, Target: s.Target(), server: s})
			default:
				items = append(items, itemOf(items, f, s, name))
			}
		}
	}
	others := slices.DeleteFunc(config.ClientIDs(), func(id string) bool { return len(ids) == 0 || slices.Contains(ids, id) })
	if len(others) > 0 {
		all, err := config.FindClients(cwd, others...)
		if err != nil {
			return nil, nil, err
		}
		restrictBy(all, items)
	}
	for i := range items {
		items[i].Disabled = items[i].server.Disabled
		if items[i].State == importNew {
			items[i].compare(own.Read.Servers, items[:i], cmp.Or(name, items[i].server.Name))
		}
	}
	items = append(items, ours...)
	for _, name := range only {
		if !slices.ContainsFunc(items, func(i importItem) bool { return i.server.Name == name || i.Name == name }) {
			for _, f := range found {
				if f.Err == nil && f.File.LeftOut[name] != nil {
					return nil, nil, exit.Usage(fmt.Errorf("server %q of %s cannot be copied: %w", name, f.ID, f.File.LeftOut[name]), "it is in %s", f.Path)
				}
			}
			err := fmt.Errorf("no client has a server %q", name)
			if near := meant(name, names); near != "" {
				return nil, nil, exit.Usage(err, "did you mean %q?", near)
			}
			return nil, nil, exit.Usage(err, "`wharf import --list` shows those that were found")
		}
	}
	return items, found, nil
}

// restrictBy makes each item forbid what other clients, which nothing is imported from, forbid for the same server.
func restrictBy(others []config.Found, items []importItem) {
	for _, f := range others {
		if f.Err != nil {
			continue
		}
		for _, s := range f.File.Servers {
			for i := range items {
				if mine := &items[i].server; strings.EqualFold(mine.Name, s.Name) && len(differences(s, *mine)) == 0 {
					mine.Restrict(s)
				}
			}
		}
	}
}

// listImports lists the servers, and reports which parts of the files would not be copied.
func (a *app) listImports(items []importItem, found []config.Found) error {
	if !a.forPeople() {
		files := make([]importFile, len(found))
		for i, f := range found {
			files[i] = importFile{Client: f.ID, File: f.Path}
			if f.Err != nil {
				files[i].Problem = f.Err.Error()
				continue
			}
			files[i].Warnings, files[i].Notes = f.File.Warnings, f.File.Notes
		}
		return a.PrintJSON(importList{append([]importItem{}, items...), files})
	}
	rows := plain.Table{{"SERVER", "CLIENT", "STATE", "TARGET"}}
	for _, i := range items {
		state := i.State
		if i.Disabled && state == importNew {
			state += ", disabled"
		}
		if i.There != "" {
			state += ", called " + plain.Line(i.There) + " there"
		}
		if i.Differs != "" {
			state += ", differs " + i.Differs
		}
		rows = append(rows, []string{plain.Line(i.Name), i.Client, state, plain.Line(i.Target)})
	}
	for _, f := range found {
		a.Place(f.ID+":", f.Path)
	}
	if err := a.printTable(rows); err != nil {
		return err
	}
	a.tellOfFiles(found, nil, true)
	return nil
}

// tellOfFiles reports what is wrong with the files of clients, or, if only is not empty, with what
// they say of those servers. With all, it also reports which of their parts mean nothing here.
func (a *app) tellOfFiles(found []config.Found, only []string, all bool) {
	for _, f := range found {
		if f.Err != nil {
			a.Warn("%s", plain.Clip(plain.Line(f.Err.Error()), warningLetters))
			continue
		}
		s := &settings{warnings: f.File.Warnings, notes: f.File.Notes}
		if len(only) > 0 {
			s.warnings = f.File.WarningsOf(only)
		}
		a.warnOf(s)
		if all {
			a.noteOf(s)
		}
	}
}

// warnOfKept warns if an entry of the user's file keeps a server from being copied, and the user
// may not want that: the entry allows more, has only the same name, or may be another server.
func (a *app) warnOfKept(own *tomledit.File, items []importItem) {
	for _, item := range items {
		switch item.State {
		case importTwice:
			isNew := func(first importItem) bool {
				return first.State == importNew && strings.EqualFold(first.server.Name, item.server.Name)
			}
			if item.Differs != "" && slices.ContainsFunc(items, isNew) {
				a.Warn("%s of %s differs %s, which counts", plain.Line(item.server.Name), item.Client, item.Differs)
			}
		case importSelf:
			a.Tell(term.Dim, "note:", fmt.Sprintf("%s of %s is not copied: it starts wharf", plain.Line(item.Name), item.Client), "")
		case importLoose:
			mine, _ := among(own.Read.Servers, item.Name)
			a.Warn("%s in %s allows what the same server of another client forbids (%s): your entry stays as it is",
				plain.Line(item.Name), own.Path, forbidden(item.server, mine))
		case importNew:
			a.warnOfLooser(own, item)
		case importTaken:
			a.Warn("%s of %s is not copied: there is another server of that name in %s (it differs %[5]s); `wharf import %[2]s --server %[4]s --name NAME` gives it another",
				plain.Line(item.Name), item.Client, own.Path, plain.Word(item.server.Name), item.Differs)
			a.warnOfLooser(own, item)
		case importSame:
			for _, name := range item.stale {
				a.Warn("%s of %s has another value for ${secret:%[3]s} than the vault, which keeps its own; to give it the new one: wharf auth secret %[3]s",
					plain.Line(item.Name), item.Client, name)
			}
			mine, _ := among(own.Read.Servers, item.Name)
			for _, twin := range items {
				if twin.State != importNew || !strings.EqualFold(twin.server.Name, item.server.Name) {
					continue
				}
				if adopted, _ := asEntry(twin.server, mine); len(differences(adopted, mine)) > 0 {
					continue
				}
				a.Warn("%[1]s of %[2]s and of %[3]s differ in secrets alone, and %[4]s in %[5]s counts as that of %[2]s: if it is that of %[3]s, `wharf import %[2]s --server %[1]s --name NAME` copies the other",
					plain.Word(item.server.Name), item.Client, twin.Client, plain.Line(item.Name), own.Path)
			}
		}
	}
}

// runImport shows the entries that are new, and writes them if the user agrees. Its error may be of others
// that could not be copied.
func (a *app) runImport(ctx context.Context, own *tomledit.File, items []importItem, yes bool) (err error) {
	a.warnOfKept(own, items)
	a.warnOfTwins(items)
	held := refused(items)
	var added []importItem
	var entries []tomledit.Table
	var above strings.Builder
	secrets := make(map[string]string)
	var questions []question
	answers := make(map[string]string) // the secrets of the questions that were seen
	for _, item := range items {
		if item.State != importNew {
			continue
		}
		s := item.server
		s.Name = item.Name
		s, asked := s.Adopt(secrets, answers)
		for _, in := range asked {
			at := slices.IndexFunc(questions, func(q question) bool { return q.Secret == in.Secret })
			if at < 0 {
				at, questions = len(questions), append(questions, question{Input: in})
			}
			questions[at].servers = append(questions[at].servers, s.Name)
		}
		entries = append(entries, tomledit.Server(s))
		rows, err := a.entryRows(s)
		if err != nil {
			return err
		}
		above.WriteString(a.StyleErr(term.Bold, a.Own("%s, of %s (%s):", plain.Name(s.Name, plain.NameColumns), item.Client, cleantext.Visible(item.File))) + rows)
		item.Needs = s.Unset(os.LookupEnv)
		for _, name := range item.Needs {
			above.WriteString(a.Own("! the variable %s is not set here", plain.Line(name)))
		}
		for _, place := range s.PlainSecrets() {
			above.WriteString(a.Own("! %s looks like a secret, and goes into the file as it is", plain.Line(place)))
		}
		if s.Name == demoName {
			above.WriteString(a.Own("! the demo server cannot be named while this one has its name; --name gives it another"))
		}
		item.State, item.Target = "added", s.Target()
		added = append(added, item)
	}
	if len(added) == 0 {
		if held == nil {
			fmt.Fprint(a.Err, a.Own("There is nothing new to copy. `wharf import --list` shows what was found."))
		}
		return errors.Join(a.printImported(own, added), held)
	}
	if _, err = tomledit.AddTables(own.Text, entries...); err != nil {
		return exit.Usage(err, "")
	}
	for _, name := range sortedNames(secrets) {
		above.WriteString(a.Own("! the value of ${secret:%s} goes from the file into the vault", name))
	}
	above.WriteString(a.Own("%s would be added to %s.", counted(len(added), "server"), cleantext.Visible(own.Path)))
	if err = a.agreeTo(ctx, above.String(), "Add what is shown? yes, [n]o: ", yes); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err = a.askQuestions(ctx, questions, secrets, !yes); err != nil {
		return err
	}
	undo, err := a.storeSecrets(ctx, secrets, forgetsSecret)
	if err != nil {
		return err
	}
	err = own.Rewrite(ctx, func() ([]byte, error) {
		for _, item := range added {
			if _, taken := among(own.Read.Servers, item.Name); taken {
				return nil, fmt.Errorf("there is a server %q by now; run the command again", item.Name)
			}
		}
		return tomledit.AddTables(own.Text, entries...)
	})
	if err != nil {
		undo()
		return notWritten(ctx, err)
	}
	return errors.Join(a.printImported(own, added), held)
}

func (a *app) printImported(own *tomledit.File, added []importItem) error {
	for _, item := range added {
		if item.server.Disabled {
			fmt.Fprint(a.Err, a.Own("%s is added, and is disabled: a client has it so.", item.Name))
		} else {
			fmt.Fprint(a.Err, a.added(own, item.Name, "added"))
		}
	}
	if a.forPeople() {
		return nil
	}
	for i, item := range added {
		if !item.server.Disabled {
			added[i].Problem = a.notReady(own, item.Name)
		}
	}
	return a.PrintJSON(append([]importItem{}, added...))
}
