package main

import (
	"github.com/spf13/cobra"
)

const trustLong = `Decide about the servers that came with a project.

A project may bring servers: in wharf.toml, .mcp.json, .vscode/mcp.json,
.cursor/mcp.json, .github/mcp.json, or where Roo Code, Gemini CLI, Qwen Code, Codex,
Zed, Amp, opencode, Crush, Kiro, JetBrains, Amazon Q, Continue, mcporter and mcphub.nvim
keep those of a project, in the working folder and in those above it up to where the
repository begins. They are listed, and never started or reached before you have approved of
them. On a terminal you are asked when you use one.

An approval is for what you were shown, and ends when anything of it changes: the
command, an argument, the url, the names of variables, or the scripts of the
project that the command names. It is kept in your own configuration folder, for the
folder of the project alone.

The hash that you are shown covers the entry as the project has it, and those scripts.
Each clone of the project has the same hash, wherever its programs are installed, so
--trust-hash takes the hash that a colleague was shown. It refuses a server that has
another hash, even an approved one.

The list looks at no file of a project for servers that you have not decided about,
and at few of them for the others; it says which servers were not looked at.`

func newTrust(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Decide about the servers that came with a project",
		Long:  trustLong,
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(
		a.trustCommand("list", "List what you decided, and what waits for it", nil, a.runTrustList),
		a.trustCommand("show SERVER|FILE", "Show all that an approval of servers of this project is for", []string{"SERVER"}, a.runTrustShow),
		a.trustCommand("approve SERVER|FILE", "Show servers of this project, and ask whether they may be used",
			[]string{"SERVER"}, a.runTrustApprove),
		a.trustCommand("deny SERVER|FILE", "Never be asked about servers of this project, as they are",
			[]string{"SERVER"}, a.runTrustDeny),
		a.trustCommand("revoke SERVER|FILE|FOLDER", "Forget what you decided", []string{"SERVER"}, a.runTrustRevoke),
	)
	return cmd
}
