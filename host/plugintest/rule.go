package plugintest

import (
	"fmt"
	"regexp"
	"strings"
)

// A Rule is what a server answers to something that is no message. In both of its
// texts a ${…} stands for what is known by then: settings, nonces, what groups have
// found, and functions of those.
type Rule struct {
	To  string `json:"to"`  // a regular expression; it is matched at the beginning
	Say string `json:"say"` // and the answer

	to *regexp.Regexp // where there is no ${…} in it
}

// compile checks an expression, and returns the names of its groups.
func (r *Rule) compile(field string) ([]string, error) {
	source, _ := r.source(func(string) (string, bool) { return "", true })
	to, err := regexp.Compile(source)
	if err != nil {
		return nil, wrong(field, "%w", err)
	}
	if !strings.Contains(r.To, "${") {
		r.to = to
	}
	return groups(to), nil
}

// source is the expression, with what put returns for the inside of each ${…}; false
// where it returns nothing for one of them.
func (r *Rule) source(put func(inside string) (string, bool)) (source string, ok bool) {
	ok = true
	source = placeholder().ReplaceAllStringFunc(r.To, func(whole string) string {
		value, known := put(whole[2 : len(whole)-1])
		ok = ok && known
		return `(?:` + regexp.QuoteMeta(spelled(value)) + `)`
	})
	return `\A(?:` + source + `)`, ok
}

// expression is what the rule is about, or nil while something in it is not known.
func (r *Rule) expression(known map[string]string) *regexp.Regexp {
	if r.to != nil {
		return r.to
	}
	source, ok := r.source(func(inside string) (string, bool) { return valueOf(inside, known) })
	if !ok {
		return nil
	}
	to, err := regexp.Compile(source)
	if err != nil {
		return nil // bytes that are quoted change nothing that compile has seen
	}
	return to
}

// shown says for people what a rule with a ${…} in it is about by now.
func (r *Rule) shown(known map[string]string) string {
	missing := ""
	text := placeholder().ReplaceAllStringFunc(r.To, func(whole string) string {
		value, ok := valueOf(whole[2:len(whole)-1], known)
		if !ok {
			missing = whole
		}
		return spelled(value)
	})
	if missing != "" {
		return "needs something that is not known yet: " + missing
	}
	return fmt.Sprintf("is %q", text)
}

// answer returns what the first rule that fits says, and how much it is about. What
// groups have found is known from then on.
func (p *Profile) answer(heard []byte, known map[string]string) (n int, answer []byte, ok bool) {
	for i := range p.Replies {
		r := &p.Replies[i]
		to := r.expression(known)
		if to == nil {
			continue
		}
		m := match(to, heard)
		if m == nil || m[1] == 0 {
			continue
		}
		capture(known, to, heard, m)
		return m[1], expand(r.Say, known), true
	}
	return 0, nil, false
}

// awaited says what the rules with a ${…} in them are about by now, for an error
// about something that no rule answers.
func (p *Profile) awaited(known map[string]string) (text string) {
	for i := range p.Replies {
		if r := &p.Replies[i]; r.to == nil {
			text += fmt.Sprintf("; replies[%d].to %s", i, r.shown(known))
		}
	}
	return text
}
