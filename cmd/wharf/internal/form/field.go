package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// fieldKind is how a field is answered.
type fieldKind int

const (
	textField fieldKind = iota
	numberField
	integerField
	boolField
	choiceField  // one of the options
	choicesField // any of them
)

// Field is one question of a form, and its answer.
type Field struct {
	name     string
	required bool
	kind     fieldKind
	schema   fieldSchema
	options  []Option

	given bool
	value any // a string, []string, bool or json.Number
}

// Option is one of the values that a field can have.
type Option struct {
	Value string `json:"const"`
	Title string `json:"title"`
}

// fieldSchema is all that the schema of a field may hold.
type fieldSchema struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`

	Format    string `json:"format"`
	Pattern   string `json:"pattern"`
	MinLength *int   `json:"minLength"`
	MaxLength *int   `json:"maxLength"`

	Minimum *float64 `json:"minimum"`
	Maximum *float64 `json:"maximum"`

	Enum      []string `json:"enum"`
	EnumNames []string `json:"enumNames"` // before 2025-11-25
	OneOf     []Option `json:"oneOf"`

	MinItems *int `json:"minItems"`
	MaxItems *int `json:"maxItems"`
	Items    struct {
		Enum  []string `json:"enum"`
		AnyOf []Option `json:"anyOf"`
		OneOf []Option `json:"oneOf"`
	} `json:"items"`
}

// Label returns the name of a field for people.
func (f *Field) Label() string {
	if f.schema.Title != "" {
		return f.schema.Title
	}
	return f.name
}

// Description returns what the server says of the field, beside its label.
func (f *Field) Description() string { return strings.TrimSpace(f.schema.Description) }

// Options are the values to choose from; empty if the field takes any value.
func (f *Field) Options() []Option { return f.options }

// Chooses reports whether an answer is one of some words: yes or no, or of the options.
func (f *Field) Chooses() bool { return f.kind >= boolField }

// Given reports whether the field has an answer.
func (f *Field) Given() bool { return f.given }

// secretWords are parts of names that suggest a secret, which a form must not ask for.
var secretWords = []string{"passw", "passphrase", "secret", "token", "api key", "apikey", "credential", "private key", "access key", "pin code", "card number", "cvv", "cvc"}

// AsksForSecret reports whether a field seems to want a secret.
func (f *Field) AsksForSecret() bool {
	words := strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(f.name + "\n" + f.schema.Title + "\n" + f.schema.Description))
	return f.schema.Format == "password" || f.kind == textField && slices.ContainsFunc(secretWords, func(word string) bool {
		return strings.Contains(words, word)
	})
}

// Answer makes text the answer to the field, or says what is wrong with it. Empty text is no
// answer, and an error if an answer is required.
func (f *Field) Answer(text string) (err error) {
	f.value, f.given = nil, text != "" || f.required
	if !f.given {
		return nil
	}
	switch {
	case text == "" && f.kind != choicesField: // choosing no value is an answer
		err = errors.New("an answer is required")
	case f.kind == textField:
		f.value, err = text, f.schema.checkText(text)
	case f.kind == numberField, f.kind == integerField:
		f.value, err = f.number(text)
	case f.kind == boolField:
		f.value, err = Truth(text)
	case f.kind == choiceField:
		f.value, err = f.choose(text)
	case f.kind == choicesField:
		f.value, err = f.chooseAny(text)
	}
	if err != nil {
		f.value, f.given = nil, false
	}
	return err
}

func (s *fieldSchema) checkText(text string) error {
	n := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Errorf("too short: its length is %d; want %d or more", n, *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Errorf("too long: its length is %d; want %d or less", n, *s.MaxLength)
	case !s.matches(text):
		return fmt.Errorf("want text that matches %s", plain.Name(s.Pattern, plain.TargetColumns))
	}
	return checkFormat(s.Format, text)
}

// matches checks the pattern if it is short and Go can compile it: Go's expressions take
// linear time. The server checks all other patterns.
func (s *fieldSchema) matches(text string) bool {
	if len(s.Pattern) > mcp.MaxPattern {
		return true
	}
	pattern, err := regexp.Compile(s.Pattern)
	return err != nil || pattern.MatchString(text)
}

// checkFormat checks the formats that forms have.
func checkFormat(format, text string) error {
	switch format {
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return errors.New("want an e-mail address, such as ada@example.com")
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return errors.New("want a URI, such as https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return errors.New("want a date, such as 2026-07-28")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return errors.New("want a date and time, such as 2026-07-28T15:04:05Z")
		}
	}
	return nil
}

// number keeps the digits that were typed: a large integer is no float.
func (f *Field) number(text string) (any, error) {
	n, err := strconv.ParseFloat(text, 64)
	valid := err == nil && json.Valid([]byte(text)) && !math.IsInf(n, 0)
	switch s := &f.schema; {
	case f.kind == integerField && (!valid || strings.ContainsAny(text, ".eE")):
		return nil, errors.New("want a whole number, such as 12")
	case !valid:
		return nil, errors.New("want a number, such as 12 or 3.5")
	case s.Minimum != nil && n < *s.Minimum:
		return nil, fmt.Errorf("%s is too small; want %s or more", text, digits(*s.Minimum))
	case s.Maximum != nil && n > *s.Maximum:
		return nil, fmt.Errorf("%s is too large; want %s or less", text, digits(*s.Maximum))
	}
	return json.Number(text), nil
}

// digits returns a number in decimal digits, or in scientific notation if it has too many.
func digits(n float64) string {
	if text := strconv.FormatFloat(n, 'f', -1, 64); len(text) <= formatColumns {
		return text
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// Truth reads yes or no.
func Truth(text string) (any, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return nil, errors.New("want yes or no")
}

// choose reads the number, the value or the title of an option.
func (f *Field) choose(text string) (any, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.options) {
		return f.options[n-1].Value, nil
	}
	at := slices.IndexFunc(f.options, func(o Option) bool { return o.Value == text })
	if at < 0 {
		at = slices.IndexFunc(f.options, func(o Option) bool { return strings.EqualFold(o.Title, text) })
	}
	if at < 0 {
		return nil, fmt.Errorf("%q is not one of them; want a number from 1 to %d", plain.Clip(text, 60), len(f.options))
	}
	return f.options[at].Value, nil
}

// chooseAny reads several options, with commas between them. An option that stands twice counts
// once.
func (f *Field) chooseAny(text string) (any, error) {
	chosen := []string{}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		value, err := f.choose(word)
		if err != nil {
			return nil, err
		}
		if v := value.(string); !slices.Contains(chosen, v) {
			chosen = append(chosen, v)
		}
	}
	switch s := &f.schema; {
	case s.MinItems != nil && len(chosen) < *s.MinItems:
		return nil, fmt.Errorf("%d are too few; want %d or more", len(chosen), *s.MinItems)
	case s.MaxItems != nil && len(chosen) > *s.MaxItems:
		return nil, fmt.Errorf("%d are too many; want %d or fewer", len(chosen), *s.MaxItems)
	}
	return chosen, nil
}

// Label is the name of an option for people.
func (o Option) Label() string {
	if o.Title == "" {
		return o.Value
	}
	return o.Title
}

// Terms returns the conditions that an answer must meet, in words.
func (f *Field) Terms() []string {
	s := &f.schema
	terms := []string{map[fieldKind]string{
		textField: "text", numberField: "a number", integerField: "a whole number", boolField: "yes or no",
		choiceField: "one of these", choicesField: "any of these, with commas between",
	}[f.kind]}
	if s.Format != "" {
		terms[0] = plain.Name(s.Format, formatColumns)
	}
	for _, bound := range []struct {
		text string
		at   *int
	}{{"%d or more characters", s.MinLength}, {"at most %d characters", s.MaxLength}, {"%d or more", s.MinItems}, {"at most %d", s.MaxItems}} {
		if bound.at != nil {
			terms = append(terms, fmt.Sprintf(bound.text, *bound.at))
		}
	}
	if s.Minimum != nil {
		terms = append(terms, digits(*s.Minimum)+" or more")
	}
	if s.Maximum != nil {
		terms = append(terms, "at most "+digits(*s.Maximum))
	}
	if f.required {
		return append(terms, "required")
	}
	return append(terms, "optional")
}

// maxProposal is the longest default that is read, because it is compared with the
// pattern; see also isProposable.
const maxProposal = 1 << 10 // bytes

// proposal returns the default of the schema. A default that does not fit is ignored.
func (f *Field) proposal() (value any, given bool) {
	if len(f.schema.Default) > maxProposal {
		return nil, false
	}
	text, _ := f.written(f.schema.Default)
	try := *f
	if text == "" || !isProposable(text) || try.Answer(text) != nil {
		return nil, false
	}
	return try.value, true
}

// written returns a JSON value as a person would type it. fits is false if it has another type than
// the field, or is none of the options.
func (f *Field) written(value json.RawMessage) (text string, fits bool) {
	var list []string
	var one *string // null is no text
	switch f.kind {
	case choicesField:
		if json.Unmarshal(value, &list) != nil || list == nil {
			return "", false
		}
	case textField, choiceField:
		if json.Unmarshal(value, &one) != nil || one == nil {
			return "", false
		}
		list = []string{*one}
	default:
		return string(value), true // which is how JSON has it
	}
	if f.options == nil {
		return *one, true
	}
	for i, value := range list {
		if list[i] = f.typed(value); list[i] == "" {
			return "", false
		}
	}
	return strings.Join(list, ","), true
}

// typed returns the value of an option as a person would type it: its title or the value itself.
// It returns the option's number if that text could be taken for another option, for several, or
// for keys.
func (f *Field) typed(value string) string {
	at := slices.IndexFunc(f.options, func(o Option) bool { return o.Value == value })
	if at < 0 {
		return ""
	}
	for _, word := range []string{f.options[at].Title, value} {
		if taken, err := f.choose(word); err == nil && taken == value && word != "" && isProposable(word) &&
			!strings.Contains(word, ",") && strings.TrimSpace(word) == word {
			return word
		}
	}
	return strconv.Itoa(at + 1)
}

// A default fills no more than the line at which the person types: a second row would
// have no bar.
const (
	formatColumns   = 20 // of the name of a format
	proposedColumns = 60
)

// isProposable reports whether a server's text may stand where the person types.
func isProposable(text string) bool {
	return safeToType(text) && plain.Width(text) <= proposedColumns && cleantext.Visible(text) == text
}

// safeToType reports whether the line editor would read text as text and not as keys.
func safeToType(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return cleantext.IsUnsafe(r) || r == '\n' || r == '\t' }) && utf8.ValidString(text)
}

// Proposed returns the present answer as a person would type it. The line at which they type begins
// with it.
func (f *Field) Proposed() string {
	if !f.given {
		return ""
	}
	switch v := f.value.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		words := make([]string, len(v))
		for i := range v {
			words[i] = f.typed(v[i])
		}
		return strings.Join(words, ", ")
	case string:
		if f.options != nil {
			return f.typed(v)
		}
	}
	return fmt.Sprint(f.value)
}

// Shown returns the answer for the person who gave it. It shows options by their titles.
func (f *Field) Shown() string {
	values, several := f.value.([]string)
	if value, ok := f.value.(string); ok {
		values = []string{value}
	} else if !several {
		return f.Proposed()
	}
	if f.options == nil {
		return values[0]
	}
	titles := make([]string, len(values))
	for i, value := range values {
		at := slices.IndexFunc(f.options, func(o Option) bool { return o.Value == value })
		titles[i] = f.options[at].Label()
	}
	return strings.Join(titles, ", ")
}
