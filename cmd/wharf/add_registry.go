package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
	"github.com/wharf-mcp/wharf/host/registry"
)

// fromRegistry returns the addition of a server that a registry lists.
func (a *app) fromRegistry(ctx context.Context, f *tomledit.File, r *addRequest, word string) (*addition, error) {
	name, version, pinned := strings.Cut(word, "@")
	if !pinned {
		version = "latest"
	}
	if strings.Contains(word, "://") {
		return nil, exit.Usage(fmt.Errorf("%q is no address of a server", plain.Line(word)), "an address begins with http:// or https://")
	}
	if !registry.IsName(name) || version == "" {
		return nil, exit.Usage(fmt.Errorf("%q is not the name of a server in a registry, a url, or a command after --", word),
			"names are like io.github.user/weather; `wharf search %s` lists them", searchable(word))
	}
	c, err := a.registryAt(r.registry)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	l, err := a.lookUp(ctx, c, name, version)
	if err != nil {
		return nil, err
	}
	if l.Status == registry.Deleted {
		return nil, exit.Usage(fmt.Errorf("%s was deleted from the registry", name), "")
	}
	entry := r.named(path.Base(name))
	if err := r.free(f, entry); err != nil {
		return nil, err
	}
	o, err := choose(&l.Server, r.prefer)
	if err != nil {
		return nil, err
	}
	if err := a.unpack(ctx, c, o); err != nil {
		return nil, err
	}
	n := newInputs(entry)
	env, headers, err := r.answer(n, o.Inputs())
	if err != nil {
		return nil, err
	}
	rest := o.Given(env, headers)
	if err := a.completeInputs(ctx, n, rest.Inputs(), a.CanAsk() && !r.yes); err != nil {
		return nil, err
	}
	s, err := rest.Entry(n.answers)
	if err != nil {
		return nil, err
	}
	s.Name, s.Env, s.Headers = entry, joined(s.Env, env), joined(s.Headers, headers)
	unused := n.unused(o.Inputs(), s, "")
	s.Registry = config.Registry{Name: name, Version: l.Server.Version, SHA256: l.SHA256}
	if c.Address() != registry.Official {
		s.Registry.Address = c.Address()
	}
	return &addition{s, n, a.aboutListing(l, o), slices.Concat(statusCaution(l), unused, o.Cautions(s))}, nil
}

// searchable returns what to search for where a word is not the name of a server: its last part, since
// a search for more than one slash finds none.
func searchable(word string) string {
	part, _, _ := strings.Cut(strings.TrimLeft(path.Base(word), "@"), "@")
	found := strings.FieldsFunc(part, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
	return cmp.Or(strings.TrimLeft(strings.Join(found, " "), "-."), "WORD")
}

func (a *app) lookUp(ctx context.Context, c *registry.Client, name, version string) (*registry.Listing, error) {
	defer a.Busy("asking the registry")()
	return c.Version(ctx, name, version)
}

// joined returns the entries of both tables; those of the second take precedence.
func joined(table, more map[string]string) map[string]string {
	if len(more) == 0 {
		return table
	}
	all := maps.Clone(more)
	for name, value := range table {
		if _, given := all[name]; !given {
			all[name] = value
		}
	}
	return all
}

// choose returns the first usable option of the preferred kind. A package whose program is on
// this machine comes before one whose program is not.
func choose(s *registry.Server, prefer string) (*registry.Option, error) {
	var why []string
	var second *registry.Option
	for _, o := range s.Options(prefer == "remote") {
		isRemote := o.Kind == "http" || o.Kind == "sse"
		switch {
		case prefer != "" && o.Kind != prefer && !(prefer == "remote" && isRemote):
		case o.Unusable == "" && o.Missing() != "":
			second = cmp.Or(second, o)
		case o.Unusable == "" && (isRemote || o.Bundle != nil) && second != nil:
			return second, nil
		case o.Unusable == "":
			return o, nil
		default:
			why = append(why, fmt.Sprintf("%s %s: %s", o.Kind, plain.Name(o.Runs, plain.TargetColumns), o.Unusable))
		}
	}
	kinds := strings.Join(kindsOf(s), ", ")
	switch {
	case second != nil:
		return second, nil
	case len(why) > 0:
		return nil, exit.Usage(fmt.Errorf("no way to run %s can be used (%s)", s.Name, cleantext.Visible(strings.Join(why, "; "))), "")
	case kinds == "":
		return nil, exit.Usage(fmt.Errorf("the registry does not say how %s is run", s.Name), "")
	}
	return nil, exit.Usage(fmt.Errorf("the registry does not have %s as %q", s.Name, prefer), "the registry has it as %s", plain.Line(kinds))
}

// answer takes the answers from the flags. It returns the variables and headers that the
// registry does not know.
func (r *addRequest) answer(n *inputs, wanted []registry.Input) (env, headers map[string]string, err error) {
	given := func(kind string, table map[string]string, same func(string, string) bool) (map[string]string, error) {
		for _, name := range sortedNames(table) {
			i := slices.IndexFunc(wanted, func(in registry.Input) bool { return same(in.Of, kind+name) && same(in.ID, name) })
			if i < 0 {
				continue
			}
			if err := n.give(wanted[i], table[name]); err != nil {
				return nil, exit.Usage(err, "")
			}
			delete(table, name)
		}
		return table, nil
	}
	if env, err = assigned(r.env, "=", "-e NAME=VALUE"); err == nil {
		env, err = given("the variable ", env, func(a, b string) bool { return a == b })
	}
	if err == nil {
		headers, err = assigned(r.headers, ":", "-H 'NAME: VALUE'")
	}
	if err == nil {
		headers, err = given("the header ", headers, strings.EqualFold)
	}
	if err != nil {
		return nil, nil, err
	}
	escape(env)
	escape(headers)
	for _, word := range r.set {
		id, value, found := strings.Cut(word, "=")
		i := slices.IndexFunc(wanted, func(in registry.Input) bool { return in.ID == id })
		switch {
		case !found:
			return nil, nil, exit.Usage(fmt.Errorf("%q has the wrong form", word), "write --set INPUT=VALUE")
		case i < 0:
			return nil, nil, unknownInput(id, wanted)
		}
		if err := n.give(wanted[i], value); err != nil {
			return nil, nil, exit.Usage(err, "")
		}
	}
	return env, headers, nil
}

// aboutListing describes a server by the registry's words, and names its optional inputs.
func (a *app) aboutListing(l *registry.Listing, o *registry.Option) string {
	s := l.Server
	facts := []term.Fact{{Name: "name", Text: s.Name + " " + s.Version}, {Name: "says", Text: s.Description}, {Name: "runs", Text: o.Kind + " " + o.Runs}}
	if s.Repository != nil {
		facts = append(facts, term.Fact{Name: "source", Text: s.Repository.URL})
	}
	for _, other := range s.Options(false) {
		if other.Kind != o.Kind && other.Unusable == "" {
			facts = append(facts, term.Fact{Name: "or", Text: other.Kind + " " + other.Runs + ", by --prefer " + other.Kind})
		}
	}
	for _, in := range o.Inputs() {
		if !in.IsRequired {
			facts = append(facts, term.Fact{Name: "takes", Text: coloned(in.Of, in.Description)})
		}
	}
	for i := range facts {
		facts[i].Text = cleantext.Visible(plain.CutBytes(facts[i].Text, factBytes))
	}
	return a.Facts(facts, ofFacts, 0, "")
}

// statusCaution returns a caution if the publisher of a version advises against it.
func statusCaution(l *registry.Listing) []string {
	if l.Status == registry.Active || l.Status == "" {
		return nil
	}
	return []string{"it is " + coloned(plain.Name(string(l.Status), plain.NameColumns), plain.Name(l.StatusMessage, 4*plain.TargetColumns))}
}
