package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/trust"
)

// shownWarnings is how many warnings about a server stand in a question. More of them are
// there so that the person does not read them.
const shownWarnings = 12

// askApproval shows a server of a project and asks whether it may be used. It is
// no, unless the person says yes.
func (a *app) askApproval(ctx context.Context, p trust.Approval) (trust.Decision, error) {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return trust.NotNow, err
	}
	defer leave()
	fmt.Fprint(a.err, a.approvalFacts(p, factBytes))
	text, err := a.ask(ctx, question{above: a.approvalGist(p), prompt: "May it be used? yes, [n]o, never: ", consent: true})
	switch {
	case errors.Is(err, errRefused), errors.Is(err, errEscaped):
		return trust.NotNow, nil
	case err != nil:
		return trust.NotNow, err
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return trust.Always, nil
	case "never":
		return trust.Never, nil
	}
	return trust.NotNow, nil
}

// approvalFacts returns what is known of a server of a project: of each value no
// more than limit bytes, and 0 is for all there is.
func (a *app) approvalFacts(p trust.Approval, limit int) string {
	rest := "; `wharf trust show " + plain.Name(p.Server, nameColumns) + "` prints all"
	most := ofFacts
	if limit == 0 {
		most = excerpt{}
	}
	rows := []fact{{"project", plain.Name(p.Project, 4096)}, {"file", plain.Name(p.File, 4096)}}
	missing := 0
	for _, f := range p.Shown() {
		text, left := f.Text(limit)
		missing += left
		rows = append(rows, fact{f.Name, text})
	}
	var out strings.Builder
	out.WriteString(a.styled(a.errTTY, styleBold, a.ours("%s is a server that came with a project:", plain.Name(p.Server, nameColumns))))
	out.WriteString(a.facts(rows, most, missing, rest) + "hash  " + p.Hash + "\n")
	out.WriteString(a.approvalChanges(p, limit, rest))
	for i, w := range p.Warnings {
		if limit > 0 && i == shownWarnings {
			out.WriteString(a.ours("! and %d more warnings%s", len(p.Warnings)-i, rest))
			break
		}
		out.WriteString(a.ours("! %s", cleantext.Visible(w)))
	}
	return out.String()
}

// approvalChanges returns in what a server differs from what was decided about.
func (a *app) approvalChanges(p trust.Approval, limit int, rest string) string {
	if len(p.Changes) == 0 {
		return ""
	}
	var lines strings.Builder
	for _, c := range p.Changes {
		lines.WriteString(c.String() + "\n")
	}
	most := ofMessage
	if limit == 0 {
		most = excerpt{}
	}
	return a.ours("It has changed since you decided on %s:", p.Decided.Local().Format(time.DateTime)) + a.quoted(lines.String(), most, rest)
}

// ofGist is how much of what would be run or reached stands right above the
// question.
var ofGist = excerpt{512, 5}

// approvalGist returns what a yes allows, for right above the question.
func (a *app) approvalGist(p trust.Approval) string {
	facts := make(map[string]trust.Fact)
	for _, f := range p.Facts {
		facts[f.Name] = f
	}
	grants, _ := facts["grants"].Text(0)
	text := a.ours("If you say yes, %s may %s:", plain.Name(p.Server, nameColumns), grants)
	var does []string
	for _, what := range []string{"command", "arguments", "url", "address"} {
		if f, there := facts[what]; there {
			word, _ := f.Text(factBytes)
			does = append(does, word)
		}
	}
	text += a.quoted(strings.Join(does, " "), ofGist, "; it stands above")
	if scopes, there := facts["sign-in scopes"]; there {
		words, _ := scopes.Text(factBytes)
		text += a.ours("It wants you to sign in to it, for:") + a.quoted(words, ofGist, "; it stands above")
	}
	return text
}
