package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/trust"
)

// shownWarnings is how many warnings about a server stand in a question. A server could cause
// so many that the person skips all of them.
const shownWarnings = 12

// maxUnclear is how often a person may type something that does not answer the question. The last
// time counts as a no.
const maxUnclear = 3

// askApproval shows a server of a project and asks whether it may be used. Only "y" and "yes"
// allow it. A question mark explains the answers. After any other word it asks again, and does not
// show that word: it may be a secret that was meant for another question.
func (a *app) askApproval(ctx context.Context, p trust.Approval) (trust.Decision, error) {
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return trust.NotNow, err
	}
	defer leave()
	fmt.Fprint(a.Err, a.approvalFacts(p, factBytes))
	above := a.approvalSummary(p)
	answers := a.Own("yes: it may be used from now on, until it changes. no: not this time, and you are asked again. never: it is not used, and you are not asked again.")
	for unclear := 0; unclear < maxUnclear; {
		text, err := a.Ask(ctx, term.Question{Above: above, Prompt: "May it be used? yes, [n]o, never: ", Consent: true})
		switch {
		case errors.Is(err, term.ErrDeclined), errors.Is(err, term.ErrCancelled), errors.Is(err, io.EOF):
			return trust.NotNow, nil
		case err != nil:
			return trust.NotNow, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return trust.Always, nil
		case "never":
			return trust.Never, nil
		case "", "n", "no":
			return trust.NotNow, nil
		case "?":
			above = answers
		default:
			above = a.Own("That is no answer to this question.") + answers
			unclear++
		}
	}
	return trust.NotNow, nil
}

// approvalFacts returns what is known of a server of a project, with at most limit bytes of each
// value. A limit of 0 cuts nothing.
func (a *app) approvalFacts(p trust.Approval, limit int) string {
	rest, most := allOf(p), ofFacts
	if limit == 0 {
		most = term.Excerpt{}
	}
	rows := []term.Fact{{Name: "project", Text: plain.Name(p.Project, 4096)}, {Name: "file", Text: plain.Name(p.File, 4096)}}
	missing := 0
	for _, f := range p.Shown() {
		text, left := f.Text(limit)
		missing += left
		rows = append(rows, term.Fact{Name: f.Name, Text: text})
	}
	var out strings.Builder
	out.WriteString(a.StyleErr(term.Bold, a.Own("%s is a server that came with a project:", plain.Name(p.Server, plain.NameColumns))))
	out.WriteString(a.Facts(rows, most, missing, rest) + "hash  " + p.Pin + "\n")
	out.WriteString(a.approvalChanges(p, limit, rest))
	for i, w := range p.Warnings {
		if limit > 0 && i == shownWarnings {
			out.WriteString(a.Own("! and %d more warnings%s", len(p.Warnings)-i, rest))
			break
		}
		out.WriteString(a.Own("! %s", cleantext.Visible(w)))
	}
	if p.Disabled {
		out.WriteString(a.Own("! it is disabled, and stays so when you approve it"))
	}
	return out.String()
}

// approvalChanges returns how a server differs from the one that the person decided on. It shows at
// most limit bytes of each value, and then rest.
func (a *app) approvalChanges(p trust.Approval, limit int, rest string) string {
	if len(p.Changes) == 0 {
		return ""
	}
	var lines strings.Builder
	for _, c := range p.Changes {
		lines.WriteString(c.String() + "\n")
	}
	most := term.OfMessage
	if limit == 0 {
		most = term.Excerpt{}
	}
	return a.Own("It has changed since you decided on %s:", p.Decided.Local().Format(time.DateTime)) + a.Quote(lines.String(), most, rest)
}

// How much is shown before the person consents to a server of a project or a plugin.
var (
	ofFacts   = term.Excerpt{Bytes: 0, Rows: 100} // each fact has a bound of its own
	ofSummary = term.Excerpt{Bytes: 512, Rows: 5} // what a yes allows, right above the question
)

// factBytes is how many bytes are shown of one argument. Of a list of arguments four times as many
// are shown.
const factBytes = 1 << 10

// approvalSummary returns what a yes allows. It stands right above the question.
func (a *app) approvalSummary(p trust.Approval) string {
	facts := make(map[string]trust.Fact)
	for _, f := range p.Shown() {
		facts[f.Name] = f
	}
	grants, _ := facts["grants"].Text(0)
	text := a.Own("If you say yes, %s may %s:", plain.Name(p.Server, plain.NameColumns), grants)
	quote := func(names ...string) string {
		var words []string
		for _, name := range names {
			if f, there := facts[name]; there {
				word, _ := f.Text(0)
				words = append(words, word)
			}
		}
		if words == nil {
			return ""
		}
		return a.Quote(strings.Join(words, " "), ofSummary, allOf(p)) // above it may be cut as well
	}
	text += quote("command", "arguments", "url", "address")
	if scopes := quote("sign-in scopes"); scopes != "" {
		text += a.Own("It wants you to sign in to it, for:") + scopes
	}
	return text
}

// allOf says where all that is known of a server of a project can be read.
func allOf(p trust.Approval) string {
	return "; `wharf trust show " + plain.Name(p.Server, plain.NameColumns) + "` prints all"
}

// otherHash is the error of a server whose hash is not that of --trust-hash.
func otherHash(p trust.Approval) error {
	return exit.WithHint(fmt.Errorf("%w: its hash is not that of --trust-hash", &trust.UnapprovedError{Approval: p}),
		"`wharf trust show "+plain.Word(p.Server)+"` shows what it does, and its hash")
}

// checkHash refuses a server that is approved if --trust-hash names another. Of one that is not, the host has to
// ask, and letApprove compares it.
func (a *app) checkHash(ctx context.Context, server host.Server) error {
	if a.flags.trustHash == "" || server.Project == nil {
		return nil
	}
	dir, err := trust.DefaultDir()
	if err != nil {
		return nil // then none is approved
	}
	p, err := trust.Open(dir, a.settings.plugins).Look(ctx, server)
	if err == nil && p.State == trust.Approved && !p.Names(string(a.flags.trustHash)) {
		return otherHash(p)
	}
	return nil
}

// letApprove lets a host ask about servers of projects. Without a terminal and without
// --trust-hash, the host refuses them.
func (a *app) letApprove(c *host.Config) {
	c.TrustDir, _ = trust.DefaultDir()
	switch {
	case a.flags.trustHash != "":
		c.Approve = func(_ context.Context, p trust.Approval) (trust.Decision, error) {
			if p.Names(string(a.flags.trustHash)) {
				return trust.JustOnce, nil
			}
			return trust.NotNow, otherHash(p)
		}
	case a.CanAsk():
		c.Approve = func(ctx context.Context, p trust.Approval) (trust.Decision, error) {
			if server, found := a.settings.find(p.Server); found { // what cannot start is not worth a question
				if err := server.CheckVariables(os.LookupEnv); err != nil {
					return trust.NotNow, exit.Usage(err, "")
				}
			}
			if slices.Contains(a.approved, p.Hash) {
				return trust.JustOnce, nil
			}
			d, err := a.askApproval(ctx, p)
			if d == trust.Always {
				a.approved = append(a.approved, p.Hash)
			}
			return d, err
		}
	}
}
