package main

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// What a stranger says stands in a question between bars: each row of it begins
// with one, and no row of ours does. It is broken into rows here, so that the
// terminal breaks none: what came after the break would begin a row without a bar.
// And it is cut, with a count of what is missing; what we say ourselves follows
// below it, right above the line at which the person answers.
const bar = "│ "

// excerpt is how much of a text is shown. 0 is all of it.
type excerpt struct{ bytes, rows int }

// How much of strangers' texts is shown, and how many columns of their names stand
// within a row of ours.
var (
	ofMessage = excerpt{2 << 10, 20} // of a server or a plugin
	ofAddress = excerpt{2 << 10, 32}
	ofLabel   = excerpt{512, 6} // of a field
	ofAnswer  = excerpt{2 << 10, 32}
	ofOptions = excerpt{16 << 10, 200} // of all there is to choose from
	ofFacts   = excerpt{0, 100}        // of a server or a plugin; each fact has bounds of its own
)

const (
	factBytes   = 1 << 10 // of one argument; of a list of them four times as much
	nameColumns = 40
	targetWidth = 60

	fewestColumns  = 20 // text is broken for a terminal that has so many at least
	endlessColumns = 1 << 30
)

// columns is how many columns the person's terminal has for text. The last is left
// free: some terminals begin the next row when it is written to. What is no terminal
// breaks no rows, and no question is asked there.
func (a *app) columns() int {
	c, ok := a.err.(*console)
	if !ok {
		return endlessColumns
	}
	columns, _ := c.room()
	return max(columns-1, fewestColumns)
}

// quoted returns what a stranger says in rows with bars, and below them how much is
// missing, with what tells the rest.
func (a *app) quoted(text string, most excerpt, rest string) string {
	missing := 0
	if most.bytes > 0 {
		shown := plain.CutBytes(text, most.bytes)
		text, missing = shown, len(text)-len(shown)
	}
	var rows []string
	for line := range strings.SplitSeq(strings.Trim(cleantext.Readable(text), "\n"), "\n") {
		rows = append(rows, plain.Wrap(line, a.columns()-plain.Width(bar), 0)...)
	}
	return barred(squeezed(rows), most.rows, missing, rest)
}

// barred joins rows of strangers, of which there are limit at most.
func barred(rows []string, limit, missing int, rest string) string {
	if limit > 0 && len(rows) > limit {
		for _, row := range rows[limit:] {
			missing += len(row) + 1
		}
		rows = rows[:limit]
	}
	var out strings.Builder
	for _, row := range rows {
		out.WriteString(strings.TrimRight(bar+row, " ") + "\n")
	}
	if missing > 0 {
		out.WriteString("  (" + amount(missing) + " more" + rest + ")\n")
	}
	return out.String()
}

// fact is a name and what stands behind it, on one line.
type fact struct{ name, text string }

// facts returns a table of facts in rows with bars: the names are ours, and what
// follows them stays to the right of them.
func (a *app) facts(facts []fact, most excerpt, missing int, rest string) string {
	width := 0
	for _, f := range facts {
		width = max(width, plain.Width(f.name))
	}
	var rows []string
	for _, f := range facts {
		line := f.name + strings.Repeat(" ", width-plain.Width(f.name)+2) + f.text
		rows = append(rows, plain.Wrap(line, a.columns()-plain.Width(bar), width+2)...)
	}
	return barred(rows, most.rows, missing, rest)
}

// ours returns what we say ourselves in rows. A row that goes on from the one above
// is indented, for it may begin with a name of a stranger.
func (a *app) ours(format string, args ...any) string {
	return strings.Join(plain.Wrap(fmt.Sprintf(format, args...), a.columns(), 2), "\n") + "\n"
}

// folded returns lines that begin with a mark of ours and go on with what a stranger
// said: where one takes more than a row, the others begin with a bar.
func (a *app) folded(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(plain.Text(text), "\t", "    ")) {
		ended := strings.TrimSuffix(line, "\n")
		rows := plain.Wrap(ended, a.columns()-plain.Width(bar), 0)
		out.WriteString(strings.Join(rows, "\n"+bar) + line[len(ended):])
	}
	return out.String()
}

// caution is ours, as a warning.
func (a *app) caution(text string) string {
	return a.styled(a.errTTY, styleRed, "warning:") + strings.TrimPrefix(a.ours("warning: %s", text), "warning:")
}

// who returns what the person knows a server by: its name, and what it is reached
// by.
func who(server host.Server) string {
	return fmt.Sprintf("%s (%s)", plain.Name(server.Name, nameColumns), plain.Name(targetOf(server), targetWidth))
}

// squeezed makes one empty row of several.
func squeezed(rows []string) []string {
	kept := rows[:0]
	for _, row := range rows {
		if row != "" || len(kept) > 0 && kept[len(kept)-1] != "" {
			kept = append(kept, row)
		}
	}
	return kept
}

// amount says how many bytes there are.
func amount(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
