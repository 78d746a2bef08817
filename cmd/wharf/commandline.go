package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// unknownCommand is the error for a word that is neither a command nor one of
// the other names that could stand in its place.
func unknownCommand(cmd *cobra.Command, word string, others []string) error {
	err := fmt.Errorf("unknown command %q for %q", word, cmd.CommandPath())
	names := others
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := nearest(word, names); near != "" {
		return exit.Usage(err, "did you mean %q?", near)
	}
	return exit.Usage(err, "see `%s --help`", cmd.CommandPath())
}

// exactly is the check of a command that takes the named arguments and no
// others, and nothing behind "--".
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		case len(args) > len(names):
			return exit.Usage(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// nearest returns the name that word was most likely meant to be, or "". Up to
// a third of its letters may be wrong, or it may be the beginning of the name.
func nearest(word string, names []string) string {
	if len(word) > longestName {
		return ""
	}
	best, distance := "", 1+max(1, len(word)/3)
	for _, name := range names {
		d := editDistance(strings.ToLower(word), strings.ToLower(name))
		if len(word) >= 2 && strings.HasPrefix(name, word) {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = name, d
		}
	}
	return best
}

// longestName is what is still compared; names beyond it are far from all.
const longestName = 64

// editDistance counts the bytes to insert, remove, replace or swap with their
// neighbour to make b of a (optimal string alignment).
func editDistance(a, b string) int {
	if len(a) > longestName || len(b) > longestName {
		return longestName
	}
	var rows [3][longestName + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, higher := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], higher[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

// atLeast is the check of a command that takes the named arguments and more.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}
