package main

import (
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// addition is an entry that is about to be added.
type addition struct {
	server   host.Server
	inputs   *inputs
	about    string   // rows on what it is
	cautions []string // of the registry's option
}

// additionSummary returns what is shown before an entry is written, which includes the entry
// that it replaces, and the question to the person.
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
	above += rows + a.effects(s) + a.plainSecrets(s)
	for _, c := range add.cautions {
		above += a.Own("! %s", c)
	}
	for _, name := range add.inputs.unset {
		above += a.Own("! it needs the variable %s in the environment, whenever it starts", name)
	}
	return above, agree, nil
}
