package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
)

// asker asks the client in whose request something happens.
type asker func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

type askerKey struct{} // holds the asker of a request

func withAsker(ctx context.Context, ask asker) context.Context {
	return context.WithValue(ctx, askerKey{}, ask)
}

// memberElicitation is the member of an elicitation in URL mode that names it
// (2025-11-25/client/elicitation#url-mode-elicitation-requests).
const memberElicitation = "elicitationId"

// Person returns the person at the clients of gateways, for [host.Config].Person. A page is shown by
// the client whose call needs the sign-in, if it can show pages (URL mode of elicitation), and
// otherwise by p. All else is left to p, which may be nil.
func Person(p *signin.Person) *signin.Person {
	var all signin.Person
	if p != nil {
		all = *p
	}
	elsewhere := all.OpenURL
	all.OpenURL = func(ctx context.Context, page signin.Page) error {
		asked, err := showPage(ctx, page)
		switch {
		case asked && (err == nil || errors.Is(err, signin.ErrDeclined)):
			return err
		case ctx.Err() != nil: // the page was visited, or nobody waits for it any more
			return context.Cause(ctx)
		case elsewhere != nil:
			return elsewhere(ctx, page)
		}
		return fmt.Errorf("%s wants a sign-in, and its page cannot be shown; run: wharf login %[1]s", page.Server)
	}
	return &all
}

// showPage has the client of a call show a page. It reports whether there is a client that answered.
func showPage(ctx context.Context, page signin.Page) (asked bool, err error) {
	ask, _ := ctx.Value(askerKey{}).(asker)
	if ask == nil {
		return false, nil
	}
	message := fmt.Sprintf("%s wants you to sign in.", cmp.Or(page.Server, page.Provider))
	answer, err := ask(ctx, mcp.MethodElicit, edit(nil,
		change{"mode", quote(mcp.ElicitURL)}, change{"message", quote(message)}, change{"url", quote(page.URL)}))
	switch {
	case err != nil:
		return false, err
	case text(answer, "action") != mcp.ElicitAccept:
		return true, signin.ErrDeclined
	}
	return true, nil
}
