package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/sdk/template"
)

const pluginNewLong = `Begin a plugin of your own: write a folder that builds, passes the tests of
` + "`wharf plugin test`" + ` as it is, and says in its README.md what to change first.

The folder may be there if it is empty. With . it is the one that you are in, and the
plugin has its name.

A transport begins as MCP in lines of JSON over a byte stream, with its framing in
one place. An auth provider begins as an API key that is asked for once, kept in the
vault, and put into a header or ahead of a stream. A policy, which decides on calls,
begins as one that asks about tools that may destroy something; it is in Go or C.

A plugin in Go requires this version of Wharf. Where wharf is a development build, the
plugin is built with the source that wharf was built from, or the one that --replace
names. In the other languages the contract is a file in the folder, and nothing is
required but the compiler.`

func newPluginNew(a *app) *cobra.Command {
	p := template.Plugin{}
	replace := ""
	cmd := &cobra.Command{
		Use: "new NAME|.", Short: "Begin a plugin of your own: a folder that builds and passes the tests", Long: pluginNewLong,
		Args: exactly("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			p.Name = args[0]
			dir := p.Name
			if dir == "." {
				here, err := os.Getwd()
				if err != nil {
					return err
				}
				p.Name = filepath.Base(here)
			}
			return a.runPluginNew(p, dir, replace)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	kinds, langs := template.Kinds(), template.Languages()
	f := cmd.Flags()
	f.StringVar(&p.Kind, "kind", kinds[0], "what it is: "+strings.Join(kinds, ", "))
	f.StringVar(&p.Lang, "lang", langs[0], "the `LANGUAGE` that it is written in: "+strings.Join(langs, ", "))
	f.StringVar(&replace, "replace", "", "build a plugin in Go with the source of Wharf in this `FOLDER`")
	cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(langs, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagDirname("replace")
	return cmd
}

// runPluginNew writes a plugin into a folder, which is "." or has the name of the plugin.
func (a *app) runPluginNew(p template.Plugin, dir, replace string) error {
	if _, ours := plugins.Builtin()[p.Name]; ours {
		return exit.Usage(fmt.Errorf("plugin %q: that is the name of a plugin that is part of wharf", p.Name), "give it another one")
	}
	if p.Lang == template.Go {
		m, err := wharfModule(replace)
		if err != nil {
			return err
		}
		p.Module = m
	} else if replace != "" {
		return exit.Usage(errors.New("--replace is for plugins in Go"), "what a plugin in %s needs of Wharf lies in its folder", p.Lang)
	}
	files, err := p.Files()
	if err != nil {
		return exit.Usage(err, "")
	}
	if err := writeFolder(dir, files); err != nil {
		return err
	}
	return a.printCreated(p, dir, files)
}

// writeFolder creates a folder, or takes an empty one, and writes files into it. It
// never changes a file that exists, and leaves none behind if it fails.
func writeFolder(dir string, files []template.File) (err error) {
	err = os.Mkdir(dir, 0o777)
	made := err == nil
	switch {
	case dir == "." && !isEmptyFolder(dir):
		return exit.Usage(errors.New("this folder is not empty, and is left as it is"), "write the name of a plugin to begin it in a folder of its own")
	case errors.Is(err, fs.ErrExist) && !isEmptyFolder(dir):
		return exit.Usage(fmt.Errorf("%s is there already, and is left as it is", dir), "give the plugin another name, or run this elsewhere")
	case err != nil && !errors.Is(err, fs.ErrExist):
		return exit.Usage(err, "")
	}
	var written []string
	defer func() {
		if err == nil {
			return
		}
		for _, path := range written {
			os.Remove(path)
		}
		if made {
			os.Remove(dir)
		}
	}()
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err = writeNew(path, f); !errors.Is(err, fs.ErrExist) { // else the file is not ours
			written = append(written, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isEmptyFolder reports whether a path is an empty folder, and not a link to one.
func isEmptyFolder(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	within, err := os.ReadDir(path)
	return err == nil && len(within) == 0
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, file template.File) error {
	mode := fs.FileMode(0o666)
	if file.Program {
		mode = 0o777
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(file.Text)
	return errors.Join(err, f.Close())
}

// created is how the JSON output shows the folder of a plugin that was written.
type created struct {
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Lang  string   `json:"lang"`
	Files []string `json:"files"`
	Next  []string `json:"next"` // the commands to type
}

// printCreated says what was written, and the commands to type next.
func (a *app) printCreated(p template.Plugin, dir string, files []template.File) error {
	build := p.Build()
	if p.Lang == template.AssemblyScript {
		build = "npm install && " + build
	}
	next := []string{build, p.Test()}
	if dir != "." {
		next = append([]string{"cd " + dir}, next...)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if !a.forPeople() {
		return a.PrintJSON(created{p.Name, p.Kind, p.Lang, names, next})
	}
	return a.printLaidOut(fmt.Sprintf("%s/ has %s\n\nNext:\n\n  %s\n\nREADME.md says what to change first.\n",
		dir, strings.Join(names, ", "), strings.Join(next, "\n  ")))
}

// wharfPath is the module that plugins in Go require.
const wharfPath = "github.com/wharf-mcp/wharf"

// wharfModule is the module that a plugin in Go requires: the version of this program,
// if it is a release; else the source in the folder replace, or the source that this
// program was built from.
func wharfModule(replace string) (template.Module, error) {
	built := builtFrom()
	if replace == "" && built.Sum != "" {
		return template.Module{Version: built.Version}, nil
	}
	where, hint := "--replace "+replace, "expected a checkout of "+wharfPath
	if replace == "" {
		_, file, _, _ := runtime.Caller(0)
		replace = filepath.Join(filepath.Dir(file), "..", "..")
		where = "this wharf is a development build, and its source"
		hint = "name a checkout with --replace FOLDER, or run `go install " + wharfPath + "/cmd/wharf@latest`"
	}
	dir, err := filepath.Abs(replace)
	if err != nil {
		return template.Module{}, err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module "+wharfPath+"\n") {
		return template.Module{}, exit.Usage(fmt.Errorf("%s: %s is not there", where, filepath.Join(dir, "go.mod")), "%s", hint)
	}
	return template.Module{Version: "v0.0.0", Dir: filepath.ToSlash(dir)}, nil
}

// builtFrom is the Wharf module that this program was built from. It has a sum if it is
// a release, also where wharf is a tool of another module.
func builtFrom() debug.Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return debug.Module{}
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == wharfPath && m.Replace == nil {
			return *m
		}
	}
	return debug.Module{}
}
