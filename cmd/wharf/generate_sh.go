package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newGenerateSh(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "sh SERVER | -- COMMAND…", Aliases: []string{"shell", "bash"}, Short: "Write a program for the shell",
		Long: `Write a program for the shell that calls the tools of a server through wharf, which it
finds in PATH: PROGRAM TOOL key=value. Without a tool it lists them, and TOOL --help shows
one. Flags of wharf go behind the tool.

It names the server as you do here, with the whole path of its program, and the file of
--config. It holds no values of variables, and no headers: what -e names is taken from the
environment that it runs in. It is written to stdout, or with --out to a file, which may be
run.`,
		Example: `  wharf generate sh demo --out demo
  wharf generate sh --out everything -- npx -y @modelcontextprotocol/server-everything`,
		RunE: a.withServer(atMost(0), func(ctx context.Context, c *client, _ []string) error {
			tools, err := c.tools(ctx)
			if err != nil {
				return err
			}
			program, err := c.program(tools)
			if err != nil {
				return err
			}
			for _, lack := range c.lacks() {
				a.Warn("%s", lack)
			}
			return c.write(ctx, out, program, 0o777, len(tools))
		}),
		ValidArgsFunction: a.completeServers,
	}
	cmd.Flags().StringVar(&out, "out", "", "write the program to this `FILE`")
	return cmd
}

// program returns a script for a POSIX shell. It quotes everything that the server says, and
// runs only what the user typed.
func (c *client) program(tools []mcp.Tool) ([]byte, error) {
	var list strings.Builder
	for _, tool := range tools {
		about, _, _ := strings.Cut(cmp.Or(tool.Description, tool.Title), "\n")
		list.WriteString(" \\\n\t\t'  '" + quoted(tool.Name+" "+signature(tool)))
		if about = plain.Line(about); about != "" {
			list.WriteString(" \\\n\t\t'      '" + quoted(about))
		}
	}
	server, behind := quoted(c.app.serverWord())+" ", ""
	if c.app.adHoc {
		server, behind = "", " --"
		for _, word := range c.anywhere() {
			behind += " " + inQuotes(word)
		}
		for _, name := range slices.Sorted(maps.Keys(c.entry.Env)) {
			server += "-e " + inQuotes(name) + " "
		}
	}
	if file := c.app.flags.config; file != "" {
		path, err := filepath.Abs(file) // the program may run in any folder
		if err != nil {
			return nil, err
		}
		server = "--config " + inQuotes(path) + " " + server
	}
	return fmt.Appendf(nil, shellProgram, list.String(), server, behind), nil
}

// anywhere returns the command line of the server for use in any folder. It has the whole paths
// of its program, of the script that the program runs, and of arguments that begin as a path of
// this folder.
func (c *client) anywhere() []string {
	argv := append([]string{c.entry.Command}, c.entry.Args...)
	script := 1 + c.entry.Script()
	for i, word := range argv {
		isPath := i == 0 && filepath.Base(word) != word || i > 0 && (i == script || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../"))
		if path, err := filepath.Abs(word); isPath && isThere(word) && err == nil {
			argv[i] = path
		}
	}
	return argv
}

// lacks lists the features that a generated program does not have, or only in this folder.
func (c *client) lacks() (said []string) {
	name, script := plain.Name(c.entry.Name, plain.NameColumns), c.entry.Script()
	tell := func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }
	switch {
	case c.app.adHoc:
		if names := slices.Sorted(maps.Keys(c.entry.Env)); len(names) > 0 {
			tell("the program holds no values of variables: it takes %s from the environment that it runs in", strings.Join(names, ", "))
		}
		for _, word := range c.anywhere()[1:] {
			if !filepath.IsAbs(word) && isThere(word) {
				tell("%s is looked for in the folder that the program runs in; write its whole path, unless that is meant", plain.Word(word))
			}
			if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(word, "-") && config.SecretFlag(name) {
				tell("the value of %s looks like a secret, and is in the program as it is", plain.Word(name))
			}
		}
	case c.app.address != "" && len(c.app.flags.headers) > 0:
		tell("the program holds no headers: `wharf add` writes an entry that has them, and `wharf generate sh NAME` goes by that")
	case c.entry.Project != nil:
		tell("%s is a server of the project in %s: the program finds it only there", name, c.entry.Project.Folder)
	case script >= 0:
		tell("%s of the entry of %s is looked for in the folder that the program runs in; write its whole path there", plain.Word(c.entry.Args[script]), name)
	}
	return said
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// shellProgram is the script without the list of its tools, its server, and the text behind its
// arguments.
const shellProgram = `#!/bin/sh
# Code generated by "wharf generate sh"; DO NOT EDIT.

case ${1-} in
'' | -h | --help | help)
	printf '%%s\n' "usage: ${0##*/} TOOL [key=value...]" ''%s
	exit 0 ;;
esac
exec wharf call %s"$@"%s
`

// quoted returns a text in the quotes of a shell, on one line, with escapes for what is
// invisible.
func quoted(text string) string { return inQuotes(plain.Line(text)) }

// inQuotes returns a text in the quotes of a shell, otherwise unchanged.
func inQuotes(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
