package elicit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/form"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const formKeys = "Enter takes the line; on an empty one it skips what is optional. Shift-Tab goes back, Esc cancels, Ctrl-D declines."

// How much is shown of the texts of a form.
var (
	ofLabel  = term.Excerpt{Bytes: 512, Rows: 6}
	ofAnswer = term.Excerpt{Bytes: 2 << 10, Rows: 32}
)

// How many values to choose from are listed, and how many letters of each.
const (
	shownOptions  = 200
	optionLetters = 300
)

// fillIn asks for one field after the other, and shows all answers before they are sent. The
// person may go through the fields again, with their answers filled in. Where there is a respondent, it
// answers first, if the person agrees.
func (a *Asker) fillIn(ctx context.Context, e mcp.Elicitation) (map[string]any, error) {
	fields, err := readForm(ctx, e.RequestedSchema)
	if err != nil {
		return nil, err
	}
	again := true
	if a.Respondent != nil {
		if err := a.askRespondent(ctx, e, fields); err != nil {
			return nil, err
		}
		again, err = a.review(ctx, fields)
	}
	if again && len(fields) > 0 {
		fmt.Fprint(a.Err, a.StyleErr(term.Dim, a.Own(formKeys)))
	}
	for again && err == nil {
		for i := 0; i < len(fields); i++ {
			err := a.fill(ctx, &fields[i], i+1, len(fields))
			switch {
			case errors.Is(err, term.ErrBack):
				i -= 2
			case err != nil:
				return nil, err
			}
		}
		again, err = a.review(ctx, fields)
	}
	return fields.Content(), err
}

// askRespondent shows the person a form, and has the command fill it in if they agree.
func (a *Asker) askRespondent(ctx context.Context, e mcp.Elicitation, fields form.Form) error {
	for i := range fields {
		fmt.Fprint(a.Err, a.about(&fields[i]))
	}
	if err := a.agree(ctx, a.Own("The command %s would be given all of it.", plain.Name(a.Respondent[0], plain.NameColumns)), "Ask it?"); err != nil {
		return err
	}
	return a.runRespondent(ctx, e, fields)
}

// fill shows what the server says of a field, and asks until the answer fits it. [term.ErrBack] leads to the field
// before, and leaves this one as it was.
func (a *Asker) fill(ctx context.Context, f *form.Field, number, of int) error {
	fmt.Fprint(a.Err, "\n"+a.about(f))
	q := term.Question{Above: a.heading(f, number, of), Prompt: "> ", Proposed: f.Proposed(), Back: number > 1, History: new(term.History)}
	for {
		text, err := a.Ask(ctx, q)
		if err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		wrong := f.Answer(text)
		if wrong == nil {
			return nil
		}
		if typed, behind := strings.CutPrefix(text, q.Proposed); behind && typed != "" && f.Chooses() && f.Answer(typed) == nil {
			return nil // a person who sees "Guitar" has typed 3 behind it
		}
		fmt.Fprint(a.Err, a.Own("%s", cleantext.Visible(wrong.Error()))) // the arrow keys bring back what was typed
	}
}

// about returns what the server says of a field: its label, its description, and the values to
// choose from, each on rows of its own.
func (a *Asker) about(f *form.Field) string {
	text := a.Quote(f.Label(), ofLabel, "")
	if about := f.Description(); about != "" {
		text += a.Quote(about, term.OfMessage, "")
	}
	options := f.Options()
	var rows []string
	for i, o := range options[:min(len(options), shownOptions)] {
		label := plain.Clip(plain.Line(o.Label()), optionLetters)
		rows = append(rows, plain.Wrap(fmt.Sprintf("%3d) %s", i+1, label), a.Columns()-plain.Width(term.Bar), len("  1) "))...)
	}
	text += term.Barred(rows, 0, 0, "")
	if missing := len(options) - shownOptions; missing > 0 {
		text += fmt.Sprintf("  (%d more; each can be given by its number)\n", missing)
	}
	return text
}

// heading says which server wants a field filled in, and with what. It warns if the field seems
// to ask for a secret, which no form may do.
func (a *Asker) heading(f *form.Field, number, of int) string {
	text := a.Own("%d/%d: %s asks for %s.", number, of, plain.Server(a.Server), strings.Join(f.Terms(), ", "))
	if f.AsksForSecret() {
		text = a.Caution("this looks like a secret. Servers must not ask for one in a form; if in doubt, decline.") + text
	}
	return text
}

// review shows what would be sent, and asks whether it may be. again says that the
// person wants to edit it first.
func (a *Asker) review(ctx context.Context, fields form.Form) (again bool, err error) {
	fmt.Fprintln(a.Err)
	answers := 0
	for i := range fields {
		if f := &fields[i]; f.Given() {
			answers++
			fmt.Fprint(a.Err, a.Quote(plain.Name(f.Label(), plain.NameColumns)+": "+f.Shown(), ofAnswer, ""))
		}
	}
	q := term.Question{
		Above:  a.Own("%s gets these answers: %d.", plain.Server(a.Server), answers),
		Prompt: fmt.Sprintf("Send this to %s? [y]es, [n]o, [e]dit: ", plain.Name(a.Server.Name, plain.NameColumns)), Consent: true,
	}
	if len(fields) == 0 {
		q.Above = a.Own("%s hears whether you agree to what it says above.", plain.Server(a.Server))
		q.Prompt = "Do you agree? [y]es, [n]o: "
	}
	choice, err := a.choose(ctx, q, "edit")
	return choice == "edit", err
}
