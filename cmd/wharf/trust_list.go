package main

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/trust"
)

func (a *app) runTrustList(ctx context.Context, t *trust.Store, _ []string) error {
	list, err := inventory.Decisions(ctx, t, a.settings.project())
	if err != nil {
		return err
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
	if len(rows) == 1 {
		a.none("there are no servers of a project here, and none was decided on elsewhere")
	}
	return a.printTable(rows)
}

// warnUnseen warns of servers that were not looked at, and says why for the first.
func (a *app) warnUnseen(list []inventory.Decision) {
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
