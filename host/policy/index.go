package policy

import (
	"slices"
	"strings"
)

// index finds the first rule that a call fits, without a look at most of the others. The zero index has
// no rules.
type index struct {
	folds   bool // it is of what is denied: see [spelling]
	servers map[string]*ofServer
	wild    []wildServer // rules about servers by a pattern
}

type wildServer struct {
	pattern string
	*ofServer
}

// ofServer has the rules about a server.
type ofServer struct {
	all   string // says the rule about all of it; "" is none
	names [Resource + 1]nameIndex
}

// nameIndex has rules about names. A rule is found by all of the name, by its beginning, or by its end;
// only rules whose pattern begins and ends with "*" are tried one by one.
type nameIndex struct {
	first    string // says the first of the rules; "" is that there is none
	plain    map[string]string
	begins   buckets
	ends     buckets
	anywhere []nameRule
}

type nameRule struct{ pattern, says string }

// buckets have rules by a text with which a name has to begin or to end.
type buckets struct {
	lengths []int // of the texts, each once
	rules   map[string][]nameRule
}

func (x *index) add(r rule) {
	of := x.serverFor(r.server)
	if r.whole {
		if of.all == "" {
			of.all = r.says
		}
		return
	}
	names := &of.names[r.target]
	switch {
	case x.folds:
		names.add(nameRule{strings.ToLower(r.name), r.says})
		if r.target == Resource {
			for _, form := range deniedForms(r.name) {
				names.add(nameRule{strings.ToLower(form), r.says})
			}
		}
	case r.target == Resource:
		names.add(nameRule{allowedForm(r.name), r.says})
	default:
		names.add(nameRule{r.name, r.says})
	}
}

// serverFor returns the rules about the servers of a pattern.
func (x *index) serverFor(pattern string) *ofServer {
	if !strings.Contains(pattern, "*") {
		if x.servers == nil {
			x.servers = make(map[string]*ofServer)
		}
		if x.servers[pattern] == nil {
			x.servers[pattern] = new(ofServer)
		}
		return x.servers[pattern]
	}
	for _, w := range x.wild {
		if w.pattern == pattern {
			return w.ofServer
		}
	}
	x.wild = append(x.wild, wildServer{pattern, new(ofServer)})
	return x.wild[len(x.wild)-1].ofServer
}

func (n *nameIndex) add(r nameRule) {
	if n.first == "" {
		n.first = r.says
	}
	first, _, wild := strings.Cut(r.pattern, "*")
	last := r.pattern[strings.LastIndex(r.pattern, "*")+1:]
	switch {
	case !wild:
		if n.plain == nil {
			n.plain = make(map[string]string)
		}
		if n.plain[r.pattern] == "" {
			n.plain[r.pattern] = r.says
		}
	case first != "":
		n.begins.add(first, r)
	case last != "":
		n.ends.add(last, r)
	default:
		n.anywhere = append(n.anywhere, r)
	}
}

func (b *buckets) add(text string, r nameRule) {
	if b.rules == nil {
		b.rules = make(map[string][]nameRule)
	}
	if !slices.Contains(b.lengths, len(text)) {
		b.lengths = append(b.lengths, len(text))
	}
	b.rules[text] = append(b.rules[text], r)
}

// each calls try with the rules about a server, until try returns true.
func (x *index) each(server string, try func(*ofServer) bool) bool {
	if of := x.servers[server]; of != nil && try(of) {
		return true
	}
	for _, w := range x.wild {
		if Fits(w.pattern, server) && try(w.ofServer) {
			return true
		}
	}
	return false
}

// reaches reports whether a rule is about a server.
func (x *index) reaches(server string) bool {
	return x.each(server, func(*ofServer) bool { return true })
}

// whole returns what the rule says that is about all of a server.
func (x *index) whole(server string) (says string, found bool) {
	found = x.each(server, func(of *ofServer) bool {
		says = of.all
		return says != ""
	})
	return says, found
}

// aboutResources returns what the first rule says that is about resources of a server, or "".
func (x *index) aboutResources(server string) (says string) {
	x.each(server, func(of *ofServer) bool {
		says = of.names[Resource].first
		return says != ""
	})
	return says
}

// find returns what a rule says that the call fits, whose name is spelled so.
func (x *index) find(c *Call, name *spelling) (says string, found bool) {
	if x.servers == nil && x.wild == nil {
		return "", false
	}
	found = x.each(c.Server, func(of *ofServer) bool {
		if says = of.all; says != "" || c.Target == Other {
			return says != ""
		}
		switch names := &of.names[c.Target]; {
		case !x.folds && name.strict:
			says = names.all()
		case !x.folds:
			says = names.find(name.name)
		default:
			for i := 0; i < name.count && says == ""; i++ {
				says = names.find(name.forms[i])
			}
		}
		return says != ""
	})
	return says, found
}

// all returns what the rule says that is about every name.
func (n *nameIndex) all() string {
	for _, r := range n.anywhere {
		if strings.Trim(r.pattern, "*") == "" {
			return r.says
		}
	}
	return ""
}

// find returns what a rule says that the name fits, or "".
func (n *nameIndex) find(name string) (says string) {
	if says = n.plain[name]; says != "" {
		return says
	}
	for _, length := range n.begins.lengths {
		if length <= len(name) {
			if says = first(n.begins.rules[name[:length]], name); says != "" {
				return says
			}
		}
	}
	for _, length := range n.ends.lengths {
		if length <= len(name) {
			if says = first(n.ends.rules[name[len(name)-length:]], name); says != "" {
				return says
			}
		}
	}
	return first(n.anywhere, name)
}

// first returns what the first of the rules says that the name fits, or "".
func first(rules []nameRule, name string) string {
	for i := range rules {
		if Fits(rules[i].pattern, name) {
			return rules[i].says
		}
	}
	return ""
}
