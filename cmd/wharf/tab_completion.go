package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

const completionLong = `

The names of a server's tools, prompts and resources are those of the last time that it
was asked for them: ` + "`wharf tools` asks all servers for their tools." + `
`

// replaceCompletion makes `wharf completion SHELL` an error for a shell without a
// completion script, as other groups of commands do. The script for bash also works
// without the package bash-completion.
func (a *app) replaceCompletion(root *cobra.Command) {
	if len(a.argv) > 0 && strings.HasPrefix(a.argv[0], cobra.ShellCompRequestCmd) {
		unquoteUsages(root)
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, runGroup
		cmd.Long = strings.TrimSpace(cmd.Long) + completionLong // with what Cobra says
		for _, shell := range cmd.Commands() {
			switch shell.Name() {
			case "bash":
				_, usage, _ := strings.Cut(shell.Long, "package manager.\n\n") // the package is not needed, see bashWords
				shell.Long = shell.Short + ".\n\n" + usage
				shell.RunE = func(cmd *cobra.Command, _ []string) error {
					plain, _ := cmd.Flags().GetBool("no-descriptions")
					return a.printScript(func(to io.Writer) error { return root.GenBashCompletionV2(to, !plain) }, bashChanges, bashWords)
				}
			case "zsh":
				shell.RunE = func(cmd *cobra.Command, _ []string) error {
					generate := root.GenZshCompletion
					if plain, _ := cmd.Flags().GetBool("no-descriptions"); plain {
						generate = root.GenZshCompletionNoDesc
					}
					return a.printScript(generate, zshChanges, "")
				}
			case "fish":
				shell.RunE = func(*cobra.Command, []string) error {
					return a.printScript(func(to io.Writer) error { return root.GenFishCompletion(to, true) }, fishChanges, "")
				}
			case "powershell":
				shell.RunE = func(cmd *cobra.Command, _ []string) error {
					generate := root.GenPowerShellCompletionWithDesc
					if plain, _ := cmd.Flags().GetBool("no-descriptions"); plain {
						generate = root.GenPowerShellCompletion
					}
					return a.printScript(generate, powerShellChanges, "")
				}
			}
		}
	}
}

// unquoteUsages takes the marks from the names of values in the usages of all flags, as help does.
func unquoteUsages(cmd *cobra.Command) {
	unquote := func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }
	cmd.PersistentFlags().VisitAll(unquote)
	cmd.Flags().VisitAll(unquote)
	for _, c := range cmd.Commands() {
		unquoteUsages(c)
	}
}

// printScript prints the script that Cobra has for a shell, with changes.
func (a *app) printScript(generate func(io.Writer) error, changes *strings.Replacer, more string) error {
	var script strings.Builder
	if err := generate(&script); err != nil {
		return err
	}
	return a.Print(changes.Replace(script.String()) + more)
}

// The changes to Cobra's script for each shell. The word at which a Tab is pressed may be within
// quotes. The words before it are evaluated, in fish without the escapes of the line: a word may
// be one that a server has chosen, so there only a flag and a path that begins with a variable or
// ~ are evaluated. A flag begins with "-"; Cobra takes any word with "-" and "=" for one.
var (
	bashChanges = strings.NewReplacer(`    args=("${words[@]:1}")`, "    __wharf_close_quotes\n"+`    args=("${words[@]:1}")`,
		"_init_completion -n =: ||", "_init_completion -n =:@ ||") // a file is written as key=@file
	zshChanges = strings.NewReplacer(
		`    words=("${=words[1,CURRENT]}")`, `    [[ -z $compstate[quote] && $words[CURRENT] == *[\"\']* ]] && words[CURRENT]=$IPREFIX$PREFIX
    words=("${=words[1,CURRENT]}")`, // zsh has the escapes that take the place of quotes within a word
		`comp=${comp//:/\\:}`, `comp=${comp//\\/\\\\}; comp=${comp//:/\\:}`,
		`=~ '-.*=' ]]`, `=~ '^-.*=' ]]`,
		`requestComp="${words[1]} __complete ${words[2,-1]}"`, `requestComp="${words[1]} __complete ${words[2,-1]}${compstate[quote]}"`)
	fishChanges = strings.NewReplacer(
		"    set -l args (commandline -opc)", `    set -l args
    for word in (commandline -opc)
        string match -qr '^(-|[~$])[\w./~$=:@,+-]*$' -- $word; or set word (string escape -- $word)
        set -a args $word
    end`,
		"(string escape -- (commandline -ct))", "(commandline -ct | string unescape | string escape)",
		`'-.*=' "$lastArg"`, `'^-.*=' "$lastArg"`)
	powerShellChanges = strings.NewReplacer( // where a Tab inserts what several words have in common, it is escaped too
		`$Arguments.Split(" ")[-1]`, "($Arguments -split '(?<!`) ')[-1]",
		`$CompletionText = "$($comp.Name)$Description"`, `$CompletionText = "$($comp.Name.TrimEnd() | __wharf_escapeStringWithSpecialChars)"`)
)

// completeServers offers the names of servers for the first word, and behind it the names that
// the server is known to have. The shell asks at every key, so no server is started. A server at
// a url is asked for values if the user has written its entry. An error in the configuration is
// reported when the command runs.
func (a *app) completeServers(cmd *cobra.Command, words []string, word string) ([]string, cobra.ShellCompDirective) {
	if slices.Contains(a.argv[:max(0, len(a.argv)-1)], "--") {
		return nil, cobra.ShellCompDirectiveDefault // a command, and its files
	}
	s, err := a.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	command := cmd.Name()
	if !cmd.HasParent() { // `wharf SERVER TOOL` is a call
		command = "call"
	}
	if len(words) == 0 {
		names := slices.Sorted(slices.Values(s.names()))
		if command == "call" || command == "tools" {
			names = append(names, a.dottedTools(cmd.Context(), s, word)...)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	words = a.dotted(words)
	server, found := s.find(words[0])
	if !found {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	known := a.knownOf(cmd.Context(), s, server)
	if known.completes && server.URL != "" && server.Project == nil && !server.Disabled {
		known.ask = a.askServer(cmd.Context(), server)
	}
	return offer(known.next(command, words[1:], word))
}

// completeOwn offers the servers that the user's file has, any number of them.
func (a *app) completeOwn(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
	f, err := a.ownFile()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offerServers(f.Read.Servers, words)
}

// completeRegistered offers the servers of the user's file that came from a registry.
func (a *app) completeRegistered(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
	f, err := a.ownFile()
	if err != nil || len(words) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offerServers(slices.DeleteFunc(slices.Clone(f.Read.Servers), func(s host.Server) bool { return s.Registry.Name == "" }), nil)
}

// completeAccess offers the ways to call, which a client may be named by, and behind them the tools that
// servers are known to have, as a rule names them.
func (a *app) completeAccess(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := a.load()
	switch {
	case err != nil || len(words) > 1:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case len(words) == 0:
		return offer([]string{"bridge", "command", "control", "gateway"})
	}
	var calls []string
	for _, name := range slices.Sorted(slices.Values(s.names())) {
		server, _ := s.find(name)
		for _, tool := range knownTools(server) {
			calls = append(calls, name+"/"+tool.Name)
		}
	}
	return offer(calls)
}

// completeName offers the names of servers as the value of a flag.
func (a *app) completeName(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, err := a.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(slices.Sorted(slices.Values(s.names())))
}

// completeProject offers the servers of the project, about which the user decides.
func (a *app) completeProject(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := a.load()
	if err != nil || len(words) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offerServers(s.project(), nil)
}

// offerServers offers the names of servers that are not among the words yet.
func offerServers(servers []host.Server, words []string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, server := range servers {
		if !slices.Contains(words, server.Name) {
			names = append(names, server.Name)
		}
	}
	slices.Sort(names)
	return offer(names)
}

// dottedTools returns the tools of a server as SERVER.TOOL, if word begins with the name of a
// server and a dot. It leaves out those that would be read as the tool of another server.
func (a *app) dottedTools(ctx context.Context, s *settings, word string) (all []string) {
	for at := strings.LastIndexByte(word, '.'); at > 0; at = strings.LastIndexByte(word[:at], '.') {
		if server, found := s.find(word[:at]); found {
			known := a.knownOf(ctx, s, server)
			for _, tool := range known.next("call", nil, word[at+1:]) {
				if name := word[:at+1] + tool; a.dotted([]string{name})[0] == server.Name {
					all = append(all, name)
				}
			}
			all, _ = offer(all)
			return all
		}
	}
	return nil
}

// offer returns the words for a shell, whose script escapes the characters that mean something to
// it. A word that begins or ends with a blank is left out, since the blank would be lost. No space
// follows a key, or a folder.
func offer(words []string) ([]string, cobra.ShellCompDirective) {
	words = omit(words, func(word string) bool { return strings.TrimSpace(word) != word })
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !strings.HasSuffix(word, "=") && !strings.HasSuffix(word, "/") }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return words, directive
}

// knownOf returns the lists of a server from its last use, without what its entry forbids and without what
// a rule or a policy denies to a command.
func (a *app) knownOf(ctx context.Context, s *settings, server host.Server) (c candidates) {
	snapshot, err := catalogue.Open(catalogueDir()).Load(catalogue.KeyOf(server))
	if err != nil {
		return c // nothing is known, and this is no place to say why
	}
	rules, err := s.rules()
	if err != nil {
		return c // the command says why
	}
	if len(s.policies) > 0 {
		h, err := a.mute().newHost(ctx, io.Discard)
		if err != nil {
			return c
		}
		defer h.Close()
		for kind, list := range snapshot.Lists {
			list.Items = h.Shown(&policy.Caller{Kind: policy.Command}, server.Name, kind, list.Items)
			snapshot.Lists[kind] = list
		}
	}
	denied := func(target policy.Target, name string) bool { return denies(rules, server, target, name) }
	var declared struct{ Completions json.RawMessage }
	json.Unmarshal(snapshot.Info.Capabilities, &declared)
	c.completes = declared.Completions != nil
	c.tools = slices.DeleteFunc(itemsOf[mcp.Tool](snapshot.Lists[catalogue.Tools]), func(t mcp.Tool) bool { return denied(policy.Tool, t.Name) })
	c.prompts = slices.DeleteFunc(itemsOf[mcp.Prompt](snapshot.Lists[catalogue.Prompts]), func(p mcp.Prompt) bool { return denied(policy.Prompt, p.Name) })
	c.resources = slices.DeleteFunc(itemsOf[mcp.Resource](snapshot.Lists[catalogue.Resources]), func(r mcp.Resource) bool { return denied(policy.Resource, r.URI) })
	c.templates = slices.DeleteFunc(itemsOf[mcp.ResourceTemplate](snapshot.Lists[catalogue.Templates]), func(t mcp.ResourceTemplate) bool { return denied(policy.Resource, t.URITemplate) })
	return c
}
