package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/host"
)

// visitPage shows the address of a page that a server wants the person to go to,
// and opens it when they say so and not before. nil is their consent; what they
// do on the page, the server alone learns (2025-11-25/client/elicitation).
func (a *app) visitPage(ctx context.Context, address string) error {
	site, odd := siteOf(address)
	fmt.Fprintf(a.err, "It wants you to visit a page of %s:\n  %s\n", a.styled(a.errTTY, styleBold, line(site)), line(address))
	if odd != "" {
		fmt.Fprintf(a.err, "%s %s\n", a.styled(a.errTTY, styleRed, "warning:"), odd)
	}
	question := "Open it in your browser? [y/N]: "
	opens := !a.flags.noBrowser && os.Getenv("NO_BROWSER") == ""
	if !opens {
		question = "Will you visit it? [y/N]: "
	}
	a.keys().forget()
	answer, err := a.keys().ask(ctx, question, "", false)
	if err != nil {
		return err
	}
	if yes, err := truth(strings.TrimSpace(answer)); err != nil || yes == false {
		return errRefused
	}
	if !opens {
		return nil
	}
	if err := host.OpenBrowser(ctx, address); err != nil {
		fmt.Fprintln(a.err, plain(err.Error()))
		return errRefused
	}
	return nil
}

// siteOf returns the machine that an address leads to, and what is odd about it.
func siteOf(address string) (site, odd string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return "nowhere", "this is no address of the web."
	case strings.Contains(strings.ToLower(u.Host), "xn--") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7f }):
		odd = "the name has letters that can look like others. Make sure that it is the one you know."
	case u.User != nil:
		odd = "what stands before the @ is not where it leads."
	case u.Scheme != "https":
		odd = "the connection to it is not encrypted."
	}
	return u.Host, odd
}
