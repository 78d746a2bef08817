package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// unknownFirst returns the error for words of which the first is neither a command nor one of the servers.
func (a *app) unknownFirst(cmd *cobra.Command, s *settings, args []string) error {
	if err := s.whyLeftOut(args[0]); err != nil {
		return err
	}
	hint := cmp.Or(a.joined(args[0]), a.lacksScheme(args[0]), a.orMeant(args[0], a.forgotten(cmd)))
	if hint == "" && elsewhere[args[0]] == "" && (meant(args[0], subcommands(cmd)) == "" || s.serverOf(args[0]) != "") {
		hint = a.toolFirst(args)
	}
	if hint != "" {
		return exit.Usage(noSuchWord(args[0]), "%s", hint)
	}
	return unknownWord(cmd, args, s)
}

func noSuchWord(word string) error { return fmt.Errorf("there is no command and no server %q", word) }

// unknownWord returns the error for a first word that is neither a command nor one of the
// servers. A later word may be one of them.
func unknownWord(root *cobra.Command, words []string, s *settings) error {
	word, servers := words[0], s.names()
	err := noSuchWord(word)
	command, server := meant(word, append(subcommands(root), "help")), meant(word, servers)
	hint, about := elsewhere[word], len(words) > 1 && slices.Contains(servers, words[1])
	if about {
		named := []string{"SERVER", plain.ShellWord(words[1])}
		if len(words) > 2 && !strings.Contains(words[2], "=") { // and not an argument
			third := plain.ShellWord(words[2])
			named = append(named, "TOOL", third, "PROMPT", third, "URI", third)
		}
		hint = strings.NewReplacer(named...).Replace(hint)
	}
	switch {
	case hint != "" && (about || len(server) < 3 || nearest.Edits(word, server) > 1) && nearest.Edits(word, command) > 1:
		return exit.Usage(err, "%s", hint)
	case hint != "":
		return exit.Usage(err, "did you mean %q? %s", cmp.Or(command, server), hint)
	case command != "" && server != "":
		return exit.Usage(err, "did you mean the command %q, or the server %q?", command, server)
	case command != "" || server != "":
		return exit.Usage(err, "did you mean %q?", command+server)
	}
	return s.notFound(err, "`wharf servers` lists the servers, and `wharf --help` the commands")
}

// runHelp prints the help of the command that the words name.
func (a *app) runHelp(cmd *cobra.Command, words []string) error {
	of, rest, err := cmd.Root().Find(words)
	switch {
	case err != nil:
		return err
	case of == cmd.Root() && len(rest) > 0:
		err = fmt.Errorf("there is no command %q", rest[0])
		near, hint, shown := meant(rest[0], subcommands(of)), elsewhere[rest[0]], a.shows(rest)
		switch {
		case hint != "" && nearest.Edits(rest[0], near) > 1:
			return exit.Usage(err, "%s", hint)
		case shown != "":
			return exit.Usage(err, "%s", shown)
		case near != "":
			return exit.Usage(err, "did you mean %q?", near)
		}
		return exit.Usage(err, "`wharf --help` lists the commands")
	case of.HasSubCommands() && len(rest) > 0:
		return unknownCommand(of, rest)
	}
	of.InitDefaultHelpFlag()
	return of.Help()
}

// shows returns the hint at what shows the server or the tool that words name, or "" if they name neither.
func (a *app) shows(words []string) string {
	s, err := a.load()
	switch {
	case err != nil:
		return ""
	case s.has(words[0]) && len(words) > 1:
		return fmt.Sprintf("`wharf tools %s %s` shows the tool", plain.ShellWord(words[0]), plain.ShellWord(words[1]))
	case s.has(words[0]):
		return fmt.Sprintf("`wharf tools %s` lists the tools of the server", plain.ShellWord(words[0]))
	}
	if server := s.serverOf(words[0]); server != "" {
		return fmt.Sprintf("`wharf tools %s %s` shows the tool", plain.ShellWord(server), plain.ShellWord(words[0]))
	}
	return ""
}
