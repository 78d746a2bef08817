package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Table is a table of rules.
type Table struct {
	Name  string   // "agents" for the table [access.agents]
	Match []string // the callers that it is about
	Allow []string // patterns; nil allows what other tables and the default allow
	Deny  []string // patterns
	Place string   // where it is written: "wharf.toml:12"; "" is not known
}

// Check calls wrong for each text of a table that is no match or no pattern, with its key and index.
func (t *Table) Check(wrong func(key string, i int, err error)) {
	for i, text := range t.Match {
		if _, err := readMatch(text); err != nil {
			wrong("match", i, err)
		}
	}
	for i, text := range t.Allow {
		if _, err := readPattern(text); err != nil {
			wrong("allow", i, err)
		}
	}
	for i, text := range t.Deny {
		if _, err := readPattern(text); err != nil {
			wrong("deny", i, err)
		}
	}
}

// Strangers calls wrong for each pattern of a table that is about none of these servers, with its key, its index
// and its pattern of servers. The texts are patterns, see [Table.Check].
func (t *Table) Strangers(servers []string, wrong func(key string, i int, server string)) {
	look := func(key string, list []string) {
		for i, text := range list {
			p, err := readPattern(text)
			if err == nil && !FitsAny(p.server, servers) {
				wrong(key, i, p.server)
			}
		}
	}
	look("allow", t.Allow)
	look("deny", t.Deny)
}

// title names the table in decisions.
func (t *Table) title() string {
	if t.Place == "" {
		return "access." + t.Name
	}
	return "access." + t.Name + " (" + t.Place + ")"
}

// Rules are the tables of files. They are made once, and never changed.
type Rules struct {
	layers []layer

	mu      sync.RWMutex
	callers map[identity]*verdicts // those that have called, up to maxCallers
}

// layer is the tables of the user, or those of a project.
type layer struct {
	narrows bool // it is of a project: a principal that it does not name may do what other layers allow
	tables  []compiledTable
}

type compiledTable struct {
	title   string
	matches []matcher
	allows  bool // it has a list of what is allowed, perhaps an empty one
	allow   []rule
	deny    []rule
}

// rule is one pattern, and what is said of it.
type rule struct {
	pattern
	says string
}

// identity is what rules know of a caller.
type identity struct {
	kind            Kind
	name, principal string
}

// maxCallers is how many callers are remembered with the rules about them.
const maxCallers = 256

// maxName is how much of the name of a caller counts, in bytes.
const maxName = 256

// New returns the rules of the user's own tables, and below them those of projects, of which each can only
// narrow.
func New(own []Table, projects ...[]Table) (*Rules, error) {
	r := &Rules{callers: make(map[identity]*verdicts)}
	for i, tables := range append([][]Table{own}, projects...) {
		l := layer{narrows: i > 0}
		for _, t := range tables {
			c, err := compile(&t)
			if err != nil {
				return nil, err
			}
			l.tables = append(l.tables, c)
		}
		r.layers = append(r.layers, l)
	}
	return r, nil
}

func compile(t *Table) (c compiledTable, err error) {
	t.Check(func(key string, i int, wrong error) {
		if err == nil {
			err = fmt.Errorf("%s: %s[%d]: %w", t.title(), key, i, wrong)
		}
	})
	if err != nil {
		return c, err
	}
	c.title = t.title()
	for _, text := range t.Match {
		m, _ := readMatch(text)
		c.matches = append(c.matches, m)
	}
	read := func(verb string, list []string) (rules []rule) {
		for _, text := range list {
			p, _ := readPattern(text)
			rules = append(rules, rule{p, fmt.Sprintf("%s: %s %q", c.title, verb, text)})
		}
		return rules
	}
	c.allows, c.allow, c.deny = t.Allow != nil, read("allow", t.Allow), read("deny", t.Deny)
	return c, nil
}

// Empty reports whether there is no table.
func (r *Rules) Empty() bool {
	return !slices.ContainsFunc(r.layers, func(l layer) bool { return len(l.tables) > 0 })
}

// verdicts are the rules about one caller, by layer.
type verdicts struct {
	layers []verdict
	denies bool // one of them denies something
}

type verdict struct {
	narrowed bool   // only what is allowed may be called
	remedy   string // what lets it be called all the same
	foreign  bool   // since the caller is another principal, and not since a table allows something
	allow    index
	deny     index
}

// of returns the rules about a caller.
func (r *Rules) of(c *Caller) *verdicts {
	key := identity{c.Kind, c.Name[:min(len(c.Name), maxName)], c.Principal}
	r.mu.RLock()
	v := r.callers[key]
	r.mu.RUnlock()
	if v != nil {
		return v
	}
	v = r.collect(&Caller{Kind: key.kind, Name: key.name, Principal: key.principal})
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.callers) >= maxCallers { // clients choose their names
		clear(r.callers)
	}
	key.name = strings.Clone(key.name)
	r.callers[key] = v
	return v
}

// collect gathers the rules about a caller.
func (r *Rules) collect(c *Caller) *verdicts {
	v := &verdicts{layers: make([]verdict, len(r.layers))}
	for i := range r.layers {
		l, into := &r.layers[i], &v.layers[i]
		into.foreign = !l.narrows && c.Principal != ""
		into.deny.folds = true
		for _, t := range l.tables {
			if !slices.ContainsFunc(t.matches, func(m matcher) bool { return m.fits(c) }) {
				continue
			}
			if t.allows && !into.narrowed {
				into.narrowed, into.remedy = true, "what else it may call goes into allow of "+t.title
			}
			for _, rule := range t.allow {
				into.allow.add(rule)
			}
			for _, rule := range t.deny {
				into.deny.add(rule)
				v.denies = true
			}
		}
		into.foreign = into.foreign && !into.narrowed
	}
	return v
}

// Scope returns how much of a server a caller may call.
func (r *Rules) Scope(c *Caller, server string) Scope {
	all := Everything
	v := r.of(c)
	for i := range v.layers {
		l := &v.layers[i]
		_, whole := l.deny.whole(server)
		switch {
		case l.foreign, whole, l.narrowed && !l.allow.reaches(server):
			return Nothing
		case l.deny.reaches(server):
			all = Some
		case l.narrowed:
			if _, whole := l.allow.whole(server); !whole {
				all = Some
			}
		}
	}
	return all
}

// The rules that stand in no file.
const (
	ofLocal   = "default: the user who runs wharf may call everything"
	ofForeign = "default: a principal that no access names may call nothing"
	ofNarrow  = "default: a caller for which there is an allow may call nothing else"
)

// Decide decides on a call. It does not look at arguments.
func (r *Rules) Decide(_ context.Context, c *Call) Decision {
	v := r.of(c.Caller)
	name := spell(c, v.denies)
	for i := range v.layers {
		if says, found := v.layers[i].deny.find(c, &name); found {
			return Decision{Rule: says}
		}
		if says := v.layers[i].deny.aboutResources(c.Server); says != "" && name.doubt != "" {
			return Decision{Rule: says, Reason: twoWays(name.doubt)}
		}
	}
	rule := ofLocal
	for i := range v.layers {
		l := &v.layers[i]
		switch says, found := l.allow.find(c, &name); {
		case l.foreign:
			return Decision{Rule: ofForeign}
		case !l.narrowed:
		case found:
			rule = says
		case name.doubt != "":
			return Decision{Rule: ofNarrow, Reason: twoWays(name.doubt)}
		case name.strict:
			return Decision{Rule: ofNarrow, Reason: `its URI has a segment ".."`}
		default:
			return Decision{Rule: ofNarrow, Hint: l.remedy}
		}
	}
	return Decision{Allow: true, Rule: rule}
}

func twoWays(doubt string) string {
	return "its URI has " + doubt + ", so servers may read it in two ways"
}
