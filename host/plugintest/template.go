package plugintest

import (
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

// spelled is the text of a profile that stands for bytes, as latin reads it.
func spelled(p string) string {
	out := make([]rune, len(p))
	for i := range len(p) {
		out[i] = rune(p[i])
	}
	return string(out)
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

// expand puts what is known into a text, where it is bytes already. What is not known
// is nothing.
func expand(text string, known map[string]string) []byte {
	var out []byte
	for from := 0; ; {
		m := placeholder().FindStringSubmatchIndex(text[from:])
		if m == nil {
			return append(out, latin(text[from:])...)
		}
		out = append(out, latin(text[from:from+m[0]])...)
		value, _ := valueOf(text[from+m[2]:from+m[3]], known)
		out = append(out, value...)
		from += m[1]
	}
}

// valueOf is what stands for a ${…}, of which this is the inside.
func valueOf(inside string, known map[string]string) (string, bool) {
	if value, ok := known[inside]; ok { // a name, or a sum that is measured
		return value, true
	}
	f, err := parseFormula(inside)
	if err != nil {
		return "", false
	}
	return f.value(known)
}

// expects checks that the ${…} in a field of the profile have no other names in them
// than these, and are sums where there is a length.
func expects(field, text string, names []string) error {
	inside := placeholders(text)
	if strings.Count(text, "${") > len(inside) {
		return wrong(field, "expected a } behind each ${, and no other brace between them")
	}
	for _, p := range inside {
		if sum, ok := strings.CutPrefix(p, "length+"); ok && slices.Contains(names, "length") {
			for term := range strings.SplitSeq(sum, "+") {
				if _, err := strconv.ParseUint(term, 10, 16); err != nil && !slices.Contains(names, term) {
					return wrong(field, "there is no ${%s}; expected numbers behind the length, or %s", p, oneOf(names))
				}
			}
			continue
		}
		f, err := parseFormula(p)
		if err != nil {
			return wrong(field, "${%s}: %w", p, err)
		}
		for _, name := range f.names() {
			if !slices.Contains(names, name) || name == "length" && f.args != nil {
				return wrong(field, "there is no ${%s}; expected %s", name, oneOf(names))
			}
		}
	}
	return nil
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "none, as nothing is known here"
	}
	return "one of " + strings.Join(names, ", ")
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
