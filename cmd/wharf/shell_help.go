package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// lineCommands are the commands that a line may begin with. A tool of the same name is
// called with "call".
var lineCommands = []string{"call", "complete", "ping", "prompt", "prompts", "read", "request", "resources", "task", "tools", "watch"}

// shellHelp prints what a line of a shell may be. root has its commands.
func (a *app) shellHelp(root *cobra.Command) error {
	var out strings.Builder
	out.WriteString("A line is a tool with its arguments, or one of the commands below.\n\n")
	rows := [][2]string{{"TOOL [ARGUMENT…]", "call a tool"}, {"TOOL --help", "show its arguments, as help TOOL does"}}
	for _, name := range lineCommands {
		if cmd, _, err := root.Find([]string{name}); err == nil {
			does := strings.NewReplacer(" of a server, or of all", "", " of a server", "", "a server", "the server").Replace(cmd.Short)
			rows = append(rows, [2]string{name, strings.ToLower(does[:1]) + does[1:]})
		}
	}
	rows = append(rows, [2]string{"COMMAND --help", "show what it takes"}, [2]string{"exit", "end the shell, as Ctrl-D does"})
	widest := 0
	for _, row := range rows {
		widest = max(widest, plain.Width(row[0]))
	}
	for _, row := range rows {
		out.WriteString("  " + row[0] + strings.Repeat(" ", widest-plain.Width(row[0])+2) + row[1] + "\n")
	}
	out.WriteString("\nTab completes, the arrow keys bring lines back, and Ctrl-C ends a line.\n")
	return a.Print(plain.Help(out.String(), a.helpWidth()))
}

// helpWidth is how many columns the lines of help may have. If the width of the terminal is not
// known, the help goes into a pager or a file, and has 80.
func (a *app) helpWidth() int { return cmp.Or(a.Width, 80) }

// forLines changes the commands for the lines of a shell, which name neither the program nor its
// server.
func forLines(root *cobra.Command) {
	root.Use = ""
	for _, cmd := range root.Commands() {
		for _, c := range append(cmd.Commands(), cmd) {
			use, _, _ := strings.Cut(c.Use, " | ")
			c.Use = strings.NewReplacer("[SERVER [TOOL]]", "[TOOL]", " SERVER", "").Replace(use)
		}
	}
}

// lineFlags are the flags of every command that a line may have. The others are about the connection.
var lineFlags = []string{"json", "output", "quiet", "save", "timeout"}

// wholeShell returns an error if a line has a flag that holds for the whole shell.
func wholeShell(cmd *cobra.Command) (err error) {
	own := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) == nil && !slices.Contains(lineFlags, f.Name) {
			err = exit.Usage(fmt.Errorf("--%s is for the whole shell, and not for a line", f.Name), "write it behind `wharf shell`")
		}
	})
	return err
}

// lineHelp is the help of a command in a shell: without the flags of the whole program, which
// the shell was started with.
func lineHelp(cmd *cobra.Command) string {
	text := cmp.Or(cmd.Long, cmd.Short+".")
	text += "\n\nUsage:\n"
	if !cmd.HasSubCommands() {
		text += lineUsage(cmd)
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			text += lineUsage(c)
		}
	}
	if flags := cmd.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		text += "\nFlags:\n" + flags.FlagUsages()
	}
	last := len(lineFlags) - 1
	return text + "\nEach line also takes --" + strings.Join(lineFlags[:last], ", --") + " and --" + lineFlags[last] + ".\n"
}

// lineUsage is how a command is written in a line.
func lineUsage(cmd *cobra.Command) string {
	return "  " + strings.TrimSpace(cmd.Parent().CommandPath()+" "+cmd.Use) + "\n"
}
