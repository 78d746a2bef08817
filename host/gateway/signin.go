package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/signin"
)

// asker sends a request to the client whose request is being served, and returns its answer.
type asker func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// The keys of the values of a request.
type (
	askerKey          struct{} // holds the asker
	capabilitiesKey   struct{} // holds those that the client of the asker offers
	withoutBrowserKey struct{} // is there if the client wants no page opened, see WithoutBrowser
)

// withAsker returns the context of a request whose client offers these capabilities.
func withAsker(ctx context.Context, capabilities json.RawMessage, ask asker) context.Context {
	return context.WithValue(context.WithValue(ctx, capabilitiesKey{}, capabilities), askerKey{}, ask)
}

// withAskerOf returns ctx with the asker of a request.
func withAskerOf(ctx, request context.Context) context.Context {
	capabilities, _ := request.Value(capabilitiesKey{}).(json.RawMessage)
	return withAsker(ctx, capabilities, askerOf(request))
}

// askerOf returns the asker of a request, or nil if it has none.
func askerOf(ctx context.Context) asker {
	ask, _ := ctx.Value(askerKey{}).(asker)
	return ask
}

// WithoutBrowser returns a context for [Gateway.ServeConn] and [Gateway.ServeBare]: because of the requests of
// that client, [Person] shows sign-in pages at the client itself or not at all. So one gateway serves clients
// that want their pages opened and others that do not.
func WithoutBrowser(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutBrowserKey{}, true)
}

func isWithoutBrowser(ctx context.Context) bool { return ctx.Value(withoutBrowserKey{}) != nil }

// showsPages reports whether the client of a request offers to show pages.
func showsPages(ctx context.Context) bool {
	capabilities, _ := ctx.Value(capabilitiesKey{}).(json.RawMessage)
	return askerOf(ctx) != nil && checkOffered(capabilities, mcp.MethodElicit, edit(nil, change{"mode", quote(mcp.ElicitURL)})) == nil
}

// memberElicitation is the member of an elicitation in URL mode that names it
// (2025-11-25/client/elicitation#url-mode-elicitation-requests).
const memberElicitation = "elicitationId"

// Person returns a [host.Config].Person that shows a sign-in page at the client whose call needs it,
// if the client can show pages (URL mode of elicitation), and in the same way the page at which a code is
// typed. Otherwise p shows them, unless the client is served [WithoutBrowser], and p asks all other questions.
// p may be nil.
func Person(p *signin.Person) *signin.Person {
	var all signin.Person
	if p != nil {
		all = *p
	}
	openElsewhere, showElsewhere := all.OpenURL, all.ShowCode
	all.Present = func(ctx context.Context) bool { return !isWithoutBrowser(ctx) || showsPages(ctx) }
	all.OpenURL = func(ctx context.Context, page signin.Page) error {
		shown, err := showPage(ctx, page.URL, cmp.Or(page.Server, page.Provider)+" wants you to sign in.")
		if !shown && err == nil {
			err = elsewhere(ctx, openElsewhere, page, fmt.Errorf("%s wants a sign-in, and its page cannot be shown", page.Server))
		}
		return err
	}
	all.ShowCode = func(ctx context.Context, code signin.Code) error {
		message := fmt.Sprintf("%s wants you to sign in. Type the code %s at %s", cmp.Or(code.Server, code.Provider), code.Code, code.URL)
		shown, err := showPage(ctx, cmp.Or(code.Complete, code.URL), message)
		if !shown && err == nil {
			err = elsewhere(ctx, showElsewhere, code, fmt.Errorf("%s wants a sign-in, and its code cannot be shown", code.Server))
		}
		return err
	}
	return &all
}

// elsewhere shows a page or a code where the client does not. It returns otherwise if there is no show, or if the client
// wants no browser.
func elsewhere[T any](ctx context.Context, show func(context.Context, T) error, what T, otherwise error) error {
	if show == nil || isWithoutBrowser(ctx) {
		return otherwise
	}
	return show(ctx, what)
}

// Confirm is a [host.Config].Confirm that asks the client whose call it is, with a form without fields.
func Confirm(ctx context.Context, q policy.Question) (bool, error) {
	ask := askerOf(ctx)
	if ask == nil {
		return false, errors.New("there is no client that could be asked")
	}
	answer, err := ask(ctx, mcp.MethodElicit, edit(nil,
		change{"message", quote(q.String())}, change{"requestedSchema", json.RawMessage(`{"type":"object","properties":{}}`)}))
	var no *rpc.Error
	if errors.As(err, &no) && (no.Code == mcp.CodeMethodNotFound || no.Code == mcp.CodeInvalidParams) {
		return false, errors.New("the client shows no forms (elicitation)")
	}
	return err == nil && text(answer, "action") == mcp.ElicitAccept, err
}

// showPage asks the client of a call to show a page. It returns false and no error if there is no
// client, or if the client cannot show pages. If the client leaves before it answers, showPage
// returns an error, so that the person is not asked in another place.
func showPage(ctx context.Context, url, message string) (shown bool, err error) {
	ask := askerOf(ctx)
	if ask == nil {
		return false, nil
	}
	answer, err := ask(ctx, mcp.MethodElicit, edit(nil,
		change{"mode", quote(mcp.ElicitURL)}, change{"message", quote(message)}, change{"url", quote(url)}))
	var no *rpc.Error
	switch {
	case errors.As(err, &no) && (no.Code == mcp.CodeMethodNotFound || no.Code == mcp.CodeInvalidParams):
		return false, nil
	case err != nil:
		return false, err
	case text(answer, "action") != mcp.ElicitAccept:
		return false, signin.ErrDeclined
	}
	return true, nil
}
