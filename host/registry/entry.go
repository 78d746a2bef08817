package registry

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/egress"
)

// MissingError says which inputs have no answer and no default.
type MissingError struct{ Inputs []Input }

func (e *MissingError) Error() string {
	var of []string
	for _, in := range e.Inputs {
		of = append(of, in.Of)
	}
	if len(of) == 1 {
		return of[0] + " is missing"
	}
	return strings.Join(of, ", ") + " are missing"
}

// Entry returns the entry of an option with these answers, and with its variables not yet
// expanded. An input that is required and has neither an answer nor a default is a
// [*MissingError]. Entry does not check the entry as the configuration does.
func (o *Option) Entry(answers Answers) (config.Server, error) {
	var s config.Server
	if o.Unusable != "" || o.Bundle != nil && o.program == "" {
		return s, denied("", "%s", cmp.Or(o.Unusable, "the bundle is not unpacked"))
	}
	f := filler{o, answers}
	lacks := func(in Input) bool { return in.IsRequired && len(f.of(in.ID)) == 0 }
	if slices.ContainsFunc(o.inputs, lacks) {
		return s, &MissingError{slices.DeleteFunc(o.Inputs(), func(in Input) bool { return !lacks(in) })}
	}
	s.Env = f.table(o.env, true)
	if o.program != "" {
		s.Command = escaped(o.program)
		s.Args = f.words(o.words, s.Env)
		return s, nil
	}
	s.URL, _ = f.fill(o.url)
	s.Headers = f.table(o.headers, false)
	if o.Kind == "sse" {
		s.Strategy = "sse-first"
	}
	if o.url == nil { // see without
		return s, nil
	}
	return s, o.checkFilled(s.URL, f)
}

// checkFilled checks a url whose host was filled in. The user may choose a server in their own
// network; the registry must not lead there.
func (o *Option) checkFilled(text string, f filler) error {
	if own, _ := (filler{o, nil}).fill(o.url); own == text {
		if err := o.checkURL(text); err != nil {
			return denied("", "%w", err)
		}
		return nil
	}
	if host, registrys := f.host(); registrys && leadsTo(host) != "" && !o.mayLeadTo(host) {
		return denied("", "by what the registry says, the url %s leads %s", cleantext.Line(text, 200), leadsTo(host))
	}
	u, err := url.Parse(text)
	if err == nil && u.Scheme == "http" && egress.CheckPublicHost(u.Hostname()) == nil {
		return denied("", "the url %s is not https, so what you send to it could be read on the way", cleantext.Line(text, 200))
	}
	return nil
}

// filler puts answers into templates.
type filler struct {
	*Option
	answers Answers
}

// host returns the host of the url with its answers. registrys reports whether a part of it
// comes from the registry, as text or as a default.
func (f filler) host() (host string, registrys bool) {
	var text string
	var theirs []bool // of each byte
	for _, p := range f.url {
		more, _ := f.fill(template{p})
		text += more
		theirs = append(theirs, slices.Repeat([]bool{p.input == "" || len(f.answers[p.input]) == 0}, len(more))...)
	}
	start := strings.Index(text, "://") + len("://")
	if start < len("://") {
		return "", false
	}
	end := len(text)
	if i := strings.IndexAny(text[start:], `/\?#`); i >= 0 {
		end = start + i
	}
	start += strings.LastIndexByte(text[start:end], '@') + 1
	if i := strings.IndexByte(text[start:end], ']'); i >= 0 && text[start] == '[' {
		start, end = start+1, start+i
	} else if i := strings.IndexByte(text[start:end], ':'); i >= 0 {
		end = start + i
	}
	return text[start:end], slices.Contains(theirs[start:end], true)
}

// of returns the answers to an input, or else its default.
func (f filler) of(id string) []string {
	if a := f.answers[id]; len(a) > 0 {
		return a
	}
	i := slices.IndexFunc(f.inputs, func(in Input) bool { return in.ID == id })
	if i >= 0 && f.inputs[i].Default != "" {
		return []string{escaped(f.inputs[i].Default)}
	}
	return nil
}

// fill returns a template with its answers. whole reports whether it has all of them.
func (f filler) fill(t template) (text string, whole bool) {
	whole = true
	for _, p := range t {
		if p.input == "" {
			text += escaped(p.text)
			continue
		}
		a := f.of(p.input)
		if len(a) == 0 {
			whole = false
			continue
		}
		text += a[0]
	}
	return text, whole
}

// table fills variables or headers. It leaves out those that lack an answer, unless the registry requires them and
// parts has those that are not whole: of "Bearer {token}" no header is left.
func (f filler) table(words []word, parts bool) map[string]string {
	table := make(map[string]string)
	for _, w := range words {
		if text, whole := f.fill(w.texts[0]); whole || w.required && parts {
			table[w.name] = text
		}
	}
	if len(table) == 0 {
		return nil
	}
	return table
}

// words returns the arguments with their answers. It leaves out an argument that passes on a
// variable which env lacks.
func (f filler) words(words []word, env map[string]string) (args []string) {
	for _, w := range words {
		_, set := env[w.ifSet]
		switch {
		case w.ifSet != "" && !set:
		case w.flag != "" && !slices.Equal(f.of(w.flag), []string{"true"}):
		case w.repeated != "":
			for _, a := range f.of(w.repeated) {
				one := filler{f.Option, Answers{w.repeated: {a}}}
				args = append(args, one.word(w)...)
			}
		default:
			args = append(args, f.word(w)...)
		}
	}
	return args
}

func (f filler) word(w word) (texts []string) {
	for _, t := range w.texts {
		text, whole := f.fill(t)
		if !whole && !w.required {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// Check says what is wrong with an answer that a person gives, or returns "". It does not judge
// a reference to a variable.
func (in *Input) Check(answer string) string {
	_, err := strconv.ParseFloat(answer, 64)
	switch {
	case in.IsRequired && strings.TrimSpace(answer) == "":
		return "it is needed, and the text that is given for it is empty"
	case len(answer) > maxValue || strings.ContainsAny(answer, "\x00\r\n"):
		return "it is too long, or has more than one line"
	case strings.Contains(answer, "${"):
		return ""
	case len(in.Choices) > 0 && !slices.Contains(in.Choices, answer):
		return "it is not one of the choices: " + cleantext.Line(strings.Join(in.Choices, ", "), 200)
	case in.Format == "number" && err != nil:
		return "it is no number"
	case (in.Format == "boolean" || in.Flag) && answer != "true" && answer != "false":
		return "it is neither true nor false"
	}
	return ""
}
