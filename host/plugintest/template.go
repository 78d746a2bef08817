package plugintest

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// In the texts and expressions of a profile a character up to U+00FF is a byte:
// so bytes of any kind can stand in JSON, and are matched one by one.

// latin makes bytes of a text of the profile.
func latin(text string) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			out = append(out, string(r)...)
			continue
		}
		out = append(out, byte(r))
	}
	return out
}

// characters reads bytes as the characters that stand for them. Offsets in what an
// expression finds are those of the bytes.
type characters struct {
	bytes []byte
	at    int
}

func (c *characters) ReadRune() (rune, int, error) {
	if c.at == len(c.bytes) {
		return 0, 0, io.EOF
	}
	c.at++
	return rune(c.bytes[c.at-1]), 1, nil
}

// match is where an expression and its groups are found in p, or nil.
func match(re *regexp.Regexp, p []byte) []int {
	return re.FindReaderSubmatchIndex(&characters{bytes: p})
}

// capture keeps what the named groups of a match have found.
func capture(vars map[string]string, re *regexp.Regexp, p []byte, m []int) {
	for g, name := range re.SubexpNames() {
		if name != "" && m[2*g] >= 0 {
			vars[name] = string(p[m[2*g]:m[2*g+1]])
		}
	}
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^{}]*)\}`) })

// placeholders lists what stands between the braces of each ${…} of a text.
func placeholders(text string) (list []string) {
	for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// expand puts variables into a text. What they hold are bytes already.
func expand(text string, vars map[string]string) []byte {
	var out []byte
	for from := 0; ; {
		m := placeholder().FindStringSubmatchIndex(text[from:])
		if m == nil {
			return append(out, latin(text[from:])...)
		}
		out = append(out, latin(text[from:from+m[0]])...)
		out = append(out, vars[text[from+m[2]:from+m[3]]]...)
		from += m[1]
	}
}

// expects checks that a field of the profile has no other placeholders than these,
// and sums where there is a length.
func expects(field, text string, names []string) error {
	for _, p := range placeholders(text) {
		for i, term := range strings.Split(p, "+") {
			_, err := strconv.ParseUint(term, 10, 16)
			if !slices.Contains(names, term) && (i == 0 || err != nil) || i > 0 && !strings.HasPrefix(p, "length+") {
				return fmt.Errorf("%s: there is no ${%s}; expected one of %s", field, p, strings.Join(names, ", "))
			}
		}
	}
	return nil
}

// groups are the names of those of an expression.
func groups(re *regexp.Regexp) (list []string) {
	for _, name := range re.SubexpNames() {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}

// measure puts into vars what each ${length…} of a text says where it is about n
// bytes: with the numbers, and the sizes of the groups, that are added to it.
func (f number) measure(text string, n int, vars map[string]string) error {
	for _, p := range placeholders(text) {
		terms := strings.Split(p, "+")
		if terms[0] != "length" {
			continue
		}
		sum := n
		for _, term := range terms[1:] {
			more, err := strconv.Atoi(term)
			if err != nil {
				more = len(vars[term])
			}
			sum += more
		}
		said, err := f.write(sum)
		if err != nil {
			return err
		}
		vars[p] = string(said)
	}
	return nil
}
