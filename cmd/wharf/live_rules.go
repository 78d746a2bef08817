package main

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/policy"
)

// liveRules is who may call what by the configuration as it is now, for a host that outlives the one with
// which it was made. It is a [policy.Decider].
type liveRules struct{ now atomic.Pointer[readRules] }

// newLiveRules returns the rules of settings.
func newLiveRules(s *settings) (*liveRules, error) {
	first, err := s.readRules()
	if err != nil {
		return nil, err
	}
	l := new(liveRules)
	l.now.Store(first)
	return l, nil
}

// Scope is that of the rules that hold now.
func (l *liveRules) Scope(c *policy.Caller, server string) policy.Scope {
	return l.now.Load().Scope(c, server)
}

// Decide is that of the rules that hold now.
func (l *liveRules) Decide(ctx context.Context, c *policy.Call) policy.Decision {
	return l.now.Load().Decide(ctx, c)
}

// decide has a host go by the rules, even without one: there may be one later.
func (l *liveRules) decide(c *host.Config) { c.Deciders = []policy.Decider{l} }

// amend has the rules be those of settings, and tells the clients of a gateway whose lists are others then. With an
// error other than a [narrowingError] they stay as they are.
func (l *liveRules) amend(s *settings, g *gateway.Gateway) error {
	next, err := s.readRules()
	if next != nil && !reflect.DeepEqual(next.tables, l.now.Load().tables) {
		g.ChangeAccess(func() { l.now.Store(next) })
	}
	return err
}

// followRules has the rules be those of the configuration and of the project until ctx ends.
func (a *app) followRules(ctx context.Context, l *liveRules, g *gateway.Gateway) {
	watched := a.inFolder(a.folder) // without the signals of this one
	watched.settings = a.settings
	w := watched.watchConfig()
	w.again() // for a change that came before it looked
	var told toldMistakes
	w.run(ctx, func() { a.reread(l, g, w, &told) })
}

// reread has the rules be those of the configuration. While that cannot be read, they stay as they are; while a
// project's file cannot be read, they deny everything. The person is told why, once.
func (a *app) reread(l *liveRules, g *gateway.Gateway, w *configWatcher, told *toldMistakes) {
	s, err := a.inFolder(a.folder).load()
	if err == nil {
		w.follow(s, s.narrowing()...)
		err = l.amend(s, g)
	}
	if a.Interrupted() {
		return // an interrupt ends the reading, which is no mistake
	}
	var mistakes []string
	if err != nil {
		mistakes = []string{standing("", err)}
	}
	for _, why := range told.news(mistakes) {
		a.Warn("%s", why)
	}
}

// toldMistakes are the mistakes in a configuration of which the person was told, and which are still there.
type toldMistakes struct{ now []string }

// news takes all mistakes of one reading, or none, and returns those of which the person is to be told, sorted. A
// mistake that comes back after it was mended is news.
func (t *toldMistakes) news(mistakes []string) []string {
	before := t.now
	t.now = slices.Sorted(slices.Values(mistakes))
	return slices.DeleteFunc(slices.Clone(t.now), func(why string) bool { return slices.Contains(before, why) })
}
