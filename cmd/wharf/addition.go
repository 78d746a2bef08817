package main

import (
	"context"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// addition is an entry that is about to be added.
type addition struct {
	server   host.Server
	inputs   *inputs
	about    string   // rows on what it is
	cautions []string // what the person should look at
}

// additionSummary returns the text that the person sees before an entry is written, and the
// question to them. If the entry replaces another, the text shows that one too.
func (a *app) additionSummary(f *tomledit.File, add *addition) (above, agree string, err error) {
	s := add.server
	rows, err := a.entryRows(s)
	if err != nil {
		return "", "", err
	}
	name, file := plain.Name(s.Name, plain.NameColumns), cleantext.Visible(f.Path)
	above, agree = a.StyleErr(term.Bold, a.Own("%s would be added to %s:", name, file)), "Add it? yes, [n]o: "
	if before, replaces := among(f.Read.Servers, s.Name); replaces {
		old, err := a.entryRows(before)
		if err != nil {
			return "", "", err
		}
		above = a.StyleErr(term.Bold, a.Own("%s would be replaced in %s:", name, file)) + old + a.Own("In its place comes:")
		agree = "Replace it? yes, [n]o: "
	}
	if add.about != "" {
		above += add.about + a.Own("The entry:")
	}
	above += rows + a.effects(s)
	for _, c := range slices.Concat(add.cautions, add.inputs.cautions()) {
		above += a.Own("! %s", c)
	}
	return above, agree, nil
}

// writeAddition writes the secrets of an entry into the vault, and the change that adds it into the
// configuration. With merge the file may have been changed since it was shown. If the entry replaces
// another, the bundles and secrets of that one are removed. state is the state for [changed].
func (a *app) writeAddition(ctx context.Context, change *amend.Change, n *inputs, merge bool) (state string, err error) {
	hint := "--name gives this server another name; `wharf auth secret --forget %s` forgets the secret"
	if change.Was != nil {
		hint = "`wharf auth secret %s` gives it another value"
	}
	undo, err := a.storeSecrets(ctx, n.secrets, hint)
	if err != nil {
		return "", err
	}
	if err := writeChange(ctx, change, merge); err != nil {
		undo()
		return "", err
	}
	if change.Was == nil {
		return "added", nil
	}
	a.forgetBundles(change.File, *change.Was)
	return "updated", a.forgetSecrets(ctx, change.File, *change.Was)
}
