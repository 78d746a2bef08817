// Package elicit lets a server ask the person at the terminal something: by a form, or
// by a page to visit (2025-11-25/client/elicitation).
package elicit

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Elicit lets the person answer the server. It answers without the person in two cases: it
// declines after they have said that they want no more questions, and where there is no terminal
// the respondent answers, which only forms are given to.
//
// After an interrupt, Elicit waits for the end of ctx before it returns. An answer would let the
// server finish the request that is being cancelled.
func (a *Asker) Elicit(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
	ask := a.consult
	if a.Respondent != nil && !a.CanAsk() {
		ask = a.respond
	}
	result, err := ask(ctx, e)
	if a.Interrupted() {
		<-ctx.Done()
	}
	return result, err
}

// consult shows the person what the server asks, behind bars, and below it, in Wharf's own words,
// what a yes allows.
func (a *Asker) consult(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
	if a.limit.isStopped() {
		return a.declineUnasked()
	}
	ctx, end, err := a.Dialog(ctx)
	if err != nil {
		return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	defer end()
	if err := a.checkLimit(ctx); err != nil {
		return a.result(nil, err)
	}
	fmt.Fprintf(a.Err, "\n%s", a.StyleErr(term.Bold, a.Own("%s asks, in its own words behind the bars:", plain.Server(a.Server))))
	fmt.Fprint(a.Err, a.Quote(e.Message, term.OfMessage, ""))
	var content map[string]any
	if e.Mode == mcp.ElicitURL {
		err = a.visit(ctx, e.URL)
	} else {
		content, err = a.fillIn(ctx, e)
	}
	return a.result(content, err)
}

// result returns the result of a dialog that ended with err, and tells the person about it.
func (a *Asker) result(content map[string]any, err error) (mcp.ElicitResult, error) {
	var unfit *host.RPCError
	server := plain.Name(a.Server.Name, plain.NameColumns)
	switch {
	case err == nil:
		return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
	case errors.As(err, &unfit):
		fmt.Fprint(a.Err, a.Own("%s asked for what cannot be asked.", server), a.Quote(err.Error(), term.OfMessage, ""))
		return mcp.ElicitResult{}, err
	case errors.Is(err, errStopped):
		return a.declineUnasked()
	case errors.Is(err, term.ErrDeclined):
		fmt.Fprintf(a.Err, "Declined. Nothing was sent to %s.\n", server)
		return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	fmt.Fprintf(a.Err, "Cancelled. Nothing was sent to %s.\n", server)
	return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
}
