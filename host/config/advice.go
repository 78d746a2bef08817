package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PassOn says for people how the entry is given variables that the shell has: what is written, and into which
// file. table is the table of the entry in a file of Wharf's own. A line that could be pasted is only in the words
// for such a file, and only if the entry did not come with a project.
func (s *Server) PassOn(names []string, table string) string {
	file, of, project := s.file, "", s.Project
	if claim, released := s.Claim(); released {
		project = claim.Project
	}
	if project != nil {
		file = project.Path()
	}
	if file != "" {
		of = " of " + file
	}
	switch {
	case project != nil:
		return fmt.Sprintf("the server came with a project, so find out what it does with that first; if it may have that, name it in %s of its entry in %s", cmp.Or(s.keys.listing, s.keys.of("env")), file)
	case s.keys.listing != "":
		return fmt.Sprintf("if it may have that, name it in the list %s of its entry in %s", s.keys.listing, file)
	case s.keys.passing != "":
		var lines []string
		for _, name := range names {
			lines = append(lines, fmt.Sprintf(s.keys.passing, name))
		}
		if s.keys.table == "" { // a second table would hide the first
			return fmt.Sprintf("if it may have that, write into %s of its entry in %s: %s", s.keys.of("env"), file, strings.Join(lines, ", "))
		}
		return fmt.Sprintf("if it may have that, write into its entry in %s: "+s.keys.table, file, strings.Join(lines, ", "))
	case s.keys.names != nil:
		return fmt.Sprintf("if it may have that, write it into %s of its entry in %s, with its value: that file has no names of variables", s.keys.of("env"), file)
	}
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, fmt.Sprintf("%s = \"${%[1]s}\"", name))
	}
	lines := strings.Join(pairs, ", ")
	if len(s.Env) > 0 { // a second env would make the file invalid
		return fmt.Sprintf("if it may have that, write in your configuration, in env of %s%s: %s", table, of, lines)
	}
	return fmt.Sprintf("if it may have that, write in your configuration, in %s%s: env = { %s }", table, of, lines)
}

// Longer returns what is written into the entry so that Wharf waits longer than it does, in the notation of its
// file: key is timeout, start_timeout or max_timeout. It is "" if the file has no such key. now is what a command
// waits beside what the entry says; 0 or less is what Wharf does by itself.
func (s *Server) Longer(key string, now time.Duration) string {
	wait := map[string]time.Duration{"timeout": s.Timeout, "start_timeout": s.StartTimeout, "max_timeout": s.MaxTimeout}[key]
	now = max(now, wait)
	if s.keys.names != nil {
		return s.keys.longer[key].line(now)
	}
	unit, letter, usual := time.Minute, "m", 2*time.Minute
	if key == "max_timeout" {
		unit, letter, usual = time.Hour, "h", 3*time.Hour
	}
	return fmt.Sprintf("%s = \"%d%s\"", key, longerThan(now, usual)/unit, letter)
}

// longerThan returns usual, or a whole multiple of it that is longer than now.
func longerThan(now, usual time.Duration) time.Duration { return (max(now, 0)/usual + 1) * usual }

// waitKey is a key of another client's entry that holds a timeout. A number whose unit is not known is one of seconds
// below 1000, and else of milliseconds, see [entry.number].
type waitKey struct {
	name   string // "" is none
	unit   time.Duration
	format format
}

// line returns the line that gives the key more time than now; "" if there is no key.
func (k waitKey) line(now time.Duration) string {
	if k.name == "" {
		return ""
	}
	more, unit := longerThan(now, 2*time.Minute), k.unit
	if unit == 0 {
		unit = time.Second
		if more >= 1000*time.Second {
			unit = time.Millisecond
		}
	}
	return k.format.assigned(k.name, strconv.Itoa(int(more/unit)))
}

// longer returns the keys of an entry of another client that [Server.Longer] has to know.
func (e *entry) longer(c *client) map[string]waitKey {
	lines := make(map[string]waitKey)
	add := func(own, key string, unit time.Duration) {
		if n, err := strconv.ParseFloat(fmt.Sprint(e.values[key]), 64); unit == 0 && err == nil && n >= 1000 {
			unit = time.Millisecond // the entry counts in them, so the hint does too
		}
		lines[own] = waitKey{key, unit, e.doc.format}
	}
	keys, ofStart := c.timeoutKeys()
	key := e.first(keys)
	_, table := e.values[key].(map[string]any)
	switch {
	case table: // of opencode
	case e.values[key] != nil:
		add("timeout", key, unitOf(key, c.unit))
	case c.keys["timeout"] != "":
		add("timeout", c.keys["timeout"], unitOf(c.keys["timeout"], c.unit))
	case c.unit != 0 && slices.Contains(keys, "timeout"):
		add("timeout", "timeout", c.unit)
	}
	key = c.keys["start_timeout"]
	if given := e.first(ofStart); e.values[given] != nil {
		key = given
	}
	if key != "" {
		add("start_timeout", key, c.unitOfStart(key))
	}
	return lines
}
