package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/policy"
)

// askConsent asks whether a call goes on that a policy wants the person to be asked about. Only "y" and "yes"
// let it.
func (a *app) askConsent(ctx context.Context, q policy.Question) (bool, error) {
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	var above string
	rule := cleantext.Line(q.Rule, factBytes)
	if q.Reason != "" {
		above = a.Own("%s says, in its own words behind the bars:", rule) + a.Quote(q.Reason, term.OfMessage, "")
	}
	if arguments := q.Arguments; arguments != nil {
		above += a.Own("These are the arguments of the call:") + a.Quote(cleantext.JSON(string(arguments)), ofSummary, "")
	}
	above += a.Own("%s (asked by %s).", cleantext.Line(fmt.Sprintf("%s wants to call %s", q.Caller, q.Call), factBytes), rule)
	text, err := a.Ask(ctx, term.Question{Above: above, Prompt: "May it be called? yes, [n]o: ", Consent: true})
	switch {
	case errors.Is(err, term.ErrDeclined), errors.Is(err, term.ErrCancelled), errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(text))
	return answer == "y" || answer == "yes", nil
}
