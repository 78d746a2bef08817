package main

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/trust"
)

// runTrustApprove asks about one server after the other. It skips those that are
// approved.
func (a *app) runTrustApprove(ctx context.Context, t *trust.Store, args []string) error {
	servers, err := a.settings.selectProject(args[0])
	if err != nil {
		return err
	}
	var refused exit.Failures
	for _, l := range t.LookAll(ctx, servers) {
		if err := a.approve(ctx, t, l); err != nil {
			refused.Add(l.Approval.Server, err)
		}
	}
	a.server = refused.Only()
	return refused.Err()
}

func (a *app) approve(ctx context.Context, t *trust.Store, l trust.Looked) (err error) {
	p := l.Approval
	a.server = p.Server
	d, how := trust.NotNow, "say yes on a terminal, or add --trust-hash "+p.Pin
	switch {
	case l.Err != nil:
		return l.Err
	case p.State == trust.Approved && a.flags.trustHash != "" && !p.Names(string(a.flags.trustHash)):
		return otherHash(p)
	case p.State == trust.Approved:
		fmt.Fprintf(a.Err, "%s is approved.\n", plain.Line(p.Server))
		return nil
	case a.flags.trustHash != "" || !a.CanAsk():
		fmt.Fprint(a.Err, a.approvalFacts(p, factBytes), a.approvalSummary(p))
		if p.Names(string(a.flags.trustHash)) {
			d = trust.Always
		}
	default:
		if d, err = a.askApproval(ctx, p); err != nil {
			return err
		}
		how = "`wharf trust approve " + plain.Word(p.Server) + "` asks you again"
	}
	if err := t.Decide(ctx, p, d); err != nil {
		return err
	}
	if d != trust.Always && a.flags.trustHash != "" {
		return otherHash(p)
	}
	if d != trust.Always {
		return exit.WithHint(&trust.UnapprovedError{Approval: p}, how)
	}
	told := "%s may be used from now on, as it is.\n"
	if p.Disabled {
		told = "%s is approved, as it is, and stays disabled.\n"
	}
	fmt.Fprintf(a.Err, told, plain.Line(p.Server))
	return nil
}

// runTrustDeny denies servers, also those that could not start as they are.
func (a *app) runTrustDeny(ctx context.Context, t *trust.Store, args []string) error {
	servers, err := a.settings.selectProject(args[0])
	if err != nil {
		return err
	}
	var failed exit.Failures
	for _, l := range t.LookAll(ctx, servers) {
		err := l.Err
		if l.Approval.Hash != "" {
			err = t.Decide(ctx, l.Approval, trust.Never)
		}
		if err != nil {
			failed.Add(l.Approval.Server, err)
			continue
		}
		fmt.Fprintf(a.Err, "%s is not used, as it is.\n", plain.Line(l.Approval.Server))
	}
	return failed.Err()
}
