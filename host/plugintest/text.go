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
		p.text(&out)
	}
	out.WriteString("\nmeasured\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&out, "  %-14s %10d %s %s\n", f.ID, f.Value, f.Unit, f.Of)
	}
	out.WriteString("\n" + r.verdict() + "\n")
	return cleantext.Text(out.String())
}

// section lists the checks of a level, each failed one followed by its trace.
// Those that were skipped for one reason stand together. Why a check was not made is
// told once: told has the first check of each reason.
func (r *Report) section(out *strings.Builder, level Level, lines int, told map[string]string) {
	fmt.Fprintf(out, "%s\n", level)
	listed := map[string]bool{}
	for _, c := range r.Checks {
		if c.Level != level {
			continue
		}
		if c.Result == Skipped {
			if !listed[c.Got] {
				listed[c.Got] = true
				r.skipped(out, level, c.Got, told)
			}
			continue
		}
		fmt.Fprintf(out, "  %-5s %-16s %s", c.Result, c.ID, c.Title)
		if first := told[c.Got]; first != "" && c.Result != Failed {
			fmt.Fprintf(out, " (as %s)\n", first)
			continue
		}
		out.WriteString("\n")
		if c.Got == "" {
			continue
		}
		fmt.Fprintf(out, "        %s\n", strings.ReplaceAll(c.Got, "\n", "\n        "))
		if c.Result == Failed {
			c.how(out, lines)
			continue
		}
		told[c.Got] = c.ID
	}
	out.WriteString("\n")
}

// skipped lists the checks of a level that were not made for one reason, and the reason.
func (r *Report) skipped(out *strings.Builder, level Level, why string, told map[string]string) {
	var ids []string
	for _, c := range r.Checks {
		if c.Level == level && c.Result == Skipped && c.Got == why {
			ids = append(ids, c.ID)
		}
	}
	switch first := told[why]; {
	case first != "":
		fmt.Fprintf(out, "  %-5s %d, as %s:\n", Skipped, len(ids), first)
	default:
		fmt.Fprintf(out, "  %-5s %d: %s\n", Skipped, len(ids), strings.ReplaceAll(why, "\n", "\n        "))
		told[why] = ids[0]
	}
	const width = 72
	line := ""
	for _, id := range ids {
		if line != "" && len(line)+len(id)+2 > width {
			fmt.Fprintf(out, "        %s,\n", line)
			line = ""
		}
		if line != "" {
			line += ", "
		}
		line += id
	}
	fmt.Fprintf(out, "        %s\n", line)
}

// how shows the end of the trace, and says how to see all of it.
func (c *Check) how(out *strings.Builder, lines int) {
	if c.Trace == "" {
		return
	}
	list := strings.Split(strings.TrimRight(c.Trace, "\n"), "\n")
	if n := len(list) - lines; lines > 0 && n > 0 {
		fmt.Fprintf(out, "        … %d lines before: wharf plugin test FILE --only %s --full\n", n, c.ID)
		list = list[n:]
	}
	for _, line := range list {
		if lines > 0 {
			line = clip(line)
		}
		fmt.Fprintf(out, "        %s\n", line)
	}
}

// clip keeps a line to a length that can be read.
func clip(line string) string {
	const most = 160
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

func (p *Point) text(out *strings.Builder) {
	fmt.Fprintf(out, "  %-5s %-3s %s", p.Result, p.ID, p.Text)
	if len(p.Checks) > 0 {
		fmt.Fprintf(out, " (%s)", strings.Join(p.Checks, ", "))
	}
	if p.Host != "" {
		fmt.Fprintf(out, "; the host's: %s", p.Host)
	}
	out.WriteString("\n")
}

// verdict is the last line.
func (r *Report) verdict() string {
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

// mostNamed is how many checks a line names.
const mostNamed = 8

// Shortfall says in a line for people why the plugin does not pass, or cannot be
// said to, with the ids of the checks. It is empty where the plugin passes.
func (r *Report) Shortfall() string {
	failed, untried := r.binding(Failed), r.binding(Skipped)
	list, text := failed, "does not pass: "
	switch {
	case len(failed) > 0:
	case len(untried) > 0:
		list, text = untried, "cannot be said to pass, as these could not be tried: "
	default:
		return ""
	}
	all := len(list)
	if all > mostNamed {
		list = append(list[:mostNamed:mostNamed], "…")
	}
	text += fmt.Sprintf("%s (%d of %d)", strings.Join(list, ", "), all, len(r.Checks))
	if len(failed) == 0 {
		why, _, _ := strings.Cut(r.Check(untried[0]).Got, "\n")
		text += ": " + why
	}
	return cleantext.Text(text)
}

// binding lists the checks of this result that count.
func (r *Report) binding(result Result) (ids []string) {
	for _, c := range r.Checks {
		if c.Level.binding() && c.Result == result {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
