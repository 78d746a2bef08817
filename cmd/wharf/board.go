package main

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
)

// board shows how it stands with all servers of the configuration. One goroutine
// owns it; the others hand it what they find out.
type board struct {
	app    *app
	host   *host.Host
	follow bool
	rows   []*berth // in the order of the configuration

	found chan tiding
	tasks sync.WaitGroup // the goroutines that find out; they end with their context
}

// tiding is news: of a server, from the host or from a look at it, or of the
// configuration.
type tiding struct {
	news   *host.News
	berth  *berth // that was looked at
	looked error
}

// runStatus starts the servers, all at once, and shows how it stands with them.
// Nobody is asked anything: what wants a sign-in or an approval says so. With
// follow it goes on until it is interrupted, and the servers are kept.
func (a *app) runStatus(ctx context.Context, follow bool) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	h, err := a.newHost(ctx, nil, func(c *host.Config) {
		if a.CanAsk() {
			c.Approve = nil
		}
		if limit := a.flags.timeout; limit.given {
			c.StartTimeout = limit.limit
		}
		if !follow {
			c.Reconnect.Backoff = []time.Duration{} // to be told at the first failure
		}
	})
	if err != nil {
		return err
	}
	defer h.Close()
	b := &board{app: a, host: h, follow: follow, found: make(chan tiding)}
	within, cancel := context.WithCancel(ctx)
	defer b.tasks.Wait()
	defer cancel()
	if err := b.apply(s); err != nil {
		return err
	}
	b.listen(within)
	return b.run(within)
}

// apply makes the board that of a configuration. Servers that go on as before keep
// their rows.
func (b *board) apply(s *settings) error {
	entries := slices.Concat(s.servers, s.project())
	b.app.warnOf(s)
	rows := make([]*berth, len(entries))
	var usable []host.Server
	for i, entry := range entries {
		row := &berth{standing: standing{Name: entry.Name}}
		if old := b.named(entry.Name); old != nil {
			*row = *old
		}
		rows[i] = row
		row.Enabled, row.Transport, row.Target = !entry.Disabled, entry.Via(), plain.Target(entry)
		expanded, err := entry.Expand(os.LookupEnv)
		switch {
		case err == nil:
			row.entry = &expanded
			usable = append(usable, expanded)
		case row.Enabled && row.entry != nil && !row.entry.Disabled:
			b.app.Warn("%s goes on as before: %v", plain.Line(entry.Name), err)
			usable = append(usable, *row.entry)
		case row.Enabled:
			row.fail(host.ReasonConfig, err)
		default:
			row.State, row.Reason, row.settled = host.StateDisabled, host.ReasonTurnedOff, true
		}
	}
	if err := b.host.Apply(usable, s.plugins); err != nil {
		return err
	}
	return b.replace(rows)
}

// replace puts rows up in place of those that are there, and has what is new
// connected.
func (b *board) replace(rows []*berth) error {
	before := b.rows
	b.rows = rows
	for _, old := range before {
		if old.Gone = b.named(old.Name) == nil; old.Gone {
			old.State, old.Reason = host.StateDisconnected, host.ReasonClosed
			if err := b.tell(old); err != nil {
				return err
			}
		}
	}
	for _, row := range rows {
		session := b.host.Session(row.Name)
		if row.session = session; session != nil {
			row.set(session.Status())
			if row.Enabled {
				session.Start()
			}
		}
		if err := b.tell(row); err != nil {
			return err
		}
	}
	return nil
}

func (b *board) named(name string) *berth {
	for _, row := range b.rows {
		if row.Name == name {
			return row
		}
	}
	return nil
}

// listen hands over what the host has to tell.
func (b *board) listen(ctx context.Context) {
	w := b.host.Watch()
	b.tasks.Go(func() {
		defer w.Close()
		for {
			n, err := w.Next(ctx)
			if err != nil {
				return
			}
			b.hand(ctx, tiding{news: &n})
		}
	})
	if b.follow {
		out := b.app.lookOut()
		b.tasks.Go(func() { out.run(ctx, func() { b.hand(ctx, tiding{}) }) })
	}
}

func (b *board) hand(ctx context.Context, f tiding) {
	select {
	case b.found <- f:
	case <-ctx.Done():
	}
}

// run takes tidings until all is known, or for ever.
func (b *board) run(ctx context.Context) error {
	if c, ok := b.live(); ok {
		defer c.Clear()
	}
	for b.follow || slices.ContainsFunc(b.rows, func(row *berth) bool { return !row.settled }) {
		b.draw()
		select {
		case f := <-b.found:
			if err := b.take(ctx, f); err != nil {
				return err
			}
		case <-ctx.Done():
			if _, ok := b.live(); ok {
				b.print()
			}
			return context.Cause(ctx)
		}
	}
	if err := b.print(); err != nil {
		return err
	}
	return b.verdict()
}

// take puts a tiding up.
func (b *board) take(ctx context.Context, t tiding) error {
	row := t.berth
	switch {
	case t.news != nil:
		if row = b.find(t.news.ID); row != nil {
			row.set(t.news.Status)
		}
	case row == nil:
		if s, ok := b.app.reload(); ok {
			return b.apply(s)
		}
	case row.session != nil:
		row = b.find(row.session.Status().ID) // it may have been put up anew
	}
	if row == nil {
		return nil // it has been taken down
	}
	if t.berth != nil {
		row.seen(t.looked)
	}
	if row.State == host.StateConnected && !row.looking && !row.checked.Equal(row.Since) {
		row.checked, row.looking = row.Since, true
		session := row.session
		b.tasks.Go(func() { b.hand(ctx, tiding{berth: row, looked: look(ctx, session)}) })
	}
	return b.tell(row)
}

func (b *board) find(id uint64) *berth {
	for _, row := range b.rows {
		if row.session != nil && row.session.Status().ID == id {
			return row
		}
	}
	return nil
}

// live reports whether the board is drawn in place.
func (b *board) live() (*term.Console, bool) {
	c, ok := b.app.Err.(*term.Console)
	return c, ok && !c.Dumb && b.app.forPeople()
}

// draw shows the board in place of what was drawn before.
func (b *board) draw() {
	if c, ok := b.live(); ok {
		c.Show(strings.TrimRight(b.table().Format(b.app.Width), "\n"))
	}
}

func (b *board) table() plain.Table {
	rows := plain.Table{boardHeadings}
	for _, row := range b.rows {
		rows = append(rows, row.cells())
	}
	return rows
}

// print prints the whole board.
func (b *board) print() error {
	if c, ok := b.live(); ok {
		c.Clear()
	}
	if b.app.forPeople() {
		return b.app.PrintTable(b.table())
	}
	all := make([]standing, len(b.rows))
	for i, row := range b.rows {
		all[i] = row.standing
		all[i].Next = time.Time{} // nobody will be there
	}
	return b.app.PrintJSON(all)
}

// tell gives whoever follows a line for what changed about a server, where nothing
// is drawn in place.
func (b *board) tell(row *berth) error {
	if _, ok := b.live(); ok || !b.follow || reflect.DeepEqual(row.told, row.standing) {
		return nil
	}
	row.told = row.standing
	if !b.app.forPeople() {
		return b.app.PrintJSON(row.standing)
	}
	words := strings.Join(strings.Fields(strings.Join(row.cells(), " ")), " ")
	return b.app.Print(time.Now().Format(time.TimeOnly) + " " + words + "\n")
}

// verdict is an error if an enabled server is not there.
func (b *board) verdict() error {
	absent, of := 0, 0
	for _, row := range b.rows {
		if row.Enabled {
			of++
			if row.State != host.StateConnected || row.Error != "" {
				absent++
			}
		}
	}
	if absent > 0 {
		return &absentError{absent, of}
	}
	return nil
}
