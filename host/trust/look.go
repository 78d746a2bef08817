package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/config"
)

// Look describes a server of a project, and says whether it is approved. It starts nothing, and
// neither shows nor sends any value of a variable. Of the project's files it reads those that
// the command names, within the bounds of [Store.LookAll].
func (s *Store) Look(ctx context.Context, server config.Server) (Approval, error) {
	if server.Project == nil {
		return Approval{}, fmt.Errorf("server %s is your own, and needs no approval", server.Name)
	}
	records, err := s.Records()
	if err != nil {
		return Approval{}, err
	}
	a, err := s.compare(server, records, questionBudget(ctx))
	if a.State == Denied {
		err = nil // it is not used, whatever is missing
	}
	return a, err
}

// LookAll is Look for several servers that a person decides about at once. It reads at most 256
// MiB of the project's files for all of them together, in at most 15 seconds.
func (s *Store) LookAll(ctx context.Context, servers []config.Server) []Looked {
	return s.survey(servers, questionBudget(ctx), false)
}

// List returns the state of servers of a project, for an overview. For a server without a
// decision it reads nothing of the project, and returns no hash and no facts. For all others
// together it reads at most 64 MiB, in at most two seconds. A server beyond that is [Unseen],
// and its Err says so.
func (s *Store) List(ctx context.Context, servers []config.Server) []Looked {
	return s.survey(servers, listBudget(ctx), true)
}

// survey looks at servers within one budget. If decided is set, it looks only at those with a
// decision.
func (s *Store) survey(servers []config.Server, b *budget, decided bool) []Looked {
	records, err := s.Records()
	all := make([]Looked, len(servers))
	for i, server := range servers {
		l := &all[i]
		l.Approval.Server, l.Approval.State = server.Name, New
		if server.Project == nil {
			l.Approval.State = Approved
			continue
		}
		l.Approval.Project, l.Approval.File = server.Project.Folder, server.Project.File
		if l.Err = err; err != nil || decided && about(records, l.Approval.key()) == nil {
			continue
		}
		a, err := s.compare(server, records, b)
		switch l.Err = err; {
		case errors.Is(err, errBudget) && decided && a.State != Denied:
			l.Approval.State = Unseen
		case a.Hash != "":
			l.Approval = a
		}
	}
	return all
}

// compare describes a server as it is now, and compares it with the decision. A server of which
// something is missing, such as its command, comes with an error: it can be denied, and not approved.
func (s *Store) compare(server config.Server, records []Record, b *budget) (a Approval, err error) {
	if err = a.describe(server, s.plugins, b); err != nil {
		a = Approval{Entry: incomplete(server)}
	}
	wrong := a.check()
	if err = cmp.Or(err, wrong); err != nil {
		err = fmt.Errorf("server %s of %s: %w", server.Name, server.Project.Path(), err)
	}
	if wrong != nil || err != nil && b.ctx.Err() != nil { // a look that was called off shows nothing
		return Approval{}, err
	}
	a.State, a.Hash, a.Disabled = New, a.hash(), server.Disabled
	if a.Pin = a.Hash; err == nil {
		a.Pin = a.pinOf(server)
	}
	if r := about(records, a.key()); r != nil {
		a.State, a.Decided = r.State, r.Decided
		if r.Hash != a.Hash {
			a.State, a.Changes = Changed, differences(r.Entry, a.Entry)
		}
	}
	return a, err
}
