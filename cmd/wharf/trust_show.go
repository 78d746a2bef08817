package main

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/host/trust"
)

// approvalJSON is how the JSON output shows all that an approval covers.
type approvalJSON struct {
	Project  string       `json:"project"`
	File     string       `json:"file"`
	Server   string       `json:"server"`
	State    trust.State  `json:"state"`
	Hash     string       `json:"hash"`
	Facts    []trust.Fact `json:"facts"`
	Warnings []string     `json:"warnings,omitempty"`
}

// runTrustShow prints in full what the question about a server shows in part.
func (a *app) runTrustShow(ctx context.Context, t *trust.Store, args []string) error {
	servers, err := a.settings.selectProject(args[0])
	if err != nil {
		return err
	}
	var failed error
	for _, l := range t.LookAll(ctx, servers) {
		p := l.Approval
		if l.Err != nil {
			failed = errors.Join(failed, l.Err)
			continue
		}
		if a.forPeople() {
			err = a.printLaidOut(a.approvalFacts(p, 0))
		} else {
			err = a.PrintJSON(approvalJSON{p.Project, p.File, p.Server, p.State, p.Pin, p.Facts, p.Warnings})
		}
		if err != nil {
			return err
		}
	}
	return failed
}
