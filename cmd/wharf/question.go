package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/config"
)

// question is an input of a file of VS Code, with the servers that refer to it.
type question struct {
	config.Input
	servers []string
}

// choices says which answers there are, in brackets; "" if any will do.
func (q question) choices() string {
	if q.Options == nil {
		return ""
	}
	return " (one of " + plain.Line(strings.Join(q.Options, ", ")) + ")"
}

// askQuestions asks the questions of a file of VS Code whose answers are neither in the vault nor in
// secrets, and adds the answers to secrets. Where it cannot or may not ask, it takes their defaults, or
// says how to give the answers. The vault gets none of them: the caller may still give up.
func (a *app) askQuestions(ctx context.Context, questions []question, secrets map[string]string, mayAsk bool) error {
	if len(questions) == 0 {
		return nil
	}
	v, err := a.openVault()
	if err != nil {
		return err
	}
	for _, q := range questions {
		_, known, err := v.LoadSecret(ctx, q.Secret)
		if err != nil {
			return err
		}
		if known || secrets[q.Secret] != "" {
			continue
		}
		text := q.Default
		if mayAsk && a.CanAsk() {
			text, err = a.askQuestion(ctx, q)
		} else if text != "" {
			fmt.Fprint(a.Err, a.Own("${secret:%s} is the default of its question.", q.Secret))
		}
		if text == "" && err == nil || errors.Is(err, term.ErrDeclined) {
			a.Warn("${secret:%s} has no value yet%s; give it with: wharf auth secret %[1]s", q.Secret, q.choices())
			continue
		}
		if err != nil {
			return err
		}
		secrets[q.Secret] = text
	}
	return nil
}

// askQuestion asks one question. What the file says of it is quoted, since others may have
// written it.
func (a *app) askQuestion(ctx context.Context, q question) (string, error) {
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	var above strings.Builder
	who, need := plain.Name(q.servers[0], plain.NameColumns), "needs"
	if others := q.servers[1:]; len(others) == 1 {
		who, need = who+" and "+plain.Name(others[0], plain.NameColumns), "need"
	} else if len(others) > 1 {
		who, need = fmt.Sprintf("%s and %d other servers", who, len(others)), "need"
	}
	above.WriteString(a.Own("%s %s the input %s, which is kept in the vault:", who, need, plain.Name(q.ID, plain.NameColumns)))
	if q.Description != "" {
		above.WriteString(a.Quote(q.Description, term.OfMessage, ""))
	}
	if q.Options != nil {
		above.WriteString(a.Quote("one of: "+strings.Join(q.Options, ", "), term.OfMessage, ""))
	}
	prompt := plain.Name(q.ID, plain.NameColumns)
	if q.Default != "" && !q.Password {
		prompt += " [" + plain.Name(q.Default, plain.NameColumns) + "]"
	}
	asks := term.Question{Above: above.String(), Prompt: prompt + ": ", Secret: q.Password}
	for {
		text, err := a.Ask(ctx, asks)
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text == "" {
			text = q.Default
		}
		switch {
		case text == "":
			return "", term.ErrDeclined
		case q.Options == nil || slices.Contains(q.Options, text):
			return text, nil
		}
		asks.Above = a.Own("want one of %s", plain.Clip(plain.Line(strings.Join(q.Options, ", ")), warningLetters)) // and not what was typed, which may be secret
	}
}
