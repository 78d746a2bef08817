package plugintest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Text is the report for people. It shows the last lines of the trace of each check that
// failed, or the whole trace if lines is 0. Text from the plugin cannot control a
// terminal.
func (r *Report) Text(lines int) string {
	var out strings.Builder
	p := r.Plugin
	fmt.Fprintf(&out, "%s %s, %d bytes, sha256 %s\n", cmp.Or(p.Name, "-"), p.Version, p.Size, p.SHA256)
	fmt.Fprintf(&out, "class %s, wire %s, kit %d\n\n", cmp.Or(p.Class, "-"), cmp.Or(p.Wire, "-"), r.Kit)
	told := map[string]string{}
	for _, level := range levels {
		r.section(&out, level, lines, told)
	}
	if len(r.Points) > 0 {
		out.WriteString("points of the proposal for pluggable transports\n")
	}
	for _, p := range r.Points {
		fmt.Fprintf(&out, "  %-5s %-3s %s", p.Result, p.ID, p.Text)
		if len(p.Checks) > 0 {
			fmt.Fprintf(&out, " (%s)", strings.Join(p.Checks, ", "))
		}
		if p.Host != "" {
			fmt.Fprintf(&out, "; the host's: %s", p.Host)
		}
		out.WriteString("\n")
	}
	out.WriteString("\nmeasured\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&out, "  %-14s %10d %s %s\n", f.ID, f.Value, f.Unit, f.Of)
	}
	out.WriteString("\n" + r.summary() + "\n")
	return cleantext.Text(out.String())
}

// indent precedes each line about a check.
const indent = "        "

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n"+indent) }

// section lists the checks of a level, each failed one followed by its trace. Checks that were
// skipped for one reason stand together, and each reason is given once: told maps it to its first
// check.
func (r *Report) section(out *strings.Builder, level Level, lines int, told map[string]string) {
	fmt.Fprintf(out, "%s\n", level)
	for _, c := range r.Checks {
		if c.Level != level {
			continue
		}
		first := told[c.Got]
		if c.Result == Skipped {
			ids := r.ids(func(other Check) bool { return other.Level == level && other.Result == Skipped && other.Got == c.Got })
			switch {
			case ids[0] != c.ID:
				continue // it is listed with that check
			case first != "":
				fmt.Fprintf(out, "  %-5s %d, as %s:\n", Skipped, len(ids), first)
			default:
				fmt.Fprintf(out, "  %-5s %d: %s\n", Skipped, len(ids), indented(c.Got))
				told[c.Got] = c.ID
			}
			writeIDs(out, ids)
			continue
		}
		fmt.Fprintf(out, "  %-5s %-16s %s", c.Result, c.ID, c.Title)
		switch {
		case c.Got == "":
			out.WriteString("\n")
		case c.Result == Failed:
			fmt.Fprintf(out, "\n%s%s\n", indent, indented(c.Got))
			c.writeTrace(out, lines)
		case first != "":
			fmt.Fprintf(out, " (as %s)\n", first)
		default:
			fmt.Fprintf(out, "\n%s%s\n", indent, indented(c.Got))
			told[c.Got] = c.ID
		}
	}
	out.WriteString("\n")
}

// ids lists the checks for which like is true.
func (r *Report) ids(like func(Check) bool) (ids []string) {
	for _, c := range r.Checks {
		if like(c) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// binding lists the checks with this result that are of a binding level.
func (r *Report) binding(result Result) []string {
	return r.ids(func(c Check) bool { return c.Level.binding() && c.Result == result })
}

// writeIDs writes a list of ids, on as many lines as it takes.
func writeIDs(out *strings.Builder, ids []string) {
	const width = 72
	line := ids[0]
	for _, id := range ids[1:] {
		if len(line)+len(id)+2 > width {
			fmt.Fprintf(out, "%s%s,\n", indent, line)
			line = id
			continue
		}
		line += ", " + id
	}
	fmt.Fprintf(out, "%s%s\n", indent, line)
}

// writeTrace writes the end of the trace, and how to see all of it.
func (c *Check) writeTrace(out *strings.Builder, lines int) {
	if c.Trace == "" {
		return
	}
	list := strings.Split(strings.TrimRight(c.Trace, "\n"), "\n")
	if n := len(list) - lines; lines > 0 && n > 0 {
		fmt.Fprintf(out, "%s… %d lines before: wharf plugin test FILE --only %s --full\n", indent, n, c.ID)
		list = list[n:]
	}
	for _, line := range list {
		const most = 160 // that can be read
		if r := []rune(line); lines > 0 && len(r) > most {
			line = string(r[:most]) + "…"
		}
		fmt.Fprintf(out, "%s%s\n", indent, line)
	}
}

// summary is the last line.
func (r *Report) summary() string {
	count := map[Result]int{}
	for _, c := range r.Checks {
		count[c.Result]++
	}
	text := fmt.Sprintf("%d passed, %d failed, %d skipped, %d not applicable: it ", count[Passed], count[Failed], count[Skipped], count[NotApplicable])
	switch {
	case !r.OK:
		return text + r.Shortfall()
	case count[Failed] > 0:
		return text + "passes, as no required check has failed"
	}
	return text + "passes"
}

// Shortfall says in a line for people why the plugin does not pass, or why that is not known, with
// the ids of the checks. It returns "" if the plugin passes.
func (r *Report) Shortfall() string {
	const most = 8 // that are named
	ids, text, reason := r.binding(Failed), "does not pass: ", ""
	if len(ids) == 0 {
		ids, text = r.binding(Skipped), "cannot be said to pass, as these could not be tried: "
		if len(ids) == 0 {
			return ""
		}
		reason, _, _ = strings.Cut(": "+r.Check(ids[0]).Got, "\n")
	}
	all := len(ids)
	if all > most {
		ids = append(ids[:most:most], "…")
	}
	return cleantext.Text(fmt.Sprintf("%s%s (%d of %d)%s", text, strings.Join(ids, ", "), all, len(r.Checks), reason))
}
