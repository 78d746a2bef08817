// Package status shows the state of all servers of a configuration: once, or for as
// long as it is followed. It shows a table drawn in place on a terminal that can do
// that, else one JSON object or line for each change.
package status

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/status"
)

// Config is the part of a configuration that is shown.
type Config struct {
	Servers []host.Server // in the order of the rows
	Plugins map[string]config.Plugin

	Reconnect config.Reconnect
}

// View shows the state of all servers. Its fields are set before Run.
type View struct {
	Terminal *term.Terminal
	Host     *host.Host
	People   bool // stdout is read by a person, not by a program
	Markdown bool // a table for a person is one of Markdown

	// Complete returns a text about a server with the commands in it completed, so that they can be
	// typed as they stand. nil leaves them.
	Complete func(text string) string

	// Watch, if not nil, makes Run follow the servers until its context ends. Watch begins to
	// watch the configuration. Run then calls the returned function in a goroutine: it calls
	// changed whenever the configuration may have changed, and returns when ctx ends.
	Watch func() (run func(ctx context.Context, changed func()))

	// Reload returns the current configuration. If that cannot be read, ok is false and the view
	// stays as it is. The goroutine of Run calls it. Set it together with Watch.
	Reload func() (Config, bool)

	rows    []*row // in the order of the configuration; the goroutine of Run owns them
	updates chan update
	tasks   sync.WaitGroup // the goroutines that send updates; they end with their context
}

// update is a message from another goroutine: news of the host, the end of a check of a row, or,
// if both are nil, a possible change of the configuration.
type update struct {
	news    *status.Update
	checked *row
	tools   int   // that a checked row lists
	err     error // of the check
}

// Run connects all enabled servers at once and shows their states. Without Watch it
// returns when all states are final, with an error if an enabled server is not
// connected.
func (v *View) Run(ctx context.Context, c Config) error {
	v.updates = make(chan update)
	within, cancel := context.WithCancel(ctx)
	defer v.tasks.Wait()
	defer cancel()
	if err := v.apply(c); err != nil {
		return err
	}
	news := v.Host.Watch()
	v.tasks.Go(func() {
		defer news.Close()
		for {
			n, err := news.Next(within)
			if err != nil {
				return
			}
			v.send(within, update{news: &n})
		}
	})
	if v.Watch != nil {
		run := v.Watch()
		v.tasks.Go(func() { run(within, func() { v.send(within, update{}) }) })
	}
	return v.loop(within)
}

func (v *View) send(ctx context.Context, u update) {
	select {
	case v.updates <- u:
	case <-ctx.Done():
	}
}

// loop takes updates until all states are final, or for ever.
func (v *View) loop(ctx context.Context) error {
	var resized <-chan time.Time
	if c, ok := v.live(); ok {
		defer c.Clear()
		if v.Watch != nil {
			ticker := time.NewTicker(resizeEvery)
			defer ticker.Stop()
			resized = ticker.C
		}
	}
	for v.Watch != nil || slices.ContainsFunc(v.rows, func(r *row) bool { return !r.final }) {
		if c, ok := v.live(); ok {
			// An empty line ends it, for the ^C that the terminal shows: behind a long row that would begin
			// another one.
			c.Show(strings.TrimRight(v.table().Format(v.Terminal.Columns()), "\n") + "\n")
		}
		select {
		case u := <-v.updates:
			if err := v.take(ctx, u); err != nil {
				return err
			}
		case <-resized: // perhaps: it is shown as it fits
		case <-ctx.Done():
			if _, ok := v.live(); ok {
				v.print()
			}
			return context.Cause(ctx)
		}
	}
	if err := v.print(); err != nil {
		return err
	}
	return v.absent()
}

// resizeEvery is how often a table that is followed is shown again, in case that the terminal has
// another size by now. Not every system tells when that happens.
const resizeEvery = time.Second

// apply gives the view the rows of a configuration. Servers that are unchanged keep their rows
// and connections.
func (v *View) apply(c Config) error {
	rows := make([]*row, len(c.Servers))
	var usable []host.Server
	for i, entry := range c.Servers {
		r := &row{Info: Info{Name: entry.Name}}
		if old := v.named(entry.Name); old != nil {
			*r = *old
		}
		rows[i] = r
		r.Enabled, r.Transport, r.Target = !entry.Disabled, entry.Via(), entry.Target()
		_, err := entry.Expand(os.LookupEnv)
		switch {
		case err == nil:
			r.entry = &entry
			usable = append(usable, entry)
		case r.Enabled && r.entry != nil && !r.entry.Disabled:
			v.Terminal.Warn("%s goes on as before: %v", plain.Line(entry.Name), err)
			usable = append(usable, *r.entry)
		case r.Enabled:
			r.fail(status.BadConfig, err)
		default:
			r.State, r.Reason, r.final = stateOf(status.Disabled, nil), status.TurnedOff, true
		}
	}
	if err := v.Host.Apply(usable, c.Plugins, c.Reconnect); err != nil {
		return err
	}
	return v.replace(rows)
}

// replace replaces the rows, and connects the servers that are new.
func (v *View) replace(rows []*row) error {
	before := v.rows
	v.rows = rows
	for _, old := range before {
		if old.Gone = v.named(old.Name) == nil; old.Gone {
			old.State, old.Reason = stateOf(status.Disconnected, nil), status.Closed
			if err := v.tell(old); err != nil {
				return err
			}
		}
	}
	for _, r := range rows {
		session := v.Host.Session(r.Name)
		if r.session = session; session != nil {
			r.set(session.Status())
			if r.Enabled {
				session.Start()
			}
		}
		if err := v.tell(r); err != nil {
			return err
		}
	}
	return nil
}

// take applies an update to its row. A new connection is checked.
func (v *View) take(ctx context.Context, u update) error {
	r := u.checked
	switch {
	case u.news != nil:
		if r = v.find(u.news.ID); r != nil {
			r.set(u.news.Status)
		}
	case r == nil:
		if c, ok := v.Reload(); ok {
			return v.apply(c)
		}
	case r.session != nil:
		r = v.find(r.session.Status().ID) // another row may show the session by now
	}
	if r == nil {
		return nil // the configuration has dropped it
	}
	if u.checked != nil {
		r.checked(u.tools, u.err)
	}
	if r.State == connected && !r.checking && !r.checkedSince.Equal(r.Since) {
		r.checkedSince, r.checking = r.Since, true
		session := r.session
		v.tasks.Go(func() {
			tools, err := check(ctx, session)
			v.send(ctx, update{checked: r, tools: tools, err: err})
		})
	}
	return v.tell(r)
}

func (v *View) named(name string) *row {
	for _, r := range v.rows {
		if r.Name == name {
			return r
		}
	}
	return nil
}

func (v *View) find(id uint64) *row {
	for _, r := range v.rows {
		if r.session != nil && r.session.Status().ID == id {
			return r
		}
	}
	return nil
}

// live reports whether the table is drawn in place, and where.
func (v *View) live() (*term.Console, bool) {
	c, ok := v.Terminal.Err.(*term.Console)
	return c, ok && !c.Dumb && v.People
}

// cells returns the cells of a row for people, with the commands in them completed.
func (v *View) cells(r *row) []string {
	cells := r.cells()
	if v.Complete != nil {
		about := len(cells) - 1
		cells[about] = v.Complete(cells[about])
	}
	return cells
}

func (v *View) table() plain.Table {
	table := plain.Table{headings}
	for _, r := range v.rows {
		table = append(table, v.cells(r))
	}
	return table
}

// print prints all rows.
func (v *View) print() error {
	if c, ok := v.live(); ok {
		c.Clear()
	}
	switch {
	case v.People && v.Markdown:
		return v.Terminal.Print(v.table().Markdown())
	case v.People:
		return v.Terminal.PrintTable(v.table())
	}
	all := make([]Info, len(v.rows))
	for i, r := range v.rows {
		all[i] = r.Info
		all[i].Next = time.Time{} // the program ends before that
	}
	return v.Terminal.PrintJSON(all)
}

// tell prints a line about the changes in a row, if the servers are followed and nothing is
// drawn in place.
func (v *View) tell(r *row) error {
	if _, ok := v.live(); ok || v.Watch == nil || reflect.DeepEqual(r.told, r.Info) {
		return nil
	}
	r.told = r.Info
	if !v.People {
		return v.Terminal.PrintJSON(r.Info)
	}
	words := strings.Join(strings.Fields(strings.Join(v.cells(r), " ")), " ")
	return v.Terminal.Print(time.Now().Format(time.TimeOnly) + " " + words + "\n")
}

// absent returns an error if an enabled server that the user has not denied is not connected, or
// failed its check.
func (v *View) absent() error {
	absent, faulty, of := 0, 0, 0
	for _, r := range v.rows {
		switch {
		case !r.Enabled || r.State == Denied:
			continue
		case r.State != connected:
			absent++
		case r.Error != "":
			faulty++
		}
		of++
	}
	var said []string
	if absent > 0 {
		said = append(said, fmt.Sprintf("%d of %d enabled servers are not connected", absent, of))
	}
	if faulty > 0 {
		said = append(said, fmt.Sprintf("%d of %d enabled servers are connected and do not answer as they should", faulty, of))
	}
	if said != nil {
		return AbsentError(strings.Join(said, ", and "))
	}
	return nil
}
