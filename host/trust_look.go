package host

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/trust"
)

// Looked is an approval, or why there is none.
type Looked struct {
	Approval Approval // its Server, Project and State in any case
	Err      error
}

// LookAll is Look for servers that a person wants to decide about at once. Of the
// project's files no more than 256 MiB is read for all of them together.
func (t *Trust) LookAll(servers []Server) []Looked {
	return t.survey(servers, trust.ForQuestion(), false)
}

// List says how things stand with servers of a project, for a look around. It reads
// nothing of the project for those that were not decided about, which have no Hash
// and no Facts, and next to nothing for all together: 64 MiB, in two seconds. Beyond
// that a server is [TrustUnseen], and Err says so.
func (t *Trust) List(servers []Server) []Looked {
	return t.survey(servers, trust.ForList(), true)
}

// State says how things stand with one server, as List does. One that cannot be
// looked at is not approved.
func (t *Trust) State(s Server) TrustState { return t.List([]Server{s})[0].Approval.State }

// survey looks at servers within one budget.
func (t *Trust) survey(servers []Server, b *trust.Budget, decided bool) []Looked {
	records, err := t.ledger.List()
	all := make([]Looked, len(servers))
	for i, s := range servers {
		all[i] = t.surveyOne(s, records, err, b, decided)
	}
	return all
}

func (t *Trust) surveyOne(s Server, records []TrustRecord, err error, b *trust.Budget, decided bool) Looked {
	l := Looked{Approval{Server: s.Name, State: TrustNew}, err}
	if s.Project == nil {
		l.Approval.State = TrustApproved
		return l
	}
	l.Approval.Project = *s.Project
	if err != nil || decided && trust.About(records, keyOf(s)) == nil {
		return l
	}
	a, _, err := t.weigh(s, records, b)
	switch {
	case errors.Is(err, trust.ErrBudget) && decided:
		l.Approval.State, l.Err = TrustUnseen, err
	case err != nil:
		l.Err = err
	default:
		l.Approval = a
	}
	return l
}

// keyOf names what a decision about a server of a project is about.
func keyOf(s Server) trust.Key {
	return trust.Key{Project: s.Project.Folder, File: s.Project.File, Server: s.Name}
}

// look is Look, and also returns the path of the command.
func (t *Trust) look(s Server) (a Approval, command string, err error) {
	if s.Project == nil {
		return a, "", fmt.Errorf("server %s is your own, and needs no approval", s.Name)
	}
	records, err := t.ledger.List()
	if err != nil {
		return a, "", err
	}
	return t.weigh(s, records, trust.ForQuestion())
}

// weigh compares a server with what was decided.
func (t *Trust) weigh(s Server, records []TrustRecord, b *trust.Budget) (a Approval, command string, err error) {
	d, err := describe(s, t.files, b)
	if err == nil {
		err = d.entry.Check()
	}
	if err != nil {
		return a, "", fmt.Errorf("server %s of %s: %w", s.Name, s.Project.Path(), err)
	}
	a = Approval{
		Server: s.Name, Project: *s.Project, State: TrustNew, Hash: d.entry.Hash(),
		Facts: d.entry.Facts, Warnings: d.warnings, entry: d.entry,
	}
	r := trust.About(records, d.entry.Key())
	switch {
	case r == nil:
		return a, d.command, nil
	case r.Hash != a.Hash:
		a.State, a.Changes = TrustChanged, trust.Differences(r.Entry, d.entry)
	default:
		a.State = TrustState(r.Verdict)
	}
	a.Decided = r.Decided
	return a, d.command, nil
}
