package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/pluginbuild"
)

const pluginBuildLong = `Build the plugin in a folder, written in Go: the module is written as NAME.wasm,
NAME being that of the folder, beside its source.

The build is reproducible: the same source gives the same file on every machine, so
anybody can check what they were given. For that it is made with ` + pluginbuild.Toolchain + `, which the go
command fetches where it is another one; --toolchain local takes the one that is here,
and gives other bytes. The data segments that Go writes are joined, which halves the
time and the memory that a plugin takes to start.

Plugins in other languages are built by the script in their folder, which this
command does not run.`

func newPluginBuild(a *app) *cobra.Command {
	var o pluginbuild.Options
	cmd := &cobra.Command{
		Use: "build [FOLDER]", Short: "Build a plugin that is written in Go, the same on every machine", Long: pluginBuildLong,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usage(fmt.Errorf("unexpected argument %q", args[1]), "one folder is built at a time")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(formats, o.File) {
				return exit.Usage(fmt.Errorf("-o %s: -o is the file of the module here, and a format elsewhere", o.File), "write ./%s for a file of that name; --json prints JSON", o.File)
			}
			o.Dir = strings.Join(args, "")
			return a.runPluginBuild(cmd, o)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.File, "output", "o", "", "write the module to this `FILE`")
	f.StringVar(&o.Toolchain, "toolchain", "", "build with this Go, as `GOTOOLCHAIN` has it (default: "+pluginbuild.Toolchain+")")
	return cmd
}

// built is how the JSON output shows a module that was built.
type built struct {
	File     string `json:"file"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
	Go       string `json:"go"`       // the toolchain that built it
	Segments int    `json:"segments"` // of data, after joining
	Joined   int    `json:"joined"`   // segments before joining
}

func (a *app) runPluginBuild(cmd *cobra.Command, o pluginbuild.Options) error {
	done := a.Busy("building")
	m, err := pluginbuild.Build(cmd.Context(), o)
	done()
	if err != nil {
		return a.explainBuild(o, err)
	}
	if !a.forPeople() {
		return a.PrintJSON(built{File: m.File, Size: m.Size, SHA256: m.SHA256, Go: m.Go, Segments: m.Segments, Joined: m.Joined})
	}
	return a.printLaidOut(fmt.Sprintf("%s\n  size    %d bytes, of %s\n  sha256  %s\n", plain.Line(m.File), m.Size, m.Go, m.SHA256))
}

// explainBuild adds a hint to an error. It prints the compiler's output first.
func (a *app) explainBuild(o pluginbuild.Options, err error) error {
	var compile *pluginbuild.CompileError
	switch {
	case errors.As(err, &compile):
		output := cleantext.Text(compile.Output) // for editors, which look for places in it
		if a.ErrTTY {
			output = a.Quote(compile.Output, term.Excerpt{}, "")
		}
		fmt.Fprint(a.Err, output)
		return exit.Usage(err, "")
	case errors.As(err, new(*pluginbuild.ToolchainError)):
		return exit.Usage(err, "--toolchain local builds with the Go of this machine; another Go may make another file")
	case errors.Is(err, pluginbuild.ErrNoGo):
		return exit.Usage(err, "%s", buildScript(o.Dir))
	case errors.As(err, new(*fs.PathError)):
		return exit.Usage(err, "")
	}
	return err
}

// buildScript is the hint for a folder without Go: its own script, if it has one.
func buildScript(dir string) string {
	script := filepath.Join(dir, "build")
	if info, err := os.Stat(script); err != nil || info.IsDir() {
		return "expected the folder of a plugin, such as `wharf plugin new` writes"
	}
	if !filepath.IsAbs(script) {
		script = "./" + filepath.ToSlash(script)
	}
	return "a plugin in another language is built by its own script: " + script
}
