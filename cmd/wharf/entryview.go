package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// wholeEntry shows all of an entry, since a person cannot agree to what is not shown. The
// configuration bounds its length.
var wholeEntry = term.Excerpt{}

// entryRows returns the lines of an entry as they stand in the file, secrets included: a person who adds them has
// typed them, or sees where they go.
func (a *app) entryRows(server host.Server) (string, error) {
	text, err := tomledit.Text(tomledit.Server(server))
	if err != nil {
		return "", err
	}
	return a.Quote(text, wholeEntry, ""), nil
}

// effects describes the use of an entry: it returns the command with each argument on a row of
// its own, or the address that requests go to, and what is to be careful about.
func (a *app) effects(server host.Server) string {
	what, argv := amend.Effect(server)
	text := a.Own("%s", what)
	rows := make([]term.Fact, len(argv))
	for i, word := range argv {
		rows[i] = term.Fact{Name: fmt.Sprintf("%7d", i), Text: cleantext.Word(word)}
	}
	if len(rows) > 0 {
		rows[0].Name = "command"
		text += a.Facts(rows, wholeEntry, 0, "")
	}
	for _, caution := range amend.Cautions(server) {
		text += a.Own("! %s", caution)
	}
	return text
}

func sortedNames(table map[string]string) []string { return slices.Sorted(maps.Keys(table)) }

func counted[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
