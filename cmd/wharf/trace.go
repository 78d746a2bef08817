package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/host/trace"
)

func newTrace(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Read what --trace has written",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(newTraceShow(a))
	return cmd
}

func newTraceShow(a *app) *cobra.Command {
	var show traceShow
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show a trace as the sequence of its messages",
		Long: `Show a trace as the sequence of its messages: when, with which connection of which
server, or of "client" for a client of a gateway, which way, and for an answer, what it
answers and how long it took. Messages are cut to the width of the terminal; --full
shows all that the file has of them. With --json the lines are printed as they are in
the file.

A trace that gets long is in two files: at 128 MiB FILE is put aside as FILE.1, in
the place of what was put aside before, and another FILE goes on. Each is shown by
itself, and says at its end or its beginning where the other is.

A line that does not belong to a trace is reported and skipped.`,
		Example: `  wharf --trace today.ndjson call demo echo message=hello
  wharf trace show today.ndjson
  wharf trace show today.ndjson --method 'tools/*' --full`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			show.app = a
			return show.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().StringVar(&show.server, "server", "", "only what concerns the server `NAME`")
	cmd.Flags().StringVar(&show.method, "method", "", "only messages whose method, or that of their request, fits `PATTERN`; * is anything")
	cmd.Flags().BoolVar(&show.full, "full", false, "messages in full, below their arrows")
	return cmd
}

// traceShow shows a trace.
type traceShow struct {
	app            *app
	server, method string
	full           bool

	pattern *regexp.Regexp // of method; nil is all
	servers []string       // that it is about, up to maxNamed
	lines   int            // that were read
	damaged int
	ended   bool // the last line is where a trace ends
}

// maxNamed is how many servers of a trace are told.
const maxNamed = 100

// maxReported is how many damaged lines are reported; the others are counted.
const maxReported = 10

func (s *traceShow) run(ctx context.Context, path string) error {
	if s.method != "" {
		s.pattern = glob(s.method)
	}
	file, err := files.Open(ctx, path)
	if err != nil {
		return exit.Usage(err, "name a file that was written with --trace")
	}
	defer file.Close()
	if err := s.read(ctx, file, path); err != nil {
		return err
	}
	if s.lines == 0 {
		return exit.Usage(fmt.Errorf("%s is not a trace", path), "name a file that was written with --trace")
	}
	if s.server != "" && !slices.Contains(s.servers, s.server) {
		return exit.Usage(fmt.Errorf("%s has nothing of a server %q", path, s.server), "it has %s", cmp.Or(strings.Join(s.servers, ", "), "nothing of any server"))
	}
	if s.damaged > maxReported {
		s.app.Warn("%s: %d more lines were skipped", path, s.damaged-maxReported)
	}
	if !s.ended {
		s.app.Warn("%s has no end: it is still written, or its program was killed", path)
	}
	return nil
}

// read shows one line after the other.
func (s *traceShow) read(ctx context.Context, file io.Reader, path string) error {
	d := diagram{terminal: s.app.Terminal, full: s.full}
	var bad []*trace.LineError // before the first line that is one of a trace
	var held []func() error    // show the start line, before the first line of the server
	for l, err := range trace.Read(file) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if wrong := (*trace.LineError)(nil); errors.As(err, &wrong) {
			if s.damaged++; s.damaged <= maxReported {
				bad = append(bad, wrong)
			}
		} else if err != nil {
			return err
		} else {
			s.lines++
		}
		for s.lines > 0 && len(bad) > 0 {
			s.app.Warn("%s:%d: %v; skipped", path, bad[0].Line, bad[0].Err)
			bad = bad[1:]
		}
		if err != nil {
			continue
		}
		s.ended = l.Kind == trace.End
		if l.Server != "" && !slices.Contains(s.servers, l.Server) && len(s.servers) < maxNamed {
			s.servers = append(s.servers, strings.Clone(l.Server))
		}
		if !s.wants(&l) {
			continue
		}
		show := s.prepare(&d, &l)
		if l.Kind == trace.Start && s.server != "" {
			held = []func() error{show}
			continue
		}
		for _, show := range append(held, show) {
			if err := show(); err != nil {
				return err
			}
		}
		held = nil
	}
	for _, show := range held {
		if slices.Contains(s.servers, s.server) {
			return show()
		}
	}
	return nil
}

// prepare returns a function that shows a line, also after the line has been read over.
func (s *traceShow) prepare(d *diagram, l *trace.Line) (show func() error) {
	if s.app.flags.json {
		s.app.OneLine = true // a line each, as in the file
		raw := bytes.Clone(l.Raw)
		return func() error { return s.app.PrintRaw(raw) }
	}
	text := d.draw(l)
	return func() error { return s.app.printLaidOut(text) }
}

// wants reports whether a line is selected. The start line always is, so that the
// selected lines as JSON are a trace again.
func (s *traceShow) wants(l *trace.Line) bool {
	switch {
	case l.Kind == trace.Start:
		return true
	case s.server != "" && l.Server != s.server:
		return false
	}
	return s.pattern == nil || l.IsMessage() && s.pattern.MatchString(l.Method)
}

// glob makes a pattern of text in which * stands for anything.
func glob(text string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `.*`) + `$`)
}
