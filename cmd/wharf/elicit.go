package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// letElicit gives a host the callback that lets a server ask the person
// something (2025-11-25/client/elicitation). It is for those who are there: a
// host without it does not tell servers that it can ask, and nothing is ever
// answered in the person's name.
func (a *app) letElicit(server host.Server) func(*host.Config) {
	return func(c *host.Config) {
		c.Elicit = func(ctx context.Context, _ string, e mcp.Elicitation) (mcp.ElicitResult, error) {
			return a.elicit(ctx, server, e)
		}
	}
}

// elicit has the person answer a server. Once the program is interrupted there is
// no answer while the server may still want one: it would finish the very request
// that is being cancelled, and the interrupt would come to nothing.
func (a *app) elicit(ctx context.Context, server host.Server, e mcp.Elicitation) (mcp.ElicitResult, error) {
	result, err := a.consult(ctx, server, e)
	if a.life != nil && a.life.Err() != nil {
		<-ctx.Done()
	}
	return result, err
}

// consult shows the person what a server asks. Who asks, and what that is, comes
// first and is ours; everything else is the server's, and made harmless.
func (a *app) consult(ctx context.Context, server host.Server, e mcp.Elicitation) (mcp.ElicitResult, error) {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	defer leave()
	fmt.Fprintf(a.err, "\n%s %s\n", a.styled(a.errTTY, styleBold, line(server.Name)+" asks:"), a.styled(a.errTTY, styleDim, "("+clip(line(targetOf(server)), 200)+")"))
	fmt.Fprintln(a.err, indent(plain(e.Message)))
	var content map[string]any
	if e.Mode == mcp.ElicitURL {
		err = a.visitPage(ctx, e.URL)
	} else {
		content, err = a.fillIn(ctx, e)
	}
	return a.settle(server, content, err)
}

// settle makes a result of how the questions ended, and tells the person.
func (a *app) settle(server host.Server, content map[string]any, err error) (mcp.ElicitResult, error) {
	var unfit *host.RPCError
	switch {
	case err == nil:
		return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
	case errors.As(err, &unfit):
		fmt.Fprintln(a.err, plain(err.Error()))
		return mcp.ElicitResult{}, err
	case errors.Is(err, errRefused):
		fmt.Fprintf(a.err, "Declined. Nothing was sent to %s.\n", line(server.Name))
		return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	fmt.Fprintf(a.err, "Cancelled. Nothing was sent to %s.\n", line(server.Name))
	return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
}

const formKeys = "Enter takes the line; on an empty one it skips what is optional. Esc cancels, Ctrl-D declines."

// fillIn asks for one field after the other, and shows all before it is sent. The
// fields can be gone through again; what was filled in stands there then.
func (a *app) fillIn(ctx context.Context, e mcp.Elicitation) (map[string]any, error) {
	form, err := readForm(e.RequestedSchema)
	if err != nil {
		return nil, &host.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	if len(form) > 0 {
		fmt.Fprintln(a.err, a.styled(a.errTTY, styleDim, formKeys))
	}
	for {
		for i := range form {
			fmt.Fprintf(a.err, "%s%s", a.heading(&form[i], i+1, len(form)), form[i].help())
			if err := a.fill(ctx, &form[i]); err != nil {
				return nil, err
			}
		}
		again, err := a.review(ctx, form)
		if err != nil || !again {
			return form.content(), err
		}
	}
}

// heading is what a field is called, with a warning where it seems to want what
// no form may ask for.
func (a *app) heading(f *field, number, of int) string {
	text := fmt.Sprintf("\n%d/%d %s\n", number, of, a.styled(a.errTTY, styleBold, line(f.label())))
	if f.secretive() {
		text += fmt.Sprintf("%s this looks like a secret. Servers must not ask for one in a form; if in doubt, decline.\n",
			a.styled(a.errTTY, styleRed, "warning:"))
	}
	return text
}

// fill asks until the answer fits the field.
func (a *app) fill(ctx context.Context, f *field) error {
	proposed := f.proposed()
	for {
		text, err := a.keys().ask(ctx, "> ", proposed, false)
		if err != nil {
			return err
		}
		wrong := f.take(strings.TrimSpace(text))
		if wrong == nil {
			return nil
		}
		fmt.Fprintln(a.err, plain(wrong.Error()))
		proposed = ""
		if safeToType(text) {
			proposed = text
		}
	}
}

// review shows what would be sent, and asks whether it may.
func (a *app) review(ctx context.Context, form form) (again bool, err error) {
	fmt.Fprintln(a.err)
	for i := range form {
		if f := &form[i]; f.given {
			fmt.Fprintf(a.err, "  %s: %s\n", line(f.label()), line(f.shown()))
		}
	}
	question := "Send this? [y]es, [n]o, [e]dit: "
	if len(form) == 0 {
		question = "Do you agree? [y]es, [n]o: "
	}
	a.keys().forget()
	for {
		text, err := a.keys().ask(ctx, question, "", false)
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
	}
}

// indent sets text off from what is ours.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
