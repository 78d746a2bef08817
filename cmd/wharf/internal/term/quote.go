package term

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Bar begins each row of foreign text in a question, and no row of our own. The rows are broken
// here, because a row that the terminal breaks would go on without a bar. Long text is cut,
// followed by a count of the missing bytes. Our own words follow below it, right above the line
// at which the person answers.
const Bar = "│ "

// Excerpt is how much of a text is shown. 0 is all of it.
type Excerpt struct{ Bytes, Rows int }

// OfMessage is how much is shown of what a server or a plugin says.
var OfMessage = Excerpt{2 << 10, 20}

const (
	fewestColumns  = 20 // text is broken for a terminal that has at least so many
	endlessColumns = 1 << 30
)

// Columns returns how many columns stderr has for text. The last one is left free, because some
// terminals begin the next row when it is written to. If stderr is not a terminal, no rows are
// broken, and no question is asked.
func (t *Terminal) Columns() int {
	c, ok := t.Err.(*Console)
	if !ok {
		return endlessColumns
	}
	columns, _ := c.room()
	return max(columns-1, fewestColumns)
}

// Quote returns foreign text in rows with bars, and below them how much is missing;
// rest follows that count, and says where all of it can be read.
func (t *Terminal) Quote(text string, most Excerpt, rest string) string {
	missing := 0
	if most.Bytes > 0 {
		shown := plain.CutBytes(text, most.Bytes)
		text, missing = shown, len(text)-len(shown)
	}
	var rows []string
	for line := range strings.SplitSeq(strings.Trim(cleantext.Readable(text), "\n"), "\n") {
		rows = append(rows, plain.Wrap(line, t.Columns()-plain.Width(Bar), 0)...)
	}
	return Barred(squeezed(rows), most.Rows, missing, rest)
}

// Labelled is [Terminal.Quote] with a label of our own in place of the first bar.
func (t *Terminal) Labelled(label, text, rest string) string {
	return strings.TrimPrefix(t.Quote(label+" "+text, OfMessage, rest), Bar)
}

// Barred joins rows of foreign text, at most limit of them; 0 is all. missing is how
// many bytes were left out before.
func Barred(rows []string, limit, missing int, rest string) string {
	if limit > 0 && len(rows) > limit {
		for _, row := range rows[limit:] {
			missing += len(row) + 1
		}
		rows = rows[:limit]
	}
	var out strings.Builder
	for _, row := range rows {
		out.WriteString(strings.TrimRight(Bar+row, " ") + "\n")
	}
	if missing > 0 {
		out.WriteString("  (" + amount(missing) + " more" + rest + ")\n")
	}
	return out.String()
}

// Fact is a name and the text behind it, on one line.
type Fact struct{ Name, Text string }

// Facts returns a table of facts in rows with bars: the names are our own, and the
// foreign text stays to the right of them.
func (t *Terminal) Facts(facts []Fact, most Excerpt, missing int, rest string) string {
	width := 0
	for _, f := range facts {
		width = max(width, plain.Width(f.Name))
	}
	var rows []string
	for _, f := range facts {
		line := f.Name + strings.Repeat(" ", width-plain.Width(f.Name)+2) + f.Text
		rows = append(rows, plain.Wrap(line, t.Columns()-plain.Width(Bar), width+2)...)
	}
	return Barred(rows, most.Rows, missing, rest)
}

// Own returns our own words in rows. A row that continues the one above it is
// indented, because it may begin with a foreign name.
func (t *Terminal) Own(format string, args ...any) string {
	return strings.Join(plain.Wrap(fmt.Sprintf(format, args...), t.Columns(), 2), "\n") + "\n"
}

// Fold returns lines that begin with a mark of our own and go on with foreign text:
// where one takes more than a row, the other rows begin with a bar.
func (t *Terminal) Fold(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(cleantext.Text(text), "\t", "    ")) {
		ended := strings.TrimSuffix(line, "\n")
		rows := plain.Wrap(ended, t.Columns()-plain.Width(Bar), 0)
		out.WriteString(strings.Join(rows, "\n"+Bar) + line[len(ended):])
	}
	return out.String()
}

// Caution returns a warning in our own words, in rows.
func (t *Terminal) Caution(text string) string {
	return t.StyleErr(Red, "warning:") + strings.TrimPrefix(t.Own("warning: %s", text), "warning:")
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
