package registry

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
)

// Merge brings an entry from one version of its server to another, given answers to the inputs
// that are new. The user's changes to the entry stay, and kept describes them. If nothing is
// known of the old version, old is nil, and everything except the version of the package stays.
//
// A [*MissingError] asks for inputs that have no answer in the entry, and that what stays does not need.
func Merge(old, fresh *Option, now config.Server, answers Answers) (s config.Server, kept []string, err error) {
	why := "by your own change"
	unknown := old == nil
	if unknown {
		old, why = &Option{}, "as it is not known what you changed"
	}
	m := old.match(now)
	carried := maps.Clone(m.answers)
	stays := m
	if unknown {
		fits := fresh.match(now)
		carried, stays.env, stays.headers = fits.answers, fits.env, fits.headers
	}
	maps.Copy(carried, answers)
	want, err := fresh.Entry(carried)
	if errors.As(err, new(*MissingError)) {
		want, err = fresh.without(stays, old, now).Entry(carried)
	}
	if err != nil {
		return now, nil, err
	}
	keep := func(what string) { kept = append(kept, what+", "+why) }
	s = now
	switch {
	case m.command:
		s.Command = want.Command
	case now.Command != want.Command:
		keep("command stays")
	}
	s.Args = want.Args
	if !m.args {
		s.Args = fresh.withVersion(now.Args, old)
	}
	switch {
	case slices.Equal(s.Args, want.Args):
	case slices.Equal(s.Args, now.Args):
		keep("args stay")
	default:
		keep("args stay, except for the package in them")
	}
	switch {
	case m.url:
		s.URL, s.Strategy = want.URL, want.Strategy
	case now.URL != want.URL:
		keep("url stays")
	}
	s.Env = mergeTable(old.env, m.env, now.Env, want.Env, func(name string) { keep("env." + name + " stays") })
	s.Headers = mergeTable(old.headers, m.headers, now.Headers, want.Headers, func(name string) { keep("headers." + name + " stays") })
	return s, kept, nil
}

// without returns an option without what stays in an entry as it is, because that is not as the old
// version made it, and without the inputs that only this needs.
func (o *Option) without(m matched, old *Option, now config.Server) *Option {
	rest := *o
	if !m.args {
		rest.words = nil
	}
	if !m.url {
		rest.url = nil
	}
	rest.env = withoutInputs(o.env, old.env, m.env, now.Env)
	rest.headers = withoutInputs(o.headers, old.headers, m.headers, now.Headers)
	rest.inputs = slices.DeleteFunc(o.Inputs(), func(in Input) bool { return !rest.uses(in.ID) })
	return &rest
}

// Given returns the option without the inputs that only these variables and headers need, since a person gives their
// values whole. The values are not looked at: the entry of the option has no such header, and the variable is empty.
func (o *Option) Given(env, headers map[string]string) *Option {
	rest := *o
	rest.env = slices.Clone(o.env)
	for i := range rest.env { // it stays, for an argument that passes it on
		if _, given := env[rest.env[i].name]; given {
			rest.env[i].texts = []template{nil}
		}
	}
	rest.headers = slices.DeleteFunc(slices.Clone(o.headers), func(w word) bool {
		for name := range headers {
			if strings.EqualFold(name, w.name) {
				return true
			}
		}
		return false
	})
	rest.inputs = slices.DeleteFunc(o.Inputs(), func(in Input) bool { return !rest.uses(in.ID) })
	return &rest
}

// withoutInputs returns variables or headers, those that stay with nothing in place of their values, and
// without those that the user has taken out.
func withoutInputs(words, old []word, matched map[string]bool, now map[string]string) (rest []word) {
	for _, w := range words {
		switch _, there := now[w.name]; {
		case there && !matched[w.name]:
			w.texts = []template{nil}
		case !there && isAmong(old, w.name):
			continue
		}
		rest = append(rest, w)
	}
	return rest
}

// uses reports whether a part of an option depends on the answer to an input.
func (o *Option) uses(input string) bool {
	in := func(t template) bool { return slices.ContainsFunc(t, func(p part) bool { return p.input == input }) }
	return in(o.url) || slices.ContainsFunc(slices.Concat(o.words, o.env, o.headers), func(w word) bool {
		return w.repeated == input || w.flag == input || slices.ContainsFunc(w.texts, in)
	})
}

func isAmong(words []word, name string) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.name == name })
}

// mergeTable merges variables or headers. matched names the variables or headers whose value in now
// is the one that the old version gave them.
func mergeTable(old []word, matched map[string]bool, now, want map[string]string, keep func(name string)) map[string]string {
	merged := maps.Clone(now)
	if merged == nil {
		merged = make(map[string]string)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		value, wanted := want[name]
		switch {
		case matched[name] && wanted:
			merged[name] = value
		case matched[name]:
			delete(merged, name)
		case now[name] != value:
			keep(name)
		}
	}
	for name, value := range want {
		_, there := now[name]
		if !there && !isAmong(old, name) {
			merged[name] = value
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// withVersion returns the arguments, in which the package has the version of the option. The
// package may have had another name in the old version.
func (o *Option) withVersion(args []string, old *Option) []string {
	out := slices.Clone(args)
	name, version := splitVersion(o.Runs)
	was, _ := splitVersion(old.Runs)
	for i, arg := range out {
		if other, its := splitVersion(arg); (other == name || other == was) && its != "" && version != "" {
			out[i] = o.Runs
		}
	}
	return out
}

// IsIn reports whether an entry runs the package of the option, in whatever version. A remote, and a
// package that is a program of its own, are not among the arguments: they are in every entry.
func (o *Option) IsIn(s config.Server) bool {
	name, _ := splitVersion(o.Runs)
	return o.program == "" || o.Kind == "cargo" || slices.ContainsFunc(s.Args, func(arg string) bool {
		its, _ := splitVersion(arg)
		return its == name
	})
}

// splitVersion splits id@version and image:tag into their two parts. An id may begin with an @.
func splitVersion(spec string) (name, version string) {
	if i := strings.LastIndexAny(spec, "@:"); i > 0 && i > strings.LastIndexByte(spec, '/') {
		return spec[:i], spec[i+1:]
	}
	return spec, ""
}

// matched says which parts of an entry are as an option makes them, and which answers they
// contain.
type matched struct {
	answers            Answers
	command, args, url bool
	env, headers       map[string]bool
}

func (o *Option) match(s config.Server) matched {
	m := matched{answers: make(Answers), env: make(map[string]bool), headers: make(map[string]bool)}
	m.command = o.program != "" && s.Command == escaped(o.program)
	for _, in := range []struct {
		words []word
		table map[string]string
		found map[string]bool
	}{{o.env, s.Env, m.env}, {o.headers, s.Headers, m.headers}} {
		for _, w := range in.words {
			if value, there := in.table[w.name]; there {
				in.found[w.name] = m.read([]template{w.texts[0]}, []string{value})
			}
		}
	}
	m.url = o.url != nil && m.read([]template{o.url}, []string{s.URL})
	m.args = o.program != "" && m.readArgs(o.words, s.Args)
	for _, in := range o.inputs {
		if in.Default != "" && slices.Equal(m.answers[in.ID], []string{escaped(in.Default)}) {
			delete(m.answers, in.ID) // so that it follows the default
		}
	}
	made, err := o.without(m, o, s).Entry(m.answers) // without an argument that the user has taken out
	m.args = m.args && err == nil && slices.Equal(made.Args, s.Args)
	return m
}

// ended ends each text in what is matched; no text of an entry has it.
const ended = "\x00"

// read matches texts with templates, and takes the answers from them. If an input has an answer
// from another place already, the two must be the same.
func (m matched) read(templates []template, texts []string) bool {
	var p pattern
	p.add(templates)
	return m.take(p, texts)
}

func (m matched) readArgs(words []word, args []string) bool {
	var p pattern
	for _, w := range words {
		switch {
		case w.repeated != "":
			p.text += "((?:"
			p.inputs = append(p.inputs, w.repeated)
			p.repeats = append(p.repeats, len(w.texts))
			for _, t := range w.texts {
				p.plain(t)
			}
			p.text += ")*?)" // lazy: the words behind it keep their own places
		case w.flag != "":
			p.text += "("
			p.inputs = append(p.inputs, w.flag)
			p.repeats = append(p.repeats, isFlag)
			p.add(w.texts)
			p.text += ")?"
		default:
			p.text += "(?:"
			p.add(w.texts)
			p.text += ")"
			if !w.required || w.ifSet != "" {
				p.text += "?"
			}
		}
	}
	return m.take(p, args)
}

// pattern is a regular expression with the input of each of its groups.
type pattern struct {
	text    string
	inputs  []string
	repeats []int // for each group: how many texts an answer has in it, 0 if it is not repeated, or isFlag
}

// isFlag marks a group that says whether a flag is there and holds no answer.
const isFlag = -1

func (p *pattern) add(templates []template) {
	for _, t := range templates {
		for _, part := range t {
			if part.input == "" {
				p.text += regexp.QuoteMeta(escaped(part.text))
				continue
			}
			p.text += `([^\x00]*?)`
			p.inputs = append(p.inputs, part.input)
			p.repeats = append(p.repeats, 0)
		}
		p.text += ended
	}
}

// plain adds a template without groups for its inputs. The caller has put a group around the
// template, in which take finds the answers.
func (p *pattern) plain(t template) {
	for _, part := range t {
		if part.input == "" {
			p.text += regexp.QuoteMeta(escaped(part.text))
		} else {
			p.text += `[^\x00]*?`
		}
	}
	p.text += ended
}

// Bounds of matching an entry with a pattern, which is made of the registry's description.
const (
	maxMatched = 64 << 10 // bytes of an entry
	maxGroups  = 600      // of a pattern: more than the places and the arguments of an option
)

func (m matched) take(p pattern, texts []string) bool {
	if len(p.inputs) > maxGroups {
		return false
	}
	joined := ""
	if len(texts) > 0 {
		joined = strings.Join(texts, ended) + ended
	}
	compiled, err := regexp.Compile("^(?s:" + p.text + ")$")
	if err != nil || len(joined) > maxMatched {
		return false
	}
	found := compiled.FindStringSubmatchIndex(joined)
	if found == nil {
		return false
	}
	answers := make(Answers)
	for i, input := range p.inputs {
		start, end := found[2*i+2], found[2*i+3]
		if start < 0 || start == end {
			continue
		}
		answer := []string{joined[start:end]}
		switch n := p.repeats[i]; {
		case n == isFlag:
			answer = []string{"true"}
		case n > 0:
			answer = nil
			for j, text := range strings.Split(strings.TrimSuffix(joined[start:end], ended), ended) {
				if j%n == n-1 {
					answer = append(answer, text)
				}
			}
		}
		if other := m.answers[input]; other != nil && !slices.Equal(other, answer) {
			return false
		}
		answers[input] = answer
	}
	maps.Copy(m.answers, answers)
	return true
}

// Successor returns the option of another version that can replace this one in an entry, or nil.
// It has the same kind, because another kind would run another program. The two kinds of remotes
// count as one.
func (o *Option) Successor(options []*Option, s config.Server) *Option {
	of := func(fits func(other *Option) bool) (list []*Option) {
		for _, other := range options {
			if fits(other) {
				list = append(list, other)
			}
		}
		return list
	}
	same := of(func(other *Option) bool { return other.Kind == o.Kind })
	found := Find(same, s)
	switch {
	case o.Bundle != nil && len(same) > 0:
		return same[0]
	case found == nil && o.url != nil:
		return Find(of(func(other *Option) bool { return other.url != nil }), s)
	}
	return found
}

// Find returns the option that an entry was made from, or nil. It prefers the option that would
// make the entry, then one that runs the same package, then one that runs the same program.
func Find(options []*Option, s config.Server) *Option {
	for _, fits := range []func(o *Option) bool{
		func(o *Option) bool { m := o.match(s); return m.args || m.url },
		func(o *Option) bool { return o.program != "" && o.Kind != "cargo" && o.IsIn(s) },
		func(o *Option) bool {
			return o.program != "" && escaped(o.program) == s.Command || o.url != nil && s.URL != ""
		},
	} {
		if i := slices.IndexFunc(options, func(o *Option) bool { return o.Unusable == "" && fits(o) }); i >= 0 {
			return options[i]
		}
	}
	return nil
}
