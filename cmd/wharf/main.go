// Wharf calls tools on MCP servers from the command line.
//
// A server is named in the user's configuration, given on the spot after "--",
// or the one called demo, which is part of the program:
//
//	wharf tools demo
//	wharf call demo echo message=hello
//	wharf call echo message=hello -- npx -y @modelcontextprotocol/server-everything
//
// Stdout carries data alone: a table or text on a terminal, JSON everywhere
// else and with --json. Everything for people goes to stderr. The exit code
// says how it ended: 0 ok, 1 internal, 2 usage or configuration,
// 3 sign-in needed, 4 unreachable or timed out, 5 the tool or the server
// answered with an error, 6 denied or refused, 130 interrupted, 141 the reader of stdout left.
package main

import (
	"cmp"
	"context"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
)

func main() {
	if isWorker(os.Args[1:]) {
		os.Exit(runWorker())
	}
	// Most garbage of a short command is from loading a plugin, and goes with the process.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(run(os.Args[1:], term.Standard()))
}

// run is the whole program: it carries out one command line and returns the exit
// code. Every error has been reported on std.Err by then.
func run(args []string, std *term.Terminal) int {
	defer std.Mode.Leave()
	a := &app{Terminal: std, argv: args, tracing: new(tracing)}
	ctx, interruption := exit.OnInterrupt(context.Background(), func() { std.Mode.Leave(); a.recorders.flush() })
	defer interruption.Stop()
	std.Life, std.Interrupt, a.interrupt = ctx, interruption.Raise, interruption
	root := newRoot(a)
	args = splitShort(root, args)
	a.argv = args
	if len(args) > 0 && args[0] == "--version" || len(args) == 1 && (args[0] == "-v" || args[0] == "-V") {
		args = slices.Concat([]string{"version"}, args[1:])
	}
	root.SetArgs(args)
	err := cmp.Or(root.ExecuteContext(ctx), a.late)
	std.AwaitDialog(cancelGrace)
	a.tracing.close()
	a.closeRecorders()
	return a.report(ctx, err)
}

// splitShort returns a command line in which short flags in one word before the command, as -qo FORMAT, are two words
// where the last takes a value: cobra would take that value for the command.
func splitShort(root *cobra.Command, args []string) []string {
	args = slices.Clone(args)
	for i := 0; i < len(args) && len(args[i]) > 1 && args[i][0] == '-' && args[i] != "--"; i++ {
		if name, long := strings.CutPrefix(args[i], "--"); long {
			if flag := root.Flag(name); flag != nil && flag.NoOptDefVal == "" {
				i++ // its value
			}
			continue
		}
		for at := 1; at < len(args[i]); at++ {
			flag := cmp.Or(root.Flags().ShorthandLookup(args[i][at:at+1]), root.PersistentFlags().ShorthandLookup(args[i][at:at+1]))
			if flag == nil || flag.NoOptDefVal == "" && at < len(args[i])-1 {
				break // unknown, or its value is in the word
			}
			if flag.NoOptDefVal == "" && at > 1 {
				args = slices.Replace(args, i, i+1, args[i][:at], "-"+args[i][at:])
				i++
			}
			if flag.NoOptDefVal == "" {
				i++ // its value
				break
			}
		}
	}
	return args
}

// closeRecorders closes the files of the recorders. If a file is not complete it only warns,
// because the command has succeeded or failed by then.
func (a *app) closeRecorders() {
	for _, err := range []error{a.recorders.trace.get().Close(), a.recorders.replay.get().Close()} {
		if err != nil {
			a.hear(host.Event{Warning: err.Error()})
		}
	}
}
