package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// visitPage shows the address of a page that a server wants the person to go to,
// and opens it when they say so and not before. nil is their consent; what they
// do on the page, the server alone learns (2025-11-25/client/elicitation).
func (a *app) visitPage(ctx context.Context, server host.Server, address string) error {
	shown := a.quoted(address, ofAddress, "; it is opened whole")
	fmt.Fprint(a.err, shown)
	site, odd := siteOf(address)
	q := question{
		above:  a.ours("%s wants you to visit a page of %s.", who(server), site),
		prompt: "Open it in your browser? [y/N]: ", consent: true,
	}
	if odd != "" {
		q.above += a.caution(odd)
	}
	opens := !a.flags.noBrowser && os.Getenv("NO_BROWSER") == ""
	if !opens {
		q.prompt = "Will you visit it? [y/N]: "
	}
	answer, err := a.ask(ctx, q)
	if err != nil {
		return err
	}
	if yes, err := truth(strings.TrimSpace(answer)); err != nil || yes == false {
		return errRefused
	}
	if !opens {
		return a.leavePage(address, shown)
	}
	if err := host.OpenBrowser(ctx, address); err != nil {
		fmt.Fprint(a.err, a.ours("%s", cleantext.Visible(err.Error())))
		return errRefused
	}
	return nil
}

// leavePage gives the person an address that they will visit by themselves: as it
// can be copied, where it was shown in pieces.
func (a *app) leavePage(address, shown string) error {
	if strings.Count(shown, "\n") == 1 {
		return nil
	}
	if cleantext.Visible(address) != address || strings.Contains(address, " ") {
		fmt.Fprintln(a.err, "It is no address that could be copied.")
		return errRefused
	}
	fmt.Fprintln(a.err, address)
	return nil
}

// longestHost is the longest name that a machine can have, with a port (RFC 1035,
// 2.3.4).
const longestHost = 253 + len(":65535")

// siteOf returns the machine that an address leads to, and what is odd about it.
func siteOf(address string) (site, odd string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || len(u.Host) > longestHost:
		return "nowhere", "this is no address of the web."
	case strings.Contains(strings.ToLower(u.Host), "xn--") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7f }):
		odd = "the name has letters that can look like others. Make sure that it is the one you know."
	case u.User != nil:
		odd = "what stands before the @ is not where it leads."
	case u.Scheme != "https":
		odd = "the connection to it is not encrypted."
	}
	return cleantext.Visible(u.Host), odd
}
