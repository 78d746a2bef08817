package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/words"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/status"
)

// newShell returns the command that opens a shell. tree makes the commands of the program, which
// the lines of the shell use.
func newShell(a *app, tree func(*app) *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "shell SERVER | -- COMMAND…",
		Short: "Talk to a server line by line, over one connection",
		Long: `Connect to a server and keep it, so that it keeps its state from one line to the
next. A line is a tool with its arguments, or one of these commands, without the name
of the server: ` + strings.Join(lineCommands, ", ") + `. "exit" or Ctrl-D ends
the shell, Ctrl-C the line. Tab completes, and the arrow keys bring lines back.
Words are quoted as in sh; JSON, as in opts={"name": "a b"}, needs no quotes around it.

Without a terminal the lines are read from stdin, and the first that fails ends the
shell, with its exit code. A "#" begins a comment.

--json, --output, --quiet, --save and --timeout also go behind a line, and hold for
it; all other flags are about the connection, and go behind ` + "`wharf shell`" + `.`,
		Example:           "  wharf shell demo\n  printf 'echo message=a\\nadd a=1 b=2\\n' | wharf shell demo",
		Args:              cobra.ArbitraryArgs,
		RunE:              func(cmd *cobra.Command, words []string) error { return a.runShell(cmd, words, tree) },
		ValidArgsFunction: a.completeServers,
	}
}

// shell is a session with a person, or with a script.
type shell struct {
	app    *app
	client *client
	tree   func(*app) *cobra.Command
	known  candidates
	lines  *bufio.Scanner // of a script; nil = a person types
	past   term.History
	number int       // of the line
	since  time.Time // when the connection of the newest line was made
}

func (a *app) runShell(cmd *cobra.Command, argv []string, tree func(*app) *cobra.Command) error {
	a.follows = true
	return a.withServer(exactly(), func(ctx context.Context, c *client, _ []string) error {
		s := &shell{app: a, client: c, tree: tree}
		if !a.InTTY {
			s.lines = bufio.NewScanner(a.In)
			s.lines.Buffer(nil, longestLine)
		} else {
			s.learn(ctx)
			a.Say(term.Bold, c.session.Name()+":", fmt.Sprintf("%s; \"tools\" lists them, Tab completes, \"help\" says more, Ctrl-D ends", counted(len(s.known.tools), "tool")))
			a.greeted.Store(true)
		}
		return s.run(ctx)
	})(cmd, argv)
}

// longestLine bounds a line of a script, in bytes.
const longestLine = 16 << 20

// run reads lines until they end. A line that fails ends a script.
func (s *shell) run(ctx context.Context) error {
	s.noteConnection()
	for {
		line, err := s.next(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, term.ErrDeclined):
			return nil
		case errors.Is(err, term.ErrCancelled), errors.Is(err, errLineEnded):
			continue
		case err != nil:
			return err
		}
		s.number++
		argv, err := split(line)
		if err == nil && len(argv) == 0 {
			continue
		}
		if err == nil && leaves(argv[0]) && len(argv) == 1 {
			return nil
		}
		if err == nil {
			err = s.do(ctx, argv)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.lines != nil:
			return &lineError{s.number, err}
		default:
			s.app.AwaitDialog(cancelGrace) // which Ctrl-C has ended too
			s.app.report(context.Background(), err)
		}
	}
}

// leaves reports whether a word of its own ends the shell.
func leaves(word string) bool { return word == "exit" || word == "quit" }

// lineError says which line of a script failed.
type lineError struct {
	number int
	err    error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.number, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// errLineEnded is the cause of the context of a line that Ctrl-C ended.
var errLineEnded = errors.New("interrupted")

// next returns the next line: of a person, or of a script.
func (s *shell) next(ctx context.Context) (string, error) {
	if s.lines != nil {
		return files.Until(ctx, func() (string, error) {
			if !s.lines.Scan() {
				return "", cmp.Or(s.lines.Err(), io.EOF)
			}
			line := s.lines.Text()
			if s.number == 0 {
				line = strings.TrimPrefix(line, "\ufeff") // a script of Windows may begin so
			}
			return line, nil
		})
	}
	ctx, done := s.interruptible(ctx)
	defer done()
	asking, leave, err := s.app.Dialog(ctx)
	var line string
	if err == nil {
		defer leave()
		line, err = s.app.Ask(asking, term.Question{Prompt: plain.Name(s.client.session.Name(), plain.NameColumns) + "> ", History: &s.past, Complete: s.complete})
	}
	if err != nil && errors.Is(context.Cause(ctx), errLineEnded) {
		err = errLineEnded
	}
	return line, err
}

// interruptible returns a context that Ctrl-C ends instead of the program. Ctrl-C also ends an
// open question, which a server may ask beside the line.
func (s *shell) interruptible(ctx context.Context) (within context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	restore := func() {}
	if s.app.interrupt != nil && s.lines == nil {
		restore = s.app.interrupt.TakeOver(func() bool {
			first := ctx.Err() == nil
			cancel(errLineEnded)
			s.app.EndDialog(errLineEnded)
			return first
		})
	}
	return ctx, func() { restore(); cancel(nil) }
}

// stdin returns the reader for a "-" among arguments. It returns nil in a shell that reads its
// lines from stdin.
func (a *app) stdin(ctx context.Context) io.Reader {
	if a.shell != nil && !a.InTTY {
		return nil
	}
	return a.Stdin(ctx)
}

// split returns the words of a line. A tool with its arguments in parentheses is one word,
// whatever quotes it has, and even if the closing parenthesis is missing.
func split(line string) ([]string, error) {
	line = strings.TrimSpace(line)
	if name, inside, found := strings.Cut(line, "("); found && !strings.ContainsAny(name, " \t'\"=") {
		call, rest := line, ""
		if at := strings.LastIndexByte(inside, ')'); at >= 0 {
			call, rest = line[:len(name)+at+2], line[len(name)+at+2:]
		}
		if behind, err := words.Split(rest); err == nil && (rest == "" || rest[0] == ' ') {
			return append([]string{call}, behind...), nil
		}
	}
	argv, err := words.SplitAround(line, jsonAt)
	if err != nil {
		return nil, exit.Usage(err, "write \\' for a quote, and \\\\ for a backslash, that is meant as such")
	}
	return argv, nil
}

// jsonAt returns the length of the JSON object or list that begins at an offset of a line, or of the text behind ":=", if
// a blank or the end follows it. Otherwise it returns 0.
func jsonAt(line string, at int) int {
	if c := line[at]; c != '{' && c != '[' && (c != '"' || !strings.HasSuffix(line[:at], ":=")) {
		return 0
	}
	decoder := json.NewDecoder(strings.NewReader(line[at:]))
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return 0
	}
	length := int(decoder.InputOffset())
	if end := at + length; end < len(line) && line[end] != ' ' && line[end] != '\t' {
		return 0
	}
	return length
}

// do runs one line, as a command of its own on the connection of the shell.
func (s *shell) do(ctx context.Context, argv []string) error {
	switch {
	case (argv[0] == "help" || argv[0] == "?") && len(argv) == 1:
		return s.app.shellHelp(s.tree(&app{Terminal: s.app.Terminal}))
	case argv[0] == "help" || argv[0] == "?":
		return s.do(ctx, append(argv[1:], "--help"))
	case leaves(argv[0]) && argv[len(argv)-1] != "--help":
		return exit.Usage(fmt.Errorf("%q ends the shell, and takes no arguments", argv[0]), "%s", lineHint([]string{"call"}, "to call a tool of that name", argv))
	case strings.HasPrefix(argv[0], "-"): // any command of the program might follow
		return exit.Usage(fmt.Errorf("%s: expected a tool, or one of the commands of the shell", cleantext.Word(argv[0])), "write flags after it")
	case !slices.Contains(lineCommands, argv[0]):
		tool := strings.TrimPrefix(argv[0], s.client.entry.Name+".") // as in wharf SERVER.TOOL
		argv = append([]string{"call", tool}, argv[1:]...)
	}
	ctx, done := s.interruptible(ctx)
	defer done()
	a := s.app
	if argv[0] == "watch" && a.greeted.Swap(false) { // which tells of the same
		defer a.greeted.Store(true)
	}
	line := &app{Terminal: a.Terminal, argv: argv, settings: a.settings, server: a.server, address: a.address, redact: a.redact}
	line.shell = &kept{a, s.client.host, s.client.session, s.client.entry, s.noteConnection}
	line.flags = flags{json: a.flags.json, output: a.flags.output, quiet: a.flags.quiet, save: a.flags.save}
	root := s.tree(line)
	forLines(root)
	root.SetArgs(argv)
	err := cmp.Or(root.ExecuteContext(ctx), line.late)
	s.noteConnection()
	if err != nil && errors.Is(context.Cause(ctx), errLineEnded) {
		err = errLineEnded
		if line.endless {
			err = nil
			fmt.Fprintln(a.Err) // the terminal has written ^C
		}
	}
	return err
}

// noteConnection warns of a server that was connected anew since the line before.
func (s *shell) noteConnection() {
	now := s.client.session.Status()
	if now.State != status.Connected || now.Since.Equal(s.since) {
		return
	}
	if !s.since.IsZero() {
		s.app.Warn("%s was connected anew, and may have forgotten what lines before this one told it", plain.Line(s.client.session.Name()))
	}
	s.since = now.Since
}

// learn asks the server for the names that lines may contain. If a server has no such lists,
// nothing is completed.
func (s *shell) learn(ctx context.Context) {
	session := s.client.session
	defer s.app.Busy("asking " + session.Name() + " for what it has")()
	s.known.tools, _ = session.ListTools(ctx)
	s.known.prompts, _ = session.ListPrompts(ctx)
	s.known.resources, _ = session.ListResources(ctx)
	s.known.templates, _ = session.ListResourceTemplates(ctx)
	s.known.ask = askSession(ctx, session)
}

// complete returns what the last word of a line may become, and where that word begins.
func (s *shell) complete(line string) (begins int, found []string) {
	before, word, begins := words.Last(line)
	switch {
	case len(before) == 0:
		found = append(beginning(slices.Clone(lineCommands), word), s.known.next("call", nil, word)...)
	case slices.Contains(lineCommands, before[0]):
		found = s.known.next(before[0], before[1:], word)
	default:
		found = s.known.next("call", before, word)
	}
	for i := range found {
		found[i] = words.Escape(found[i])
	}
	return begins, found
}
