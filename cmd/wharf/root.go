package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

const rootLong = `Wharf talks to MCP servers through sandboxed transports.

Servers are named in your configuration, given on the spot after "--", or the
one called demo, which is there unless an entry has that name:

  wharf tools demo
  wharf call demo echo message=hello
  wharf tools -- npx -y @modelcontextprotocol/server-everything
  wharf tools https://mcp.example.com/mcp

A configured server needs no "call":

  wharf files read_file path=notes.md
  wharf files read_file '{"path": "notes.md"}'

On a terminal the output is for people; piped, or with --json, it is JSON.
Exit codes: 0 ok, 1 internal, 2 usage or configuration, 3 sign-in needed,
4 unreachable or timed out, 5 the tool or the server answered with an error,
6 denied or refused, 130 interrupted, 141 the reader of stdout left.`

// newRoot builds the tree of commands. It does no work beyond that: each start counts.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:               "wharf",
		Short:             "Talk to MCP servers through sandboxed transports",
		Long:              rootLong,
		Args:              cobra.ArbitraryArgs,
		RunE:              a.runShorthand,
		ValidArgsFunction: a.completeServers,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			f := &a.flags
			if err := checkFilled(cmd); err != nil {
				return err
			}
			if a.shell != nil {
				if err := wholeShell(cmd); err != nil {
					return err
				}
				cmd.SetContext(host.WithOptions(cmd.Context(), host.RequestOptions{Timeout: f.timeout.line()}))
			}
			if err := f.checkTaken(cmd); err != nil {
				return err
			}
			if f.browser && f.noBrowser {
				return exit.Usage(errors.New("--browser and --no-browser do not go together"), "")
			}
			f.alone = f.alone || showsConnection(cmd)
			a.Quiet, a.OneLine = f.quiet, f.output == formatRaw
			if f.json && a.shell == nil && (f.output == formatText || f.output == formatMarkdown) {
				a.Warn("--output %s is used, and not --json", f.output)
			}
			f.json = f.json || f.output == formatJSON || f.output == formatRaw
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(a.flagError)
	a.flags.register(root)
	root.AddCommand(
		newTools(a), newCall(a), newResources(a), newRead(a), newPrompts(a), newPrompt(a), newComplete(a),
		newWatch(a), newPing(a), newRequest(a), newTask(a), newShell(a, newRoot), newBridge(a), newServe(a), newControl(a), newDaemon(a),
		newServers(a), newSearch(a), newAdd(a), newUpdate(a), newRemove(a), newImport(a), newEdit(a),
		newLogin(a), newLogout(a), newAuth(a), newACL(a), newAudit(a),
		newTrust(a), newPlugin(a), newTrace(a), newGenerate(a), newDoctor(a), newVersion(a), newAgents(),
	)
	a.replaceCompletion(root)
	root.InitDefaultHelpCmd()
	if cmd, _, err := root.Find([]string{"help"}); err == nil {
		cmd.Run, cmd.RunE = nil, a.runHelp // Cobra's own shows the help of everything for an unknown word
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, words []string) {
		if a.helpOfTool(cmd) {
			return
		}
		if a.shell != nil {
			a.late = a.Print(plain.Help(lineHelp(cmd), a.helpWidth()))
			return
		}
		var text strings.Builder
		cmd.SetOut(&text)
		help(cmd, words)
		cmd.SetOut(a.Out)
		a.late = a.Print(plain.Help(text.String(), a.helpWidth()))
	})
	return root
}

// showsConnection reports whether a command is about a connection of its own, and not only about what a
// server offers.
func showsConnection(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if slices.Contains([]string{"ping", "watch", "shell", "doctor", "generate"}, cmd.Name()) {
			return true
		}
	}
	return false
}

// runShorthand runs wharf without a command: `wharf SERVER TOOL …` is a call. It takes addresses
// and configured names only, so that a mistyped command stays an error.
func (a *app) runShorthand(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return exit.Usage(errors.New("a command after -- needs tools or call before it"), "%s", a.beforeDash(cmd, args[:dash]))
	}
	if len(args) == 0 {
		return a.bare(cmd)
	}
	if _, address := atAddress(args[0]); address {
		return a.runCall(cmd, args)
	}
	s, err := a.load()
	if err != nil {
		return err
	}
	if args = a.dotted(args); !s.has(args[0]) {
		return a.unknownFirst(cmd, s, args)
	}
	return a.runCall(cmd, args)
}

// bare shows the help of wharf without words. It refuses flags, which mean nothing there.
func (a *app) bare(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		err = exit.Usage(fmt.Errorf("--%s stands alone: expected a command, or a server and a tool", f.Name), "`wharf --help` lists the commands")
	})
	if err != nil {
		return err
	}
	return cmd.Help()
}

// beforeDash returns the command line that was probably meant if a command comes after --, and
// no command of wharf before it. words are those before the --.
func (a *app) beforeDash(root *cobra.Command, words []string) string {
	behind := a.argv[min(slices.Index(a.argv, "--")+1, len(a.argv)):]
	s, err := a.load()
	switch {
	case len(words) == 0 && len(behind) > 0:
		return lineHint([]string{"wharf", "tools"}, "to list the tools", a.argv)
	case len(words) == 0 || err != nil:
	case words[0] == "mcp" && len(words) == 3 && words[1] == "add":
		return nameHint([]string{"wharf", "add"}, words[2], append([]string{"--"}, behind...))
	case s.has(a.dotted(words)[0]) && len(words) > 2 && slices.ContainsFunc(behind, func(word string) bool { return interpreted(word) != nil }):
		return fmt.Sprintf("%s is a server already, and what follows -- starts another: leave one of them out", plain.Word(words[0]))
	case s.has(a.dotted(words)[0]) && !slices.ContainsFunc(behind, func(word string) bool { return strings.HasPrefix(word, "-") }):
		line := slices.DeleteFunc(slices.Clone(a.argv), func(word string) bool { return word == "--" })
		return lineHint([]string{"wharf"}, "an argument needs no -- before it", line)
	case s.has(a.dotted(words)[0]):
		return "a text that begins with - is given by name: key=-…"
	case args.IsKey(strings.SplitN(words[0], "(", 2)[0]) && !slices.Contains(subcommands(root), words[0]):
		return lineHint([]string{"wharf", "call"}, "to call a tool", a.argv)
	}
	return "try `wharf tools -- COMMAND…`"
}
