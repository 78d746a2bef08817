package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// asker is a server that may ask the person something, as long as the host of one
// command is open.
type asker struct {
	*app
	server   host.Server
	patience patience
}

// letElicit gives a host the callback that lets a server ask the person
// something (2025-11-25/client/elicitation). It is for those who are there: a
// host without it does not tell servers that it can ask, and nothing is ever
// answered in the person's name but that they want no more questions.
func (a *app) letElicit(server host.Server) func(*host.Config) {
	asks := &asker{app: a, server: server}
	return func(c *host.Config) {
		c.Elicit = func(ctx context.Context, _ string, e mcp.Elicitation) (mcp.ElicitResult, error) {
			return asks.elicit(ctx, e)
		}
	}
}

// elicit has the person answer the server. Once the program is interrupted there is
// no answer while the server may still want one: it would finish the very request
// that is being cancelled, and the interrupt would come to nothing.
func (a *asker) elicit(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
	result, err := a.consult(ctx, e)
	if a.life != nil && a.life.Err() != nil {
		<-ctx.Done()
	}
	return result, err
}

// consult shows the person what the server asks, and what it is that they consent
// to: the one is the server's, and stands between bars; the other is ours, and
// stands next to the answer.
func (a *asker) consult(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
	if a.patience.isOver() {
		return a.silenced()
	}
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	defer leave()
	if err := a.putUpWith(ctx); err != nil {
		return a.settle(nil, err)
	}
	fmt.Fprintf(a.err, "\n%s", a.styled(a.errTTY, styleBold, a.ours("%s asks, in its own words behind the bars:", who(a.server))))
	fmt.Fprint(a.err, a.quoted(e.Message, ofMessage, ""))
	var content map[string]any
	if e.Mode == mcp.ElicitURL {
		err = a.visitPage(ctx, a.server, e.URL)
	} else {
		content, err = a.fillIn(ctx, e)
	}
	return a.settle(content, err)
}

// settle makes a result of how the questions ended, and tells the person.
func (a *asker) settle(content map[string]any, err error) (mcp.ElicitResult, error) {
	var unfit *host.RPCError
	server := plain.Name(a.server.Name, nameColumns)
	switch {
	case err == nil:
		return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
	case errors.As(err, &unfit):
		fmt.Fprint(a.err, a.ours("%s asked for what cannot be asked.", server), a.quoted(err.Error(), ofMessage, ""))
		return mcp.ElicitResult{}, err
	case errors.Is(err, errEnough):
		return a.silenced()
	case errors.Is(err, errRefused):
		fmt.Fprintf(a.err, "Declined. Nothing was sent to %s.\n", server)
		return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	fmt.Fprintf(a.err, "Cancelled. Nothing was sent to %s.\n", server)
	return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
}

const formKeys = "Enter takes the line; on an empty one it skips what is optional. Esc cancels, Ctrl-D declines."

// fillIn asks for one field after the other, and shows all before it is sent. The
// fields can be gone through again; what was filled in stands there then.
func (a *asker) fillIn(ctx context.Context, e mcp.Elicitation) (map[string]any, error) {
	form, err := readForm(ctx, e.RequestedSchema)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, &host.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	if len(form) > 0 {
		fmt.Fprint(a.err, a.styled(a.errTTY, styleDim, a.ours(formKeys)))
	}
	for {
		for i := range form {
			if err := a.fill(ctx, &form[i], i+1, len(form)); err != nil {
				return nil, err
			}
		}
		again, err := a.review(ctx, form)
		if err != nil || !again {
			return form.content(), err
		}
	}
}

// fill shows what the server says of a field, and asks until the answer fits it.
func (a *asker) fill(ctx context.Context, f *field, number, of int) error {
	fmt.Fprint(a.err, "\n"+a.about(f))
	q := question{above: a.heading(f, number, of), prompt: "> ", proposed: f.proposed()}
	for {
		text, err := a.ask(ctx, q)
		if err != nil {
			return err
		}
		wrong := f.take(strings.TrimSpace(text))
		if wrong == nil {
			return nil
		}
		fmt.Fprint(a.err, a.ours("%s", cleantext.Visible(wrong.Error())))
		q.proposed = ""
		if safeToType(text) {
			q.proposed = text
		}
	}
}

// about is what the server says of a field.
func (a *asker) about(f *field) string {
	text := a.quoted(f.label(), ofLabel, "")
	if about := strings.TrimSpace(f.schema.Description); about != "" {
		text += a.quoted(about, ofMessage, "")
	}
	return text + a.options(f)
}

// options are the values of a field to choose from, a row each.
func (a *asker) options(f *field) string {
	var rows []string
	missing := 0
	for i, o := range f.options {
		if i == ofOptions.rows {
			missing = len(f.options) - i
			break
		}
		rows = append(rows, fmt.Sprintf("%3d) %s", i+1, plain.Name(o.label(), a.columns()-plain.Width(bar)-5)))
	}
	text := barred(rows, 0, 0, "")
	if missing > 0 {
		text += fmt.Sprintf("  (%d more; each can be given by its number)\n", missing)
	}
	return text
}

// heading says who wants a field filled in, and with what, and warns where it seems
// to be what no form may ask for.
func (a *asker) heading(f *field, number, of int) string {
	text := a.ours("%d/%d: %s asks for %s.", number, of, who(a.server), strings.Join(f.terms(), ", "))
	if f.secretive() {
		text = a.caution("this looks like a secret. Servers must not ask for one in a form; if in doubt, decline.") + text
	}
	return text
}

// review shows what would be sent, and asks whether it may.
func (a *asker) review(ctx context.Context, form form) (again bool, err error) {
	fmt.Fprintln(a.err)
	answers := 0
	for i := range form {
		if f := &form[i]; f.given {
			answers++
			fmt.Fprint(a.err, a.quoted(plain.Name(f.label(), nameColumns)+": "+f.shown(), ofAnswer, ""))
		}
	}
	q := question{
		above:  a.ours("%s gets these answers: %d.", who(a.server), answers),
		prompt: fmt.Sprintf("Send this to %s? [y]es, [n]o, [e]dit: ", plain.Name(a.server.Name, nameColumns)), consent: true,
	}
	if len(form) == 0 {
		q.above = a.ours("%s hears whether you agree to what it says above.", who(a.server))
		q.prompt = "Do you agree? [y]es, [n]o: "
	}
	for {
		text, err := a.ask(ctx, q)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return false, nil
		case "n", "no":
			return false, errRefused
		case "e", "edit":
			return true, nil
		}
		q.consent = false
	}
}
