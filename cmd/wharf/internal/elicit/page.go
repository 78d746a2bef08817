package elicit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/form"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// ofAddress is how much is shown of the address of a page.
var ofAddress = term.Excerpt{Bytes: 2 << 10, Rows: 32}

// visit shows the address of a page that a server wants the person to visit, and opens it once
// they agree. Where no browser opens, it asks whether they visit it by themselves. It returns nil if
// they agree. Only the server learns what they do on the page (2025-11-25/client/elicitation).
func (a *Asker) visit(ctx context.Context, address string) error {
	shown := a.Quote(address, ofAddress, "; it is opened whole")
	fmt.Fprint(a.Err, shown)
	site, warning := cleantext.Site(address)
	q := term.Question{Above: a.Own("%s wants you to visit a page of %s.", plain.Server(a.Server), site), Consent: true}
	if warning != "" {
		q.Above += a.Caution(warning)
	}
	if !a.PrintsPages && os.Getenv("NO_BROWSER") == "" {
		q.Prompt = "Open it in your browser? [y/N]: "
		if err := a.affirm(ctx, q); err != nil {
			return err
		}
		err := host.OpenBrowser(ctx, address)
		if err == nil {
			return nil
		}
		fmt.Fprint(a.Err, a.Own("%s", cleantext.Visible(err.Error())))
		if errors.Is(err, host.ErrProtocol) || ctx.Err() != nil {
			return term.ErrDeclined
		}
		q.Above = ""
	}
	q.Prompt = "Will you visit it? [y/N]: "
	if err := a.affirm(ctx, q); err != nil {
		return err
	}
	return a.printWhole(address, shown)
}

// affirm asks a yes-or-no question until it gets an answer. No, and an empty line, return [term.ErrDeclined].
func (a *Asker) affirm(ctx context.Context, q term.Question) error {
	for {
		answer, err := a.Ask(ctx, q)
		if err != nil {
			return err
		}
		answer = strings.TrimSpace(answer)
		switch yes, err := form.Truth(answer); {
		case err == nil && yes == true:
			return nil
		case err == nil || answer == "":
			return term.ErrDeclined
		}
		q.Above, q.Consent = a.Own("That is no answer to this question."), false // the question itself was read
	}
}

// printWhole prints the address of a page that the person opens by themselves, in one piece, so
// that they can copy it.
func (a *Asker) printWhole(address, shown string) error {
	if strings.Count(shown, "\n") == 1 {
		return nil
	}
	if cleantext.Visible(address) != address || strings.Contains(address, " ") {
		fmt.Fprintln(a.Err, "The address cannot be copied.")
		return term.ErrDeclined
	}
	fmt.Fprintln(a.Err, address)
	return nil
}
