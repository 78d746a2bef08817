package plugintest

import (
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// In the texts and expressions of a profile a character up to U+00FF is a byte: JSON
// has no other way to write bytes, and an expression matches byte by byte.

// toBytes returns the bytes that a text of the profile stands for.
func toBytes(text string) []byte {
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

// fromBytes returns the text of a profile that stands for bytes. It is the inverse of
// toBytes.
func fromBytes(p string) string {
	out := make([]rune, len(p))
	for i := range len(p) {
		out[i] = rune(p[i])
	}
	return string(out)
}

// byteReader reads each byte as a character, so that the offsets of a match are
// offsets of bytes.
type byteReader struct {
	bytes []byte
	at    int
}

func (c *byteReader) ReadRune() (rune, int, error) {
	if c.at == len(c.bytes) {
		return 0, 0, io.EOF
	}
	c.at++
	return rune(c.bytes[c.at-1]), 1, nil
}

// match returns the offsets of an expression and its groups in p, or nil if it does not match.
func match(re *regexp.Regexp, p []byte) []int {
	return re.FindReaderSubmatchIndex(&byteReader{bytes: p})
}

// capture stores in vars what the named groups of a match have found.
func capture(vars map[string]string, re *regexp.Regexp, p []byte, m []int) {
	for g, name := range re.SubexpNames() {
		if name != "" && m[2*g] >= 0 {
			vars[name] = string(p[m[2*g]:m[2*g+1]])
		}
	}
}

// groups returns the names of the groups of an expression.
func groups(re *regexp.Regexp) []string {
	return slices.DeleteFunc(slices.Clone(re.SubexpNames()), func(name string) bool { return name == "" })
}

var placeholder = lazyregexp.New(`\$\{([^{}]*)\}`)

// expand returns the bytes of a text, in which it replaces each ${name} by its value. A value is
// bytes already. A name without a value is replaced by nothing.
func expand(text string, values map[string]string) []byte {
	var out []byte
	from := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, toBytes(text[from:m[0]])...)
		out = append(out, values[text[m[2]:m[3]]]...)
		from = m[1]
	}
	return append(out, toBytes(text[from:])...)
}

// A namedText is a field of the profile whose text may have ${…} with these names.
type namedText struct {
	field, text string
	names       []string
}

// checkNames checks that each ${…} is one of the names of its text. If length is one of
// them, ${length+5+name} is allowed too.
func checkNames(texts ...namedText) error {
	for _, t := range texts {
		found := placeholder.FindAllStringSubmatch(t.text, -1)
		if strings.Count(t.text, "${") > len(found) {
			return wrong(t.field, "expected a } after each ${, and no other brace between them")
		}
		for _, m := range found {
			if !t.allows(m[1]) {
				among := "none, as nothing is known here"
				if len(t.names) > 0 {
					among = "one of " + strings.Join(t.names, ", ")
				}
				return wrong(t.field, "there is no ${%s}; expected %s", m[1], among)
			}
		}
	}
	return nil
}

func (t *namedText) allows(name string) bool {
	terms, isSum := strings.CutPrefix(name, "length+")
	if !isSum || !slices.Contains(t.names, "length") {
		return slices.Contains(t.names, name)
	}
	for term := range strings.SplitSeq(terms, "+") {
		if _, err := strconv.ParseUint(term, 10, 16); err != nil && !slices.Contains(t.names, term) {
			return false
		}
	}
	return true
}
