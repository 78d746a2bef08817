package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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

	broken  int    // lines
	day     string // of the line that was shown last
	columns [3]int // of the client, the server and the result
}

func newAudit(a *app) *cobra.Command {
	show := auditShow{app: a}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who called what, and how it ended",
		Long: `Show who called what, and how it ended: the lines of the audit log, which the table [audit]
of the configuration turns on. There is one for each call of a tool, prompt, resource,
completion or task, and for each of them that was denied; lists and pings have none. The
log is at most two files, of which the older has .1 behind its name; both are shown, in the
order in which the calls began. With --follow it is that in which they ended.

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

// run prints the lines of the log that fit, the oldest call first. The log has them in the order in which they ended,
// and so has a log that is followed.
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
	var rows []auditRow
	var last os.FileInfo
	var end int64
	for _, name := range []string{path + ".1", path} {
		more, info, n, err := s.read(name, 0)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
		if last = nil; info != nil {
			last, end = info, n
		}
	}
	if !s.follow {
		slices.SortStableFunc(rows, func(a, b auditRow) int { return a.at.Compare(b.at) })
	}
	s.fit(rows)
	if err = s.printHead(); err == nil {
		err = s.print(rows)
	}
	if s.follow && err == nil {
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
				if _, _, err := s.next(path+".1", end); err != nil {
					return err
				}
			}
			end = 0
		}
		if last, end, err = s.next(path, end); err != nil {
			return err
		}
	}
}

// next prints the lines of a file behind an offset that fit, and returns what read does.
func (s *auditShow) next(path string, from int64) (info os.FileInfo, end int64, err error) {
	rows, info, end, err := s.read(path, from)
	return info, end, cmp.Or(err, s.print(rows))
}

// read reads the lines of a file behind an offset that fit, and returns the offset behind the last whole line.
// info is nil if there is no such file.
func (s *auditShow) read(path string, from int64) (rows []auditRow, info os.FileInfo, end int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, 0, nil
	}
	if err != nil {
		return nil, nil, 0, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, 0, err
	}
	if end, err = wholeLines(f, from, info.Size()); err != nil {
		return nil, info, from, err
	}
	for line, err := range audit.Read(io.NewSectionReader(f, from, end-from)) {
		switch {
		case errors.Is(err, audit.ErrBroken):
			s.broken++
		case err != nil:
			return rows, info, end, err
		case s.wants(&line.Record):
			rows = append(rows, s.row(&line))
		}
	}
	return rows, info, end, nil
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

// auditRow is what is kept of a line until it is printed: there may be a million.
type auditRow struct {
	at    time.Time
	text  string    // as it is in the log; or for people what is below the line
	cells [5]string // for people: the client, the server, the result, the time and the call; none for missing lines
}

func (s *auditShow) row(line *audit.Line) auditRow {
	r := auditRow{at: line.At}
	if !s.app.forPeople() {
		r.text = string(line.Raw) + "\n"
		return r
	}
	if line.Missing > 0 {
		r.text = fmt.Sprintf("%d lines are missing, which could not be written\n", line.Missing)
		return r
	}
	what := line.Method
	if line.Name != "" {
		what += " " + line.Name
	}
	r.cells = [...]string{
		plain.Line(cmp.Or(line.Caller.Principal, line.Caller.Name, string(line.Caller.Kind))), plain.Line(line.Server),
		auditResult(&line.Record), fmt.Sprintf("%.1f", float64(line.Took.Microseconds())/1000), plain.Line(what),
	}
	if !line.Allowed && line.Rule != "" {
		r.text = "          by " + plain.Line(line.Rule) + "\n"
	}
	switch line.Person {
	case "":
	case "none":
		r.text += "          a person was asked, and did not answer\n"
	default:
		r.text += "          a person was asked, and said " + plain.Line(line.Person) + "\n"
	}
	return r
}

// Columns of a line for people, of which no text is cut.
const (
	auditWidth    = 80
	auditCall     = 22 // are left for the call
	auditRest     = len("15:04:05  " + "  " + "  " + "  " + "1234567" + "  ")
	auditShortest = len("CLIENT") // is as long as SERVER and RESULT
)

// fit has the columns be as wide as rows need them, and no wider than leaves room for the calls: a longer text moves
// what is behind it. Of what is followed they have the usual width at least, for the rows to come.
func (s *auditShow) fit(rows []auditRow) {
	s.columns = [...]int{auditShortest, auditShortest, auditShortest}
	if s.follow {
		s.columns = [...]int{len("claude-code"), 10, len("tool failed")}
	}
	call := len("CALL")
	for i := range rows {
		for n := range s.columns {
			s.columns[n] = max(s.columns[n], plain.Width(rows[i].cells[n]))
		}
		call = max(call, plain.Width(rows[i].cells[4]))
	}
	for left := auditWidth - auditRest - min(call, auditCall); s.columns[0]+s.columns[1]+s.columns[2] > left; {
		widest := 0
		if s.columns[1] > s.columns[0] {
			widest = 1
		}
		s.columns[widest]--
	}
}

func (s *auditShow) printHead() error {
	if !s.app.forPeople() {
		return nil
	}
	return s.app.printLaidOut(s.line("TIME", [...]string{"CLIENT", "SERVER", "RESULT", "MS", "CALL"}))
}

func (s *auditShow) line(at string, cells [5]string) string {
	line := fmt.Sprintf("%-8s  ", at)
	for n, columns := range s.columns {
		line += cells[n] + strings.Repeat(" ", max(0, columns-plain.Width(cells[n]))) + "  "
	}
	return line + fmt.Sprintf("%7s  %s\n", cells[3], cells[4])
}

func (s *auditShow) print(rows []auditRow) error {
	for i := range rows {
		show, text := s.app.Print, rows[i].text
		if s.app.forPeople() {
			show, text = s.app.printLaidOut, s.shown(&rows[i])
		}
		if err := show(text); err != nil {
			return err
		}
	}
	return nil
}

// shown returns a row for people, below its day where that is another than the one before.
func (s *auditShow) shown(r *auditRow) (text string) {
	day, at, _ := strings.Cut(r.at.Local().Format(time.DateTime), " ")
	if day != s.day {
		s.day, text = day, day+"\n"
	}
	if r.cells == ([5]string{}) {
		return text + at + "  " + r.text
	}
	return text + s.line(at, r.cells) + r.text
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
