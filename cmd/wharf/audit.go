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

	hasClient bool // some line is of the client that is asked for

	broken  int    // lines
	day     string // of the line that was shown last
	widest  [5]int // of the texts of a row
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
	cmd.Flags().StringVar(&show.client, "client", "", "only calls of the client or principal `NAME`, as the column CLIENT shows it")
	cmd.RegisterFlagCompletionFunc("client", cobra.NoFileCompletions)
	cmd.Flags().BoolVar(&show.errors, "errors", false, "only calls that were denied or failed")
	cmd.Flags().Var(&show.since, "since", "only calls of the last `DURATION`, such as 1h or 2d, or since a day such as 2026-07-28 or a time such as 2026-07-28T09:00:00Z")
	cmd.Flags().BoolVar(&show.follow, "follow", false, "wait for more, until interrupted")
	return cmd
}

// run prints the lines of the log that fit, the oldest call first. The log has them in the order in which they ended,
// and so has a log that is followed.
func (s *auditShow) run(ctx context.Context) error {
	set, err := s.app.load()
	if err != nil {
		return err
	}
	if set.unread != nil {
		return exit.WithHint(exit.Configuration(fmt.Errorf("no configuration is read: %w", set.unread)), nameConfiguration)
	}
	if set.audit == nil {
		return exit.Usage(errors.New("no audit log is kept"), "write [audit] into your configuration, %s", plain.Line(set.place()))
	}
	if s.server != "" && !set.has(s.server) { // the log may have calls to one that was removed
		s.app.Warn("no entry has the name %s", plain.Word(s.server))
	}
	path := set.audit.File
	last, end, err := s.show(path)
	if s.client != "" && !s.hasClient && err == nil {
		s.app.Warn("no call in the log is of a client %s", plain.Word(s.client))
	}
	if s.follow && err == nil {
		err = s.followOn(ctx, path, last, end)
	}
	if s.broken > 0 {
		s.app.Warn("the log has %s that broke off: a program was killed, or a disk was full, in the middle", counted(s.broken, "line"))
	}
	return err
}

// show prints what the files of a log have, and returns the state and the end of the newer one, or nil and 0 if it is
// not there. It reads them twice, since only then the columns are known: two full logs are more than is kept in memory.
func (s *auditShow) show(path string) (last os.FileInfo, end int64, err error) {
	var logs []*auditLog
	var places []auditPlace
	for _, name := range []string{path + ".1", path} {
		l, err := openAuditLog(name, 0)
		if err != nil {
			return nil, 0, err
		}
		if last, end = nil, 0; l == nil {
			continue
		}
		defer l.Close()
		last, end = l.info, l.end
		err = s.read(l, 0, func(line *audit.Line) error {
			places = append(places, auditPlace{line.At.UnixMicro(), line.Offset, int32(len(line.Raw)), int32(len(logs))})
			s.measure(line)
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		logs = append(logs, l)
	}
	if !s.follow {
		slices.SortStableFunc(places, func(a, b auditPlace) int { return cmp.Compare(a.at, b.at) })
	}
	s.fit()
	if err := s.printHead(); err != nil {
		return nil, 0, err
	}
	for _, p := range places {
		line, err := logs[p.log].line(p)
		if err == nil {
			err = s.print(&line)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return last, end, nil
}

// auditPlace is where a line is that is to be shown. There may be a million.
type auditPlace struct {
	at     int64 // when its call began, in microseconds
	offset int64
	length int32
	log    int32 // in which it is
}

// auditLog is an open file of the log.
type auditLog struct {
	*os.File
	info os.FileInfo
	end  int64 // behind its last whole line

	chunk []byte // what was read last
	from  int64  // where that begins
}

// openAuditLog opens a file of the log, which is looked at behind an offset. It returns nil if there is no such file.
func openAuditLog(path string, from int64) (*auditLog, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &auditLog{File: f}
	if l.info, err = f.Stat(); err == nil {
		l.end, err = wholeLines(f, from, l.info.Size())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// line reads the line at a place again.
func (l *auditLog) line(p auditPlace) (audit.Line, error) {
	const ahead = 16 << 10 // lines are nearly in the order in which they are shown
	end := p.offset + int64(p.length)
	if p.offset < l.from || end > l.from+int64(len(l.chunk)) {
		n := int(max(int64(p.length), min(ahead, l.end-p.offset)))
		l.from, l.chunk = p.offset, slices.Grow(l.chunk[:0], n)[:n]
		if _, err := l.ReadAt(l.chunk, l.from); err != nil {
			return audit.Line{}, err
		}
	}
	return audit.ReadLine(l.chunk[p.offset-l.from : end-l.from])
}

// followInterval is how often a log is looked at that is followed. It is not watched, because a log that is
// written all the time would never be left alone.
const followInterval = 250 * time.Millisecond

// followOn prints what is written behind offset end of the file last, until ctx ends or the reader of stdout leaves.
func (s *auditShow) followOn(ctx context.Context, path string, last os.FileInfo, end int64) error {
	s.app.endless = true
	ctx, over := s.app.UntilUnread(ctx)
	defer over()
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

// next prints the lines of a file behind an offset that fit, and returns its state, and the offset behind the last
// whole line. info is nil if there is no such file.
func (s *auditShow) next(path string, from int64) (info os.FileInfo, end int64, err error) {
	l, err := openAuditLog(path, from)
	if l == nil {
		return nil, 0, err
	}
	defer l.Close()
	return l.info, l.end, s.read(l, from, s.print)
}

// read passes on the lines of a file behind an offset that fit.
func (s *auditShow) read(l *auditLog, from int64, take func(*audit.Line) error) error {
	for line, err := range audit.Read(io.NewSectionReader(l, from, l.end-from)) {
		switch {
		case errors.Is(err, audit.ErrBroken):
			s.broken++
			continue
		case err == nil && s.wants(&line.Record):
			err = take(&line)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// wants reports whether a line is to be shown. Lines about missing lines always are. It notes in hasClient whether the
// line is of the client.
func (s *auditShow) wants(r *audit.Record) bool {
	ofClient := s.client == "" || r.Caller.Name == s.client || clientOf(r) == s.client
	s.hasClient = s.hasClient || ofClient
	switch {
	case r.At.Before(s.since.at):
		return false
	case r.Missing > 0:
		return true
	case s.server != "" && r.Server != s.server, !ofClient:
		return false
	}
	return !s.errors || !r.OK || r.IsError
}

// clientOf returns what the column CLIENT says of a call.
func clientOf(r *audit.Record) string {
	return cmp.Or(r.Caller.Principal, r.Caller.Name, string(r.Caller.Kind))
}

// auditRow is a line as people are shown it.
type auditRow struct {
	at    time.Time
	text  string    // what is below the line
	cells [5]string // the client, the server, the result, the time and the call; none for missing lines
}

func (s *auditShow) row(line *audit.Line) auditRow {
	r := auditRow{at: line.At}
	if line.Missing > 0 {
		r.text = counted(line.Missing, "line") + " missing, which could not be written\n"
		return r
	}
	what := line.Method
	if line.Name != "" {
		what += " " + line.Name
	}
	r.cells = [...]string{
		plain.Line(clientOf(&line.Record)), plain.Line(line.Server),
		auditResult(&line.Record), fmt.Sprintf("%.1f", float64(line.Took.Microseconds())/1000), plain.Line(what),
	}
	if !line.Allowed && line.Rule != "" {
		r.text = "          by " + plain.Line(line.Rule) + "\n"
	}
	switch line.Person {
	case "":
	case "none":
		r.text += "          a person was to be asked, and none has answered\n"
	default:
		r.text += "          a person was asked, and said " + plain.Line(line.Person) + "\n"
	}
	return r
}

// Columns of a line for people, of which no text is cut.
const (
	auditWidth    = 79 // the last one stays free, see [term.Terminal.Columns]
	auditCall     = 22 // are left for the call
	auditRest     = len("15:04:05  " + "  " + "  " + "  " + "1234567" + "  ")
	auditShortest = len("CLIENT") // is as long as SERVER and RESULT
)

// measure notes how wide a line needs the columns.
func (s *auditShow) measure(line *audit.Line) {
	if !s.app.forPeople() {
		return
	}
	for n, cell := range s.row(line).cells {
		s.widest[n] = max(s.widest[n], plain.Width(cell))
	}
}

// fit has the columns be as wide as the lines need them, and no wider than leaves room for the calls: a longer text
// moves what is behind it. Of what is followed they have the usual width at least, for the lines to come.
func (s *auditShow) fit() {
	s.columns = [...]int{auditShortest, auditShortest, auditShortest}
	if s.follow {
		s.columns = [...]int{len("claude-code"), 10, len("tool failed")}
	}
	for n := range s.columns {
		s.columns[n] = max(s.columns[n], s.widest[n])
	}
	call := max(len("CALL"), s.widest[4])
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

func (s *auditShow) print(line *audit.Line) error {
	if !s.app.forPeople() {
		return s.app.Print(string(line.Raw) + "\n")
	}
	r := s.row(line)
	return s.app.printLaidOut(s.shown(&r))
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
	for line := range strings.Lines(s.line(at, r.cells) + r.text) {
		rows := plain.Wrap(strings.TrimSuffix(line, "\n"), s.app.Columns(), len("15:04:05  "))
		text += strings.Join(rows, "\n") + "\n"
	}
	return text
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
