package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/plugins"
)

func newPluginReplay(a *app) *cobra.Command {
	var o replay.Options
	cmd := &cobra.Command{
		Use:   "replay FILE PLUGIN.wasm|NAME",
		Short: "Run a recording with a plugin, and show where it does something else",
		Long: `Run the connections of a recording once more, with the plugin of a file as their
transport and without any server. Events, the results of host calls, the clock and
the randomness come from the recording; the host calls that the plugin makes are
compared with it. The first difference is shown with what led to it, and the others
are counted.

How the plugin looks at what comes is its own affair, and so is what it logs:
--reads and --logs compare that too. The exit code is 0 when it does the same, 5
when it does not, 2 for a recording that cannot be run and 6 for a plugin that
cannot.`,
		Example: `  wharf --record session.ndjson call demo echo message=hello
  wharf plugin replay session.ndjson my-stdio.wasm`,
		Args: exactly("FILE", "PLUGIN.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPluginReplay(cmd, args[0], args[1], o)
		},
	}
	cmd.Flags().BoolVar(&o.Logs, "logs", false, "compare what the plugin logs, too")
	cmd.Flags().BoolVar(&o.Reads, "reads", false, "compare how the plugin reads what comes (take and scan), too")
	return cmd
}

func (a *app) runPluginReplay(cmd *cobra.Command, path, plugin string, o replay.Options) error {
	recording, err := files.Open(cmd.Context(), path)
	if err != nil {
		return exit.Usage(err, "name a file that was written with --record")
	}
	defer recording.Close()
	binary, err := moduleOf(cmd.Context(), plugin)
	if err != nil {
		return unfound(plugin, err)
	}
	// Without a cache the plugin is compiled each time: slower, not wrong.
	o.CacheDir, _ = host.DefaultCacheDir()
	o.Worker = worker()
	report, err := replay.Run(cmd.Context(), recording, binary, o)
	switch {
	case errors.As(err, new(*replay.FileError)), errors.As(err, new(*fs.PathError)):
		return exit.Usage(fmt.Errorf("%s: %w", path, err), "expected what --record has written for a plugin of that name")
	case errors.Is(err, host.ErrPluginRefused):
		return &refusedError{err}
	case err != nil:
		return err
	}
	if err := a.printReplay(report); err != nil {
		return err
	}
	if !report.Same {
		return &differentError{path, plugin}
	}
	return nil
}

// moduleOf returns the module of a plugin that is part of wharf, that is installed, or that is a file.
func moduleOf(ctx context.Context, word string) ([]byte, error) {
	if shipped := plugins.Builtin()[word]; shipped != nil {
		return shipped(), nil
	}
	return files.Read(ctx, moduleFile(word), pluginstore.MaxSize)
}

// refusedError is a refused plugin that the user named on the command line, so the
// hint about the configuration does not apply.
type refusedError struct{ err error }

func (e *refusedError) Error() string        { return e.err.Error() }
func (e *refusedError) Unwrap() error        { return e.err }
func (e *refusedError) Is(target error) bool { return target == host.ErrDenied }

// differentError is a plugin that behaves differently from the recording.
type differentError struct{ recording, plugin string }

func (e *differentError) Error() string {
	return fmt.Sprintf("%s does something else than what is recorded in %s", e.plugin, e.recording)
}

// ExitKind implements [exit.Kinder].
func (e *differentError) ExitKind() exit.Kind {
	return exit.Kind{Code: exit.CodeServer, Name: "different"}
}

func (a *app) printReplay(r *replay.Report) error {
	if !a.forPeople() {
		return a.PrintJSON(r)
	}
	var out strings.Builder
	build, others := "another build", ""
	if r.SameFile {
		build = "the file that was recorded"
	}
	if r.Others > 0 {
		others = fmt.Sprintf(", and %d of other plugins", r.Others)
	}
	fmt.Fprintf(&out, "plugin       %s (%s)\n", plain.Line(r.Plugin), build)
	fmt.Fprintf(&out, "connections  %d%s\n", r.Connections, others)
	fmt.Fprintf(&out, "compared     %d events, %d host calls\n", r.Events, r.Calls)
	if r.Skipped > 0 {
		fmt.Fprintf(&out, "not run      %d events, for which the plugin was gone\n", r.Skipped)
	}
	if r.Incomplete {
		out.WriteString("             the recording lacks its end, or a part of it\n")
	}
	if r.Same {
		out.WriteString("\nIt does the same.\n")
		return a.printLaidOut(out.String())
	}
	writeFirst(&out, r.First)
	out.WriteString("\nIn all:\n")
	for _, d := range r.Differences {
		fmt.Fprintf(&out, "%7d  %-8s %s\n", d.Count, d.Kind, plain.Line(d.What))
	}
	return a.printLaidOut(out.String())
}

// writeFirst writes a difference in the lines of a call trace.
func writeFirst(out *strings.Builder, d *replay.Difference) {
	fmt.Fprintf(out, "\nThe first difference (%s), in event %d of connection %d with %s:\n\n", d.Kind, d.Event, d.Connection, plain.Line(d.Server))
	write := func(mark, text string) {
		for part := range strings.Lines(text) {
			out.WriteString(mark + cleantext.Text(strings.TrimRight(part, "\n")) + "\n")
		}
	}
	for _, before := range d.Before {
		write("  ", before)
	}
	write("- ", d.Want)
	write("+ ", d.Got)
}
