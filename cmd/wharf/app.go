package main

import (
	"context"
	"io"
	"slices"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// app is one run of the program: its terminal, its flags, and the state that it collects.
type app struct {
	*term.Terminal
	flags flags
	argv  []string // the command line

	interrupt *exit.Interrupts // nil in tests

	folder    string          // the working folder; "" is that of this process
	settings  *settings       // read at the first need
	outranked []string        // installed plugins that were warned of
	server    string          // the server that the command is about, for errors
	address   string          // its url, if it has no entry
	adHoc     bool            // it is a command after --
	behind    []string        // the arguments of that command that look like one of our flags
	recorders recorders       // of --trace and --record
	tracing   *tracing        // to a receiver of OpenTelemetry; nil in tests
	streams   streams         // to the daemon, if the command reaches its server through that
	watched   *trace.Recorder // for `wharf doctor SERVER`, which reads it; nil for others
	watcher   *configWatcher  // for changes of the configuration; nil where nothing is kept
	logs      bool            // the command follows a server and shows what that writes to stderr
	approved  []string        // the hashes of servers of projects that the person said yes to: a second host asks no more, even where the first could not keep that
	unpacked  []string        // the hashes of the bundles that the command has unpacked
	refusal   string          // what the server wrote when it refused to be used without a sign-in
	follows   bool            // the command keeps a server until it is ended
	greeted   atomic.Bool     // a shell has told a person what it is, and prints notifications as they come
	endless   bool            // the command ends only when it is interrupted: that is no error
	shell     *kept           // the session of the shell that runs the command; nil = no shell does
	ofTask    string          // what becomes of the task that the command is about if the daemon ends; "" for no task
	late      error           // the error of the page that --help prints: cobra's help returns no error

	follower atomic.Pointer[follower] // prints what servers log; nil unless watch does

	redact func(text string) string // takes secrets out of errors; nil without a host
}

// streams are byte streams that take the place of servers, by name.
type streams = map[string]func(context.Context) (io.ReadWriteCloser, error)

// inFolder returns the app of a program that would be started in a folder with the flags of this one;
// "" is the folder of this one.
func (a *app) inFolder(folder string) *app {
	return &app{Terminal: a.Terminal, flags: a.flags, argv: a.argv, tracing: a.tracing, folder: folder, outranked: slices.Clone(a.outranked)}
}

// hurried returns the context for work that still goes on after an interrupt. A second interrupt
// ends it.
func (a *app) hurried() context.Context {
	if a.interrupt == nil {
		return context.Background()
	}
	return a.interrupt.Hurried()
}

// kept is the session of a shell. It lasts longer than each command that uses it.
type kept struct {
	app     *app // of the shell, which hears the events of the host
	host    *host.Host
	session *host.Session
	entry   host.Server
	note    func() // reports a new connection, before the answer that came over it is printed
}

// printList prints a list: a table for people, else JSON.
func (a *app) printList(list any, rows plain.Table) error {
	if a.forPeople() {
		return a.printTable(rows)
	}
	return a.PrintJSON(list)
}

// printTable prints a table for people, in the format of --output. As text it prints no head that has no rows below it.
func (a *app) printTable(rows plain.Table) error {
	if a.flags.output == formatMarkdown {
		return a.Print(rows.Markdown())
	}
	if len(rows) < 2 {
		return nil
	}
	return a.PrintTable(rows)
}

// printFacts prints names and what is said of each: in columns, or as a table of Markdown.
func (a *app) printFacts(facts [][2]string) error {
	if a.flags.output != formatMarkdown {
		return a.Print(plain.Facts(facts, a.Width))
	}
	rows := plain.Table{{"FACT", "VALUE"}}
	for _, fact := range facts {
		rows = append(rows, fact[:])
	}
	return a.printTable(rows)
}

// printLaidOut prints lines that mean something by their places: as they are, or as a block of code of
// Markdown. The block is one by its indent, so no line can end it.
func (a *app) printLaidOut(text string) error {
	if a.flags.output == formatMarkdown {
		text = indented.ReplaceAllString(text, "    $0")
	}
	return a.Print(text)
}

// indented matches what stands in a line.
var indented = lazyregexp.New(`(?m)^.+`)

// none tells a person why a list is empty.
func (a *app) none(why string) {
	if a.forPeople() && !a.Quiet {
		a.Tell(term.Dim, "note:", why, "")
	}
}

// forPeople reports whether the output is text for a person and not JSON. It is if stdout is a
// terminal, unless --output says otherwise.
func (a *app) forPeople() bool {
	switch a.flags.output {
	case formatText, formatMarkdown:
		return true
	case formatJSON, formatRaw:
		return false
	}
	return a.OutTTY && !a.flags.json
}
