package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// States of a server that may be copied.
const (
	importNew   = "new"
	importSame  = "already there"                  // an entry of your own says the same, or forbids more
	importLoose = "already there, and allows more" // an entry of your own allows what a client forbids
	importTaken = "name is taken"                  // by another entry of your own
	importHeld  = "name of a secret is taken"      // the vault has another one of that name
	importTwice = "same as another one"            // of a client before this; that one forbids what this one does too
	importSelf  = "is wharf"                       // as --print-config prints it
)

// importItem is a server of another client.
type importItem struct {
	Name   string `json:"name"`
	Client string `json:"client"`
	File   string `json:"file"`
	State  string `json:"state"`
	Target string `json:"target"`
	There  string `json:"there,omitempty"` // of what is already there: its name in the client, if that is another one

	Differs  string   `json:"differs,omitempty"`  // from another server of its name: "in env, headers from that of cursor", "… from your own", "… from the vault"
	Disabled bool     `json:"disabled,omitempty"` // by what a client forbids
	Needs    []string `json:"needs,omitempty"`    // of what was added: variables of the environment that are not set
	Problem  string   `json:"problem,omitempty"`  // of what was added: why it is not ready

	server host.Server
	stale  []string // secrets of the vault, for which the client has another value, or which are not the server's
}

// itemOf compares a server with those found before it. If another server has its name and is
// not the same, the name of its client becomes part of its own. If another one is the same,
// the entry of that one also forbids what this one forbids, and has the times that only this one has.
func itemOf(before []importItem, f config.Found, s host.Server, name string) importItem {
	item := importItem{Name: cmp.Or(name, s.Name), Client: f.ID, File: f.Path, State: importNew, Target: s.Target(), server: s}
	for i := range before {
		other := &before[i]
		if !strings.EqualFold(cmp.Or(name, other.server.Name), item.Name) {
			continue
		}
		keys := differences(s, other.server)
		if len(keys) == 0 {
			item.State, item.Differs = importTwice, ""
			other.server.Restrict(s)
			if times := complete(&other.server, s); len(times) > 0 {
				item.Differs = fmt.Sprintf("in %s from that of %s", strings.Join(times, ", "), other.Client)
			}
			return item
		}
		item.Differs = cmp.Or(item.Differs, fmt.Sprintf("in %s from that of %s", strings.Join(keys, ", "), other.Client))
	}
	for slices.ContainsFunc(before, func(other importItem) bool { return strings.EqualFold(other.Name, item.Name) }) {
		item.Name += "-" + f.ID
	}
	return item
}

// compare sets the state of an item. It compares the item with the user's own entry of the same
// name, if there is one. An item that was given a second name may be the user's entry of its first
// name, unless an item before it is that entry.
func (i *importItem) compare(own []host.Server, before []importItem, first string) {
	for _, mine := range own {
		named := strings.EqualFold(mine.Name, i.Name)
		if !named && !strings.EqualFold(mine.Name, first) {
			continue
		}
		adopted, _ := asEntry(i.server, mine)
		keys := differences(adopted, mine)
		if !named && len(keys) == 0 {
			named = !slices.ContainsFunc(before, func(other importItem) bool {
				return strings.EqualFold(other.Name, first) && (other.State == importSame || other.State == importLoose)
			})
		}
		switch {
		case !named:
			continue
		case len(keys) > 0:
			i.State, i.Differs = importTaken, "in "+strings.Join(keys, ", ")+" from your own"
		default:
			i.isEntry(mine)
		}
	}
}

// isEntry sets the state of an item that is the same as an entry of the user.
func (i *importItem) isEntry(mine host.Server) {
	i.State, i.Name, i.Differs = importSame, mine.Name, ""
	if !strings.EqualFold(mine.Name, i.server.Name) {
		i.There = i.server.Name
	}
	if !forbidsAll(mine, i.server) {
		i.State = importLoose
	}
}

// maxRenamed is how many pairs of an item and an entry of another name are compared. Each takes some 50 µs.
const maxRenamed = 20_000

// findRenamed sets the state of the items that the user has under another name. Such an entry is the same as the
// item, its secrets too. Where there are too many to compare, the rest stays as it is.
func (a *app) findRenamed(ctx context.Context, own []host.Server, items []importItem) error {
	left := maxRenamed
	for i := range items {
		item := &items[i]
		if item.State != importNew && item.State != importTaken {
			continue
		}
		for _, mine := range own {
			switch {
			case strings.EqualFold(mine.Name, item.server.Name): // which compare has looked at
				continue
			case mine.Command != item.server.Command || len(mine.Args) != len(item.server.Args): // as asEntry would find at length
				continue
			}
			if left--; left < 0 {
				return nil
			}
			adopted, values := asEntry(item.server, mine)
			if len(differences(adopted, mine)) > 0 {
				continue
			}
			others, err := a.otherSecrets(ctx, values)
			if err != nil {
				return err
			}
			if len(others) == 0 {
				item.isEntry(mine)
				break
			}
		}
	}
	return nil
}

// warnOfTwins compares the new servers of different clients that are the same, or have the same name there. It warns if one
// of two allows what the client of the other forbids. It compares at most maxRenamed pairs.
func (a *app) warnOfTwins(items []importItem) {
	type start struct {
		command string
		args    int
	}
	alike, named := make(map[start][]*importItem), make(map[string][]*importItem)
	starts := func(i *importItem) start { return start{i.server.Command, len(i.server.Args)} }
	nameOf := func(i *importItem) string { return strings.ToLower(i.server.Name) }
	for i := range items {
		if item := &items[i]; item.State == importNew {
			alike[starts(item)] = append(alike[starts(item)], item)
			named[nameOf(item)] = append(named[nameOf(item)], item)
		}
	}
	left := maxRenamed
	for i := range items {
		item := &items[i]
		if item.State != importNew {
			continue
		}
		for _, twin := range slices.Concat(named[nameOf(item)], alike[starts(item)]) {
			if item.Client == twin.Client {
				continue
			}
			if left--; left < 0 {
				return
			}
			what := "a server of that name"
			if nameOf(item) != nameOf(twin) {
				if what = "the same server"; len(differences(item.server, twin.server)) > 0 {
					continue
				}
			}
			if forbidsAll(item.server, twin.server) {
				continue
			}
			a.Warn("%s allows what %s of %s, %s, forbids (%s): each stays as it is",
				plain.Line(item.Name), plain.Line(twin.Name), twin.Client, what, forbidden(twin.server, item.server))
			break
		}
	}
}

// warnOfLooser warns if the user's file has another server under the name that the item has in its client, and that entry
// allows what the client forbids to the item.
func (a *app) warnOfLooser(own *tomledit.File, item importItem) {
	mine, there := among(own.Read.Servers, item.server.Name)
	if there && !forbidsAll(mine, item.server) {
		a.Warn("%s in %s allows what %s of %s, a server of that name, forbids (%s): your entry stays as it is",
			plain.Line(mine.Name), own.Path, plain.Line(item.server.Name), item.Client, forbidden(item.server, mine))
	}
}

// compareSecrets notes where a server that was copied before has another value now for a secret that
// went to the vault then, and where one that is new would have a secret under a name that is taken.
func (a *app) compareSecrets(ctx context.Context, own []host.Server, items []importItem) error {
	for i := range items {
		item := &items[i]
		values := make(map[string]string)
		switch item.State {
		case importSame, importLoose:
			mine, _ := among(own, item.Name)
			_, values = asEntry(item.server, mine)
		case importNew:
			s := item.server
			s.Name = item.Name
			s.Adopt(values, make(map[string]string))
		}
		var err error
		if item.stale, err = a.otherSecrets(ctx, values); err != nil {
			return err
		}
		if len(item.stale) > 0 {
			item.Differs = "in the value of ${secret:" + strings.Join(item.stale, "}, ${secret:") + "} from the vault"
		}
		if item.State == importNew && len(item.stale) > 0 {
			item.State = importHeld
		}
	}
	return nil
}

// otherSecrets returns the names of those secrets for which the vault has another value.
func (a *app) otherSecrets(ctx context.Context, values map[string]string) (names []string, err error) {
	for _, name := range sortedNames(values) {
		v, err := a.openVault()
		if err != nil {
			return nil, err
		}
		text, found, err := v.LoadSecret(ctx, name)
		if err != nil {
			return nil, err
		}
		if found && text != values[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// refused returns the error for the items that are not copied because of their secrets, or nil.
func refused(items []importItem) error {
	var held exit.Failures
	for _, item := range items {
		if item.State == importHeld {
			held.Add(item.Name, exit.Usage(fmt.Errorf("%s of %s is not copied: there is another secret %s in the vault", plain.Line(item.Name), item.Client, item.stale[0]),
				"`wharf import %s --server %s --name NAME` gives it another name; "+forgetsSecret, item.Client, plain.Word(item.server.Name), item.stale[0]))
		}
	}
	return held.Err()
}

// forgetsSecret is the hint at a secret whose name is taken.
const forgetsSecret = "`wharf auth secret --forget %s` forgets the secret, where no other server means it"
