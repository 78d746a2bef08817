package main

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/trust"
)

// decision is how the JSON output shows a line of the list.
type decision struct {
	Project string      `json:"project"`
	File    string      `json:"file"`
	Server  string      `json:"server"`
	State   trust.State `json:"state"`
	Decided *time.Time  `json:"decided,omitempty"`
	Hash    string      `json:"hash,omitempty"` // of the server as it is now, if it was decided on; in another project, as it was then
	Problem string      `json:"problem,omitempty"`
}

func (a *app) runTrustList(ctx context.Context, t *trust.Store, _ []string) error {
	records, err := t.Records()
	if err != nil {
		return err
	}
	list := []decision{}
	for _, l := range t.List(ctx, a.settings.project()) {
		list = append(list, decisionOf(l))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, r := range records {
		same := func(d decision) bool { return d.Project == r.Project && d.File == r.File && d.Server == r.Server }
		if !slices.ContainsFunc(list, same) {
			list = append(list, decision{r.Project, r.File, r.Server, r.State, &r.Decided, r.Hash, ""})
		}
	}
	a.warnOf(a.settings)
	if !a.forPeople() {
		return a.PrintJSON(list)
	}
	a.warnUnseen(list)
	rows := plain.Table{{"SERVER", "STATE", "SINCE", "FILE"}}
	for _, d := range list {
		since := ""
		if d.Decided != nil {
			since = d.Decided.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{plain.Line(d.Server), string(d.State), since, plain.Line(filepath.Join(d.Project, filepath.FromSlash(d.File)))})
	}
	return a.printTable(rows)
}

// warnUnseen warns of servers that were not looked at, and says why for the first.
func (a *app) warnUnseen(list []decision) {
	unseen := 0
	var first string
	for _, d := range list {
		if d.State == trust.Unseen {
			unseen++
			first = cmp.Or(first, d.Problem)
		}
	}
	if unseen > 0 {
		a.Warn("%d of these servers were not looked at: %s", unseen, first)
	}
}

// decisionOf is the line of a server of this project.
func decisionOf(l trust.Looked) decision {
	p := l.Approval
	d := decision{Project: p.Project, File: p.File, Server: p.Server, State: p.State, Hash: p.Hash}
	if l.Err != nil {
		d.Problem = l.Err.Error()
	}
	if !p.Decided.IsZero() {
		d.Decided = &p.Decided
	}
	return d
}
