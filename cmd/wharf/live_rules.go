package main

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/policy"
)

// liveRules is who may call what by the configuration as it is now, for a host that outlives the one with
// which it was made. It is a [policy.Decider].
type liveRules struct{ now atomic.Pointer[readRules] }

// readRules are rules, and the tables that they were made of.
type readRules struct {
	*policy.Rules
	tables [][]policy.Table
}

func (s *settings) readRules() (*readRules, error) {
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	return &readRules{rules, append(s.narrowed(), s.access)}, nil
}

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

// amend has the rules be those of settings, and tells the clients of a gateway whose lists are others then.
func (l *liveRules) amend(s *settings, g *gateway.Gateway) error {
	next, err := s.readRules()
	if err != nil || reflect.DeepEqual(next.tables, l.now.Load().tables) {
		return err
	}
	g.ChangeAccess(func() { l.now.Store(next) })
	return nil
}

// followRules has the rules be those of the configuration until ctx ends. While that cannot be read, they
// stay as they are.
func (a *app) followRules(ctx context.Context, l *liveRules, g *gateway.Gateway) {
	watched := a.inFolder(a.folder) // without the signals of this one
	watched.settings = a.settings
	w := watched.watchConfig()
	w.again() // for a change that came before it looked
	w.run(ctx, func() {
		s, err := a.inFolder(a.folder).load()
		if err == nil {
			w.follow(s)
			err = l.amend(s, g)
		}
		if err != nil {
			a.Warn("who may call what is as before: %v", err)
		}
	})
}
