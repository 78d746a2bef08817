package plain

import (
	"strings"
	"testing"
)

// TestHelp holds that help fits the terminal: words are not broken, descriptions stay in
// their column, and examples stay in one piece.
func TestHelp(t *testing.T) {
	const help = `A paragraph of two lines, whose first is the
longer one.

  wharf an example that is longer than the terminal is wide

Usage:
  wharf call SERVER | -- COMMAND… [flags]

  key=@FILE  the contents of a file,
             as text
Flags:
  -e, --env VARIABLE   a VARIABLE for a server behind it
      --a-rather-long-flag DURATION   how long it may take
`
	for columns, want := range map[int]string{
		0: help, 80: help,
		50: `A paragraph of two lines, whose first is the
longer one.

  wharf an example that is longer than the terminal is wide

Usage:
  wharf call SERVER | -- COMMAND… [flags]

  key=@FILE  the contents of a file,
             as text
Flags:
  -e, --env VARIABLE   a VARIABLE for a server
                       behind it
      --a-rather-long-flag DURATION
    how long it may take
`,
		24: `A paragraph of two
lines, whose first is
the longer one.

  wharf an example that is longer than the terminal is wide

Usage:
  wharf call SERVER | --
  COMMAND… [flags]

  key=@FILE
    the contents of a
    file, as text
Flags:
  -e, --env VARIABLE
    a VARIABLE for a
    server behind it
      --a-rather-long-flag DURATION
    how long it may take
`,
	} {
		if got := Help(help, columns); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, strings.ReplaceAll(got, " ", "·"), strings.ReplaceAll(want, " ", "·"))
		}
	}
}
