package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/registry"
)

func newSearch(a *app) *cobra.Command {
	address, limit := "", 0
	cmd := &cobra.Command{
		Use:   "search WORD…",
		Short: "Look for servers in the MCP registry",
		Long: `Look for servers in the MCP registry: those that have the first WORD in their
names, and the others there or in their titles and descriptions. ` + "`wharf add NAME`" + `
adds one of them.

Anyone can publish a server. That one is listed says nothing about it.`,
		Example:           "  wharf search filesystem",
		Args:              atLeast("WORD"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, words []string) error {
			if limit < 1 {
				return exit.Usage(fmt.Errorf("--limit %d: expected a number above 0", limit), "the default is 30")
			}
			if words = strings.Fields(strings.Join(words, " ")); len(words) == 0 { // no name has a blank in it
				return exit.Usage(errors.New("WORD is empty"), "usage: %s", usage(cmd))
			}
			c, err := a.registryAt(address)
			if err != nil {
				return err
			}
			defer c.Close()
			return a.runSearch(cmd.Context(), c, words, limit)
		},
	}
	registerRegistry(cmd, &address)
	cmd.Flags().IntVar(&limit, "limit", 30, "list at most `N` servers")
	return cmd
}

// listed is a server of a registry as the JSON output shows it.
type listed struct {
	Name          string          `json:"name"`
	Version       string          `json:"version"`
	Title         string          `json:"title,omitempty"`
	Description   string          `json:"description"`
	Kinds         []string        `json:"kinds"`
	Status        registry.Status `json:"status,omitempty"`
	StatusMessage string          `json:"status_message,omitempty"`
}

func (a *app) runSearch(ctx context.Context, c *registry.Client, words []string, limit int) error {
	idle := a.Busy("asking the registry")
	found, err := c.Search(ctx, words, limit)
	if idle(); err != nil {
		return err
	}
	list := make([]listed, len(found.Servers))
	for i, l := range found.Servers {
		s := l.Server
		list[i] = listed{s.Name, s.Version, s.Title, s.Description, kindsOf(&s), l.Status, l.StatusMessage}
	}
	if found.Skipped > 0 {
		a.Warn("the list goes without %s that cannot be read", counted(found.Skipped, "server"))
	}
	switch {
	case found.More:
		a.Hint("there are more; write another WORD, or raise --limit")
	case len(list) == 0:
		text := "The registry has no server with %q in its name"
		if len(words) > 1 {
			text += " that says all of the other words"
		}
		fmt.Fprint(a.Err, a.Own(text+".", words[0]))
	}
	if !a.forPeople() {
		return a.PrintJSON(list)
	}
	var out strings.Builder
	for _, l := range list {
		out.WriteString(a.listedRows(l))
	}
	return a.printLaidOut(out.String())
}

// kindsOf returns the kinds of the options of a server, each once.
func kindsOf(s *registry.Server) []string {
	kinds := []string{}
	for _, o := range s.Options(false) {
		if !slices.Contains(kinds, o.Kind) {
			kinds = append(kinds, o.Kind)
		}
	}
	return kinds
}

// listedRows returns the rows of a server: its name, which is never cut, and below it its
// description.
func (a *app) listedRows(l listed) string {
	columns := a.Width
	if columns <= 0 {
		columns = 80
	}
	name := a.StyleOut(term.Bold, plain.Line(l.Name))
	facts := plain.Line(l.Version) + "  " + plain.Line(strings.Join(l.Kinds, ", "))
	rows := []string{name + "  " + facts}
	if len(l.Name)+2+plain.Width(facts) > columns {
		rows = append([]string{name}, indentedRows(facts, columns)...)
	}
	if l.Status != registry.Active && l.Status != "" {
		rows = append(rows, indentedRows(coloned(plain.Line(string(l.Status)), plain.Line(l.StatusMessage)), columns)...)
	}
	rows = append(rows, indentedRows(plain.Line(l.Description), columns)...)
	return strings.Join(rows, "\n") + "\n"
}

// indentedRows breaks foreign text into rows that begin to the right of our own words.
func indentedRows(text string, columns int) (rows []string) {
	for _, row := range plain.Wrap(text, columns-5, 0) {
		rows = append(rows, "    "+row)
	}
	return rows
}
