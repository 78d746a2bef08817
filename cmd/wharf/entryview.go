package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// wholeEntry shows all of an entry, since a person cannot agree to what is not shown. The
// configuration bounds its length.
var wholeEntry = term.Excerpt{}

// entryRows returns the lines of an entry as they stand in the file.
func (a *app) entryRows(server host.Server) (string, error) {
	text, err := tomledit.Text(tomledit.Server(server))
	if err != nil {
		return "", err
	}
	return a.Quote(text, wholeEntry, ""), nil
}

// effects describes the use of an entry: it returns the command with each argument on a row of
// its own, or the address that requests go to.
func (a *app) effects(server host.Server) string {
	if server.URL != "" {
		site, warning := plain.Site(server.URL)
		text := a.Own("It sends requests to %s.", site)
		if strings.Contains(server.URL, "$") {
			text = a.Own("It sends requests to the url above, with the variables filled in.")
		} else if warning != "" {
			text += a.Own("! %s", warning)
		}
		return text
	}
	rows := []term.Fact{{Name: "command", Text: cleantext.Word(server.Command)}}
	for i, arg := range server.Args {
		rows = append(rows, term.Fact{Name: fmt.Sprintf("%7d", i+1), Text: cleantext.Word(arg)})
	}
	return a.Own("It runs this on your machine, as you, with these arguments:") + a.Facts(rows, wholeEntry, 0, "")
}

// plainSecrets warns of values that look like secrets and that stand in the file in the clear.
func (a *app) plainSecrets(server host.Server) (warnings string) {
	for _, place := range server.PlainSecrets() {
		warnings += a.Own("! %s looks like a secret and is in the file as it is; `wharf auth secret NAME` keeps it in the vault, and \"${secret:NAME}\" means it", plain.Name(place, 2*plain.NameColumns))
	}
	return warnings
}

func sortedNames(table map[string]string) []string { return slices.Sorted(maps.Keys(table)) }

// referencesOf returns where an entry finds its secrets, in its values and in its auth table.
func referencesOf(server host.Server) []config.Reference {
	found := server.Secrets()
	for _, key := range slices.Sorted(maps.Keys(server.Auth.Settings)) {
		if r, ok := server.Auth.Settings[key].(config.Reference); ok {
			found = append(found, r)
		}
	}
	return found
}

// meansSecret reports whether an entry takes the secret of that name.
func meansSecret(server host.Server, name string) bool {
	return slices.ContainsFunc(referencesOf(server), func(r config.Reference) bool { return r.Secret == name })
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
