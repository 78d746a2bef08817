package main

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// app is one run of the program: its streams, its flags, and what it learns
// on the way.
type app struct {
	*term.Terminal
	flags flags

	interrupt *exit.Interrupts // nil in tests

	settings  *settings   // read at the first need
	outranked []string    // installed plugins that were warned of
	server    string      // the server that the command is about, for errors
	address   string      // its url, if it has no entry
	tape      tape        // of --trace
	reel      reel        // of --record
	lookout   *lookout    // for changes of the configuration; nil where nothing is kept
	logged    atomic.Bool // somebody follows what servers log

	redact func(text string) string // takes secrets out of errors; nil without a host
}

// forPeople reports whether stdout is read by a person: it is a terminal, and --json
// is not given.
func (a *app) forPeople() bool { return a.OutTTY && !a.flags.json }

const rootLong = `Wharf talks to MCP servers through sandboxed transports.

Servers are named in your configuration, given on the spot behind "--", or the
one called demo, which is always there:

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
6 denied or refused, 130 interrupted, 141 nobody reads stdout any more.`

// newRoot builds the tree of commands. It does no work beyond that: the demo
// server starts through it as well, and each start counts.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:               "wharf",
		Short:             "Talk to MCP servers through sandboxed transports",
		Long:              rootLong,
		Args:              cobra.ArbitraryArgs,
		RunE:              a.runShorthand,
		ValidArgsFunction: a.completeServers,
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Usage(err, "see `%s --help`", cmd.CommandPath())
	})
	a.flags.register(root)
	root.AddCommand(newTools(a), newCall(a), newResources(a), newRead(a), newPrompts(a), newPrompt(a),
		newComplete(a), newWatch(a), newPing(a), newRequest(a), newServers(a), newLogin(a), newLogout(a), newAuth(a),
		newTrust(a), newPlugin(a), newTrace(a), newDoctor(a), newVersion(a), newDemoServer(a))
	refuseUnknownShells(root)
	return root
}

// runShorthand is wharf without a command: `wharf SERVER TOOL …` is a call, for
// configured names only, so that a mistyped command stays an error.
func (a *app) runShorthand(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() >= 0 {
		return exit.Usage(errors.New("a command behind -- needs tools or call before it"), "try `wharf tools -- COMMAND…`")
	}
	if len(args) == 0 {
		return cmd.Help()
	}
	s, err := a.load()
	if err != nil {
		return err
	}
	if !s.has(args[0]) {
		return unknownCommand(cmd, args[0], s.names())
	}
	return a.runCall(cmd, args)
}

// unknownCommand is the error for a word that is neither a command nor one of
// the other names that could stand in its place.
func unknownCommand(cmd *cobra.Command, word string, others []string) error {
	err := fmt.Errorf("unknown command %q for %q", word, cmd.CommandPath())
	names := others
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := nearest(word, names); near != "" {
		return exit.Usage(err, "did you mean %q?", near)
	}
	return exit.Usage(err, "see `%s --help`", cmd.CommandPath())
}

// exactly is the check of a command that takes the named arguments and no
// others, and nothing behind "--".
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		case len(args) > len(names):
			return exit.Usage(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// nearest returns the name that word was most likely meant to be, or "". Up to
// a third of its letters may be wrong, or it may be the beginning of the name.
func nearest(word string, names []string) string {
	if len(word) > longestName {
		return ""
	}
	best, distance := "", 1+max(1, len(word)/3)
	for _, name := range names {
		d := editDistance(strings.ToLower(word), strings.ToLower(name))
		if len(word) >= 2 && strings.HasPrefix(name, word) {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = name, d
		}
	}
	return best
}

// longestName is what is still compared; names beyond it are far from all.
const longestName = 64

// editDistance counts the bytes to insert, remove, replace or swap with their
// neighbour to make b of a (optimal string alignment).
func editDistance(a, b string) int {
	if len(a) > longestName || len(b) > longestName {
		return longestName
	}
	var rows [3][longestName + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, higher := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], higher[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
