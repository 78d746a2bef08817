package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/elicit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/words"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
)

// letSignIn gives a host the callbacks that let the person sign in.
func (a *app) letSignIn(c *host.Config) {
	c.Person = &signin.Person{OpenURL: a.openPage, Ask: a.askText, ShowCode: a.showCode}
}

// letAsk gives a host the callbacks that let a server ask the person something, and let the person
// answer in place of a model. Without a person, the host does not tell servers that it can ask. The
// exceptions are the sampler and the respondent, which answer too: the user who named them has
// consented.
func (a *app) letAsk(server host.Server) (func(*host.Config), error) {
	sampler, err := helperOf("sampler", a.flags.sampler)
	if err != nil {
		return nil, err
	}
	respondent, err := helperOf("respondent", a.flags.respondent)
	if err != nil {
		return nil, err
	}
	if sampler == nil {
		entry, err := server.Expand(os.LookupEnv)
		if err != nil {
			return nil, err
		}
		sampler = entry.Sampler
	}
	limit, _, err := a.flags.timeout.chosen()
	if err != nil {
		return nil, err
	}
	asker := &elicit.Asker{
		Terminal: a.Terminal, Server: server, PrintsPages: a.flags.noBrowser, Sampler: sampler, Respondent: respondent, Limit: limit,
	}
	return func(c *host.Config) {
		if a.CanAsk() || sampler != nil {
			c.Client.Sample = func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
				return asker.Sample(ctx, params)
			}
		}
		if !a.CanAsk() && respondent == nil {
			return
		}
		c.Client.Elicit = func(ctx context.Context, _ string, e mcp.Elicitation) (mcp.ElicitResult, error) {
			return asker.Elicit(ctx, e)
		}
		if !a.CanAsk() { // nothing but a person visits pages
			c.Client.Capabilities = map[string]json.RawMessage{"elicitation": json.RawMessage(`{"form":{}}`)}
		}
	}, nil
}

// helperOf returns the command that a flag gives, or nil.
func helperOf(flag, text string) ([]string, error) {
	command, err := words.Split(text)
	if err != nil || text != "" && len(command) == 0 {
		return nil, exit.Usage(fmt.Errorf("--%s %q: expected a command", flag, text), "quote it as for a shell")
	}
	return command, nil
}

// openPage shows the address of a sign-in page and opens it in the browser. If that is not
// possible or not wanted, the person may use a browser on another machine, and paste the
// address that it ends at. The host has checked that the address contains no blank, so no row
// of it can be taken for one of our own, and it can be copied.
func (a *app) openPage(ctx context.Context, p signin.Page) error {
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return err
	}
	defer leave()
	fmt.Fprintf(a.Err, "%s  %s\n", a.Own("To sign in to %s, visit", plain.Name(p.Server, plain.NameColumns)), cleantext.Text(p.URL))
	if a.flags.opensBrowser(a.ErrTTY) {
		err := host.OpenBrowser(ctx, p.URL)
		if err == nil {
			fmt.Fprint(a.Err, a.Own("It opens in your browser; this goes on when you are done there. If the page shows an error, end this with Ctrl-C and try again."))
			return nil
		}
		fmt.Fprint(a.Err, a.Own("%s", cleantext.Visible(err.Error())))
	}
	return a.takeAddress(ctx, p)
}

// takeAddress reads addresses until one is accepted. At the end of the input it leaves the page
// to the browser.
func (a *app) takeAddress(ctx context.Context, p signin.Page) error {
	site, _ := cleantext.Site(p.URL)
	q := term.Question{Above: a.Own("That is a page of %s, where the auth provider %s has you sign in to %s.", site, plain.Name(p.Provider, plain.NameColumns), plain.Name(p.Server, plain.NameColumns)) +
		a.Own("If the page shows an error, end this with Ctrl-C and try again.") +
		a.Own("If your browser is on another machine, paste here the address that it ends at:")}
	for {
		address, err := a.Ask(ctx, q)
		switch {
		case errors.Is(err, io.EOF) && address == "", errors.Is(err, term.ErrDeclined):
			return nil
		case errors.Is(err, term.ErrCancelled):
			return signin.ErrDeclined
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case strings.TrimSpace(address) == "":
			continue
		}
		wrong := p.Paste(address)
		if wrong == nil {
			return nil
		}
		fmt.Fprint(a.Err, a.Own("%s", cleantext.Visible(wrong.Error())))
	}
}

// askText asks for a text. It quotes what the provider says of it. Below, in our own words, it
// says who asks and for which server.
func (a *app) askText(ctx context.Context, q signin.Question) (string, error) {
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	text, err := a.Ask(ctx, a.questionFor(q))
	if errors.Is(err, io.EOF) {
		if text == "" && !a.InTTY {
			return "", errors.New("stdin ended before an answer")
		}
		err = nil // the last line may have no line end
	}
	if a.InTTY {
		text = strings.TrimSpace(text)
	}
	if errors.Is(err, term.ErrCancelled) || errors.Is(err, term.ErrDeclined) || text == "" && err == nil {
		return "", signin.ErrDeclined
	}
	return text, err
}

// placeOfHeader says where the person has to write a header for the server: after -H, or in its
// entry.
func (a *app) placeOfHeader() string {
	if a.address != "" {
		return "after -H, as 'X-API-Key: …'"
	}
	if a.settings != nil {
		if server, _ := a.settings.find(a.server); isForeign(server) {
			return "into the headers of its entry in " + plain.ShellWord(a.settings.from(server))
		}
	}
	return `into its entry, as headers = {"X-API-Key" = "…"}`
}

// answeredWith is the end of a message about a request that a server refused. said is what the server
// wrote (see [host.RefusalText]); the end is "" if it wrote nothing.
func answeredWith(said string) string {
	if said != "" {
		return "; it answered: " + said
	}
	return ""
}

// wantsSignIn is the message for a server that a person has to sign in to, where none can be asked. said is what the
// server wrote, or "".
func wantsSignIn(server, said string) string {
	return fmt.Sprintf("%s wants a sign-in, and there is no terminal to sign in at%s", server, answeredWith(said))
}

// questionFor shows what a provider says of a question, and returns the question. Without
// a provider the question and its label are our own.
func (a *app) questionFor(q signin.Question) term.Question {
	if q.Provider == "" {
		return term.Question{Prompt: q.Label + ": ", Secret: q.Secret}
	}
	if q.Refused {
		fmt.Fprint(a.Err, a.Own("%s refuses the API key or token that is saved for it.", plain.Name(q.Server, plain.NameColumns)))
	}
	if said := cmp.Or(q.Said, a.refusal); said != "" {
		fmt.Fprint(a.Err, a.Own("%s answered:", plain.Name(q.Server, plain.NameColumns)), a.Quote(a.redacted(said), term.OfMessage, ""))
	}
	for _, said := range []string{q.Hint, q.Label} {
		if said != "" {
			fmt.Fprint(a.Err, a.Quote(said, term.OfMessage, ""))
		}
	}
	kind := "a text"
	if q.Secret {
		kind = "a secret, which is not shown as you type it"
	}
	provider := plain.Name(q.Provider, plain.NameColumns)
	if q.Provider == "oauth" && q.Secret { // Wharf's own: no sign-in at a page is possible
		return term.Question{
			Above: a.Own("It is sent as a Bearer token; if the server wants a key in a header of its own, that goes %s.", a.placeOfHeader()) +
				a.Own("What you type is not shown, and the auth provider %s keeps it.", provider),
			Prompt: "API key or token for " + plain.Name(q.Server, plain.NameColumns/2) + ": ", Secret: true,
		}
	}
	return term.Question{
		Above:  a.Own("The auth provider %s wants %s, to sign in to %s.", provider, kind, plain.Name(q.Server, plain.NameColumns)),
		Prompt: "Give it to " + plain.Name(q.Provider, plain.NameColumns/2) + ": ", Secret: q.Secret,
	}
}

// showCode shows the person a code, and where to type it.
func (a *app) showCode(_ context.Context, c signin.Code) error {
	defer a.Still()()
	fmt.Fprintf(a.Err, "%s  %s\nand type the code\n  %s\n", a.Own("To sign in to %s, visit", plain.Name(c.Server, plain.NameColumns)),
		cleantext.Text(c.URL), a.StyleErr(term.Bold, plain.Name(c.Code, plain.NameColumns)))
	if c.Complete != "" {
		fmt.Fprintf(a.Err, "or visit\n  %s\n", cleantext.Text(c.Complete))
	}
	fmt.Fprint(a.Err, a.Own("The auth provider %s asks for it.", plain.Name(c.Provider, plain.NameColumns)))
	return nil
}
