package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// renamed returns Wharf's names for the servers whose names need quotes in a shell. Each of them is
// the name of one server of the file only: the server that has it by the file keeps it. A name that a person could not read is a mistake, which
// the caller reports.
func renamed(doc *document, sections []section) map[string]string {
	taken, other := map[string]bool{}, map[string]string{}
	var inOrder []string
	for _, sec := range sections {
		written := doc.under(sec.path...)
		list, _ := doc.at(sec.path).([]any)
		for i, item := range list {
			written = append(written, listedName(i, item))
		}
		for _, name := range written {
			taken[name] = true
		}
		inOrder = append(inOrder, written...)
	}
	again := map[string]int{}
	for _, name := range inOrder {
		if names.MatchString(name) || other[name] != "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			continue
		}
		own, short := shellName(name, longestName), shellName(name, longestName-len("-9999"))
		for own != "" && taken[own] {
			again[short]++
			own = fmt.Sprintf("%s-%d", short, again[short]+1)
		}
		if own != "" {
			taken[own], other[name] = true, own
		}
	}
	return other
}

// listedName returns the name of a server of a list.
func listedName(i int, item any) string {
	values, _ := item.(map[string]any)
	name, _ := values["name"].(string)
	return cmp.Or(name, "server-"+strconv.Itoa(i+1))
}

// longestName is the longest name of a server, in bytes; see names.
const longestName = 64

// ShellName returns the name that a server of another client's file gets here, as long as no other server of the file
// has that.
func ShellName(name string) string {
	if names.MatchString(name) {
		return name
	}
	return shellName(name, longestName)
}

// shellName returns a name as one that needs no quotes in a shell, of at most limit bytes; "" if
// nothing is left of it.
func shellName(name string, limit int) string {
	short := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, name)
	for strings.Contains(short, "--") {
		short = strings.ReplaceAll(short, "--", "-")
	}
	return strings.Trim(short[:min(len(short), limit)], "-_.")
}
