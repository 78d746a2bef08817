package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Kind says what is wrong at a place in a value.
type Kind uint8

// Wrong: a value does not fit. Missing: a required property does not exist. Unknown: a property is
// not allowed. The pointer of the last two leads to the property itself.
const (
	Wrong Kind = iota
	Missing
	Unknown
)

// Fault is one mismatch of a value. Its texts quote the schema, shortened, and of the value only
// the names of properties.
type Fault struct {
	Kind    Kind
	Pointer string // to the place, RFC 6901; "" is the whole value
	Want    string // such as "an integer"
	Got     string // such as "a string of 5 characters"; "" if it adds nothing
	Near    string // for Missing and Unknown: the name that was probably meant, or ""

	by string // the place of the schema's part that requires it
}

// String returns the fault in one line that can be shown to people.
func (f Fault) String() string {
	at := ""
	if f.Pointer != "" {
		at = f.Place() + ": "
	}
	return at + f.Says() + f.Suggests()
}

// Says returns the fault without its place.
func (f Fault) Says() string {
	switch {
	case f.Kind == Missing:
		return "is missing"
	case f.Kind == Unknown:
		return "is not a known property"
	case f.Got == "":
		return "want " + f.Want
	}
	return "want " + f.Want + ", got " + f.Got
}

// Suggests returns a suggestion to append to a sentence about the fault, or "".
func (f Fault) Suggests() string {
	switch {
	case f.Near == "":
		return ""
	case f.Kind == Missing:
		return " (is it " + quote(f.Near) + "?)"
	}
	return " (did you mean " + quote(f.Near) + "?)"
}

// Mismatch is the error of a value that does not fit its schema.
type Mismatch struct {
	Faults []Fault // at least one, at most maxFaults, ordered by place
	More   int     // the number of further faults
}

const maxFaults = 8

func (m *Mismatch) Error() string {
	texts := make([]string, len(m.Faults))
	for i, fault := range m.Faults {
		texts[i] = fault.String()
	}
	text := strings.Join(texts, "; ")
	if m.More > 0 {
		text += fmt.Sprintf("; and %d more", m.More)
	}
	return text
}

func mismatch(faults ...Fault) *Mismatch { return &Mismatch{Faults: faults} }

// pointer writes tokens as RFC 6901 does.
func pointer(tokens []string) string {
	var out strings.Builder
	for _, token := range tokens {
		out.WriteByte('/')
		out.WriteString(escapes.Replace(token))
	}
	return out.String()
}

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// Path returns the names and indexes in the pointer.
func (f Fault) Path() []string {
	if f.Pointer == "" {
		return nil
	}
	tokens := strings.Split(f.Pointer[1:], "/")
	for i, token := range tokens {
		tokens[i] = unescapes.Replace(token)
	}
	return tokens
}

// Longest texts that are shown.
const (
	maxPlace = 120
	maxQuote = 60
)

// Place returns the pointer in a form for people.
func (f Fault) Place() string {
	text := strconv.Quote(clip(f.Pointer, maxPlace))
	return strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
}

// quote makes a foreign text fit to be shown, as a word.
func quote(text string) string { return strconv.Quote(clip(text, maxQuote)) }

// clip shortens a text to about that many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return cleantext.Cut(text, most) + "…"
}
