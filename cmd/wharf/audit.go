package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/audit"
)

// auditShow shows an audit log.
type auditShow struct {
	app            *app
	server, client string
	errors, follow bool
	since          sinceFlag

	broken int    // lines
	day    string // of the line that was shown last
}

func newAudit(a *app) *cobra.Command {
	show := auditShow{app: a}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who called what, and how it ended",
		Long: `Show who called what, and how it ended: the lines of the audit log, which the table [audit]
of the configuration turns on. There is one for each call of a tool, prompt, resource,
completion or task, and for each of them that was denied; lists and pings have none. The
log is at most two files, of which the older has .1 behind its name; both are shown.

With --json the lines are printed as they are in the log: at, kind (the way to call),
client (what it calls itself), principal, peer, era (of the client), server, method, name,
ms, ok (there was a result), isError (it says that the tool failed), code (of the server's
error), sent (of a call that was allowed and has no answer: no, or maybe if the server may
have it), decision (allow or deny), rule, person (what a person who had to be asked said:
yes or no, or none without an answer), trace (the traceparent of the request), argsBytes
and argsSha256, and args where they are kept. What says nothing is absent.`,
		Example: "  wharf audit --since 1h --errors\n  wharf audit --client claude --follow",
		Args:    exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return show.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&show.server, "server", "", "only calls to the server `NAME`")
	cmd.RegisterFlagCompletionFunc("server", a.completeName)
	cmd.Flags().StringVar(&show.client, "client", "", "only calls of the client or principal `NAME`")
	cmd.Flags().BoolVar(&show.errors, "errors", false, "only calls that were denied or failed")
	cmd.Flags().Var(&show.since, "since", "only calls of the last `DURATION`, or since a day such as 2026-07-28 or a time such as 2026-07-28T09:00:00Z")
	cmd.Flags().BoolVar(&show.follow, "follow", false, "wait for more, until interrupted")
	return cmd
}

// sinceFlag is the value of --since.
type sinceFlag struct{ at time.Time }

func (s *sinceFlag) Type() string   { return "" }
func (s *sinceFlag) String() string { return "" }

func (s *sinceFlag) Set(text string) error {
	if back, err := time.ParseDuration(text); err == nil && back >= 0 {
		s.at = time.Now().Add(-back)
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			s.at = at
			return nil
		}
	}
	return errors.New("expected a duration such as 1h, a day such as 2026-07-28, or a time such as 2026-07-28T09:00:00Z")
}

// run prints the lines of the log that fit, the oldest first.
func (s *auditShow) run(ctx context.Context) error {
	set, err := s.app.load()
	if err != nil {
		return err
	}
	if set.audit == nil {
		return exit.Usage(errors.New("no audit log is kept"), "write [audit] into your configuration, %s", plain.Line(set.place()))
	}
	if s.server != "" && !set.has(s.server) { // the log may have calls to one that was removed
		s.app.Warn("no entry has the name %s", plain.Word(s.server))
	}
	path := set.audit.File
	if err := s.printHead(); err != nil {
		return err
	}
	var last os.FileInfo
	var end int64
	for _, name := range []string{path + ".1", path} {
		info, n, err := s.print(name, 0)
		if err != nil {
			return err
		}
		if last = nil; info != nil {
			last, end = info, n
		}
	}
	if s.follow {
		err = s.followOn(ctx, path, last, end)
	}
	if s.broken > 0 {
		s.app.Warn("%d lines are not whole: a program was killed, or a disk was full, while it wrote them", s.broken)
	}
	return err
}

// followInterval is how often a log is looked at that is followed. It is not watched, because a log that is
// written all the time would never be left alone.
const followInterval = 250 * time.Millisecond

// followOn prints what is written behind offset end of the file last, until ctx ends.
func (s *auditShow) followOn(ctx context.Context, path string, last os.FileInfo, end int64) error {
	s.app.endless = true
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		now, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case last != nil && !os.SameFile(now, last): // it was renamed to make room for another
			if older, err := os.Stat(path + ".1"); err == nil && os.SameFile(older, last) {
				if _, _, err := s.print(path+".1", end); err != nil {
					return err
				}
			}
			end = 0
		}
		if last, end, err = s.print(path, end); err != nil {
			return err
		}
	}
}

// print prints the lines of a file behind an offset that fit, and returns the offset behind the last whole
// line. info is nil if there is no such file.
func (s *auditShow) print(path string, from int64) (info os.FileInfo, end int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, 0, err
	}
	if end, err = wholeLines(f, from, info.Size()); err != nil {
		return info, from, err
	}
	for line, err := range audit.Read(io.NewSectionReader(f, from, end-from)) {
		switch {
		case errors.Is(err, audit.ErrBroken):
			s.broken++
		case err != nil:
			return info, end, err
		case s.wants(&line.Record):
			if err := s.printLine(&line); err != nil {
				return info, end, err
			}
		}
	}
	return info, end, nil
}

// wholeLines returns the offset behind the last line break between two offsets of a file, or from if there
// is none.
func wholeLines(f io.ReaderAt, from, to int64) (int64, error) {
	chunk := make([]byte, 4<<10)
	for to > from {
		n := min(int64(len(chunk)), to-from)
		if _, err := f.ReadAt(chunk[:n], to-n); err != nil {
			return from, err
		}
		if at := strings.LastIndexByte(string(chunk[:n]), '\n'); at >= 0 {
			return to - n + int64(at) + 1, nil
		}
		to -= n
	}
	return from, nil
}

// wants reports whether a line is to be shown. Lines about missing lines always are.
func (s *auditShow) wants(r *audit.Record) bool {
	switch {
	case r.At.Before(s.since.at):
		return false
	case r.Missing > 0:
		return true
	case s.server != "" && r.Server != s.server, s.client != "" && r.Caller.Name != s.client && r.Caller.Principal != s.client:
		return false
	}
	return !s.errors || !r.OK || r.IsError
}

// columns of a line for people, of which no text is cut. The usual ones leave 26 of 80 for the call.
const auditColumns = "%-8s  %-10s  %-10s  %-11s  %7s  %s\n"

func (s *auditShow) printHead() error {
	if !s.app.forPeople() {
		return nil
	}
	return s.app.printLaidOut(fmt.Sprintf(auditColumns, "TIME", "CLIENT", "SERVER", "RESULT", "MS", "CALL"))
}

func (s *auditShow) printLine(line *audit.Line) error {
	if !s.app.forPeople() {
		return s.app.Print(string(line.Raw) + "\n")
	}
	day, at, _ := strings.Cut(line.At.Local().Format(time.DateTime), " ")
	text := ""
	if day != s.day {
		s.day, text = day, day+"\n"
	}
	if line.Missing > 0 {
		return s.app.printLaidOut(text + fmt.Sprintf("%-8s  %d lines are missing, which could not be written\n", at, line.Missing))
	}
	who := cmp.Or(line.Caller.Principal, line.Caller.Name, string(line.Caller.Kind))
	what := line.Method
	if line.Name != "" {
		what += " " + line.Name
	}
	text += fmt.Sprintf(auditColumns, at, plain.Line(who), plain.Line(line.Server),
		auditResult(&line.Record), fmt.Sprintf("%.1f", float64(line.Took.Microseconds())/1000), plain.Line(what))
	if !line.Allowed && line.Rule != "" {
		text += "          by " + plain.Line(line.Rule) + "\n"
	}
	switch line.Person {
	case "":
	case "none":
		text += "          a person was asked, and did not answer\n"
	default:
		text += "          a person was asked, and said " + plain.Line(line.Person) + "\n"
	}
	return s.app.printLaidOut(text)
}

// auditResult says how a call ended.
func auditResult(r *audit.Record) string {
	switch {
	case !r.Allowed:
		return "denied"
	case r.OK && r.IsError:
		return "tool failed"
	case r.OK:
		return "ok"
	case r.Code != 0:
		return fmt.Sprintf("error %d", r.Code)
	case r.Sent == "no":
		return "not sent"
	case r.Sent == "maybe":
		return "no answer"
	}
	return "failed"
}
