package plugintest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A Profile describes a wire that the kit does not know: how messages are framed, and
// what the server says before the first one. README.md describes the file. In the texts of the file,
// a character up to U+00FF is a byte.
type Profile struct {
	Settings map[string]string `json:"settings"` // of the server entry
	Framing  string            `json:"framing"`  // ndjson, content-length, websocket, learned or pattern
	Greeting string            `json:"greeting"` // what the server says first
	Replies  []Rule            `json:"replies"`  // what it answers before anything is taken for a message

	// The rest is for the framing called pattern. Sent matches what precedes a message of the
	// guest, with a group called length. If the length counts more than the message, a group
	// called counted matches what else it counts. SentEnd matches what follows the message.
	// Said is the text with which the server says a message.
	Length  string `json:"length"` // how lengths are written; empty = decimal
	Sent    string `json:"sent"`
	SentEnd string `json:"sentEnd"`
	Said    string `json:"said"`
	Noted   string `json:"noted"` // what belongs to no exchange; empty = as in Said

	Sealed string `json:"sealed"` // what an auth provider has given; empty = nothing
	Taken  string `json:"taken"`  // what the server says when it has a message
	SaidOn int    `json:"saidOn"` // the stream that it says messages on, from 1; 0 = the one that was opened last

	Largest int `json:"largest"` // bytes of the longest message that the wire carries; 0 = any

	SignIn *SignIn `json:"signIn"` // what is around an auth provider
	Policy *Policy `json:"policy"` // what a policy is asked, and has to say

	sent *regexp.Regexp
}

// A Rule says what a server answers to bytes that are not a message. In both of its texts
// ${name} is the value of a setting, or a value that a group of a rule has found.
type Rule struct {
	To  string `json:"to"`  // a regular expression; it is matched at the beginning
	Say string `json:"say"` // and the answer

	to *regexp.Regexp // nil if To has a ${name} in it
}

// ReadProfile reads a profile from a file.
func ReadProfile(file string) (*Profile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := parseProfile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func parseProfile(text []byte) (*Profile, error) {
	p := &Profile{}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(p); err != nil {
		return nil, withLine(text, nil, err)
	}
	if d.More() {
		return nil, fmt.Errorf("line %d: expected nothing after the profile", lineAt(text, d.InputOffset()))
	}
	lines, err := readFields(text)
	if err == nil {
		err = p.compile()
	}
	if err != nil {
		return nil, withLine(text, lines, err)
	}
	return p, nil
}

// compile checks the profile, and compiles its expressions.
func (p *Profile) compile() error {
	if err := cmp.Or(p.SignIn.compile(), p.Policy.compile()); err != nil {
		return err
	}
	settings := slices.Sorted(maps.Keys(p.Settings))
	names, err := p.compileReplies(settings)
	if err != nil {
		return err
	}
	texts := []namedText{{"greeting", p.Greeting, settings}}
	for i, r := range p.Replies {
		texts = append(texts, namedText{fmt.Sprintf("replies[%d].to", i), r.To, names}, namedText{fmt.Sprintf("replies[%d].say", i), r.Say, names})
	}
	switch {
	case p.Largest < 0:
		return wrong("largest", "%d, expected a number of bytes", p.Largest)
	case p.SaidOn < 0:
		return wrong("saidOn", "%d, expected the number of a stream, the first is 1", p.SaidOn)
	case p.Framing == "pattern":
		if err := p.compilePattern(); err != nil {
			return err
		}
		names = slices.Concat(groups(p.sent), names)
		said := append([]string{"message", "length"}, names...)
		texts = append(texts, namedText{"said", p.Said, said}, namedText{"noted", p.Noted, said})
	case p.Framing != "" && p.Framing != "learned" && framingNamed(p.Framing) == nil:
		return wrong("framing", "%q, expected ndjson, content-length, websocket, learned or pattern", p.Framing)
	}
	return checkNames(append(texts, namedText{"taken", p.Taken, names})...)
}

// compileReplies returns all names that the server can use: those of settings, and
// those of the groups of its rules.
func (p *Profile) compileReplies(settings []string) ([]string, error) {
	names := slices.Clone(settings)
	for i := range p.Replies {
		r, field := &p.Replies[i], fmt.Sprintf("replies[%d].to", i)
		to, err := r.compile(nil)
		if err != nil {
			return nil, wrong(field, "%w", err)
		}
		if !strings.Contains(r.To, "${") {
			r.to = to
		}
		for _, name := range groups(to) {
			if slices.Contains(settings, name) {
				return nil, wrong(field, "the group %s has the name of a setting; expected another name", name)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// compile returns the expression of the rule, in which a value is matched as it is.
func (r *Rule) compile(values map[string]string) (*regexp.Regexp, error) {
	source := placeholder.ReplaceAllStringFunc(r.To, func(whole string) string {
		return `(?:` + regexp.QuoteMeta(fromBytes(values[whole[2:len(whole)-1]])) + `)`
	})
	return regexp.Compile(`\A(?:` + source + `)`)
}

// expression returns what the rule matches now, or nil if a name in it has no value
// yet.
func (r *Rule) expression(values map[string]string) *regexp.Regexp {
	if r.to != nil {
		return r.to
	}
	for _, m := range placeholder.FindAllStringSubmatch(r.To, -1) {
		if _, known := values[m[1]]; !known {
			return nil
		}
	}
	to, _ := r.compile(values) // quoted values do not make it invalid
	return to
}

// compilePattern does the work of compile for the fields of the framing called pattern, except for
// the names in them.
func (p *Profile) compilePattern() (err error) {
	form := p.lengthForm()
	switch {
	case form == nil:
		return wrong("length", "%q, expected one of %s", p.Length, strings.Join(slices.Sorted(maps.Keys(lengthForms)), ", "))
	case strings.Contains(p.Sent, "${"):
		return wrong("sent", "expected no ${…}: it is allowed in replies, and in what the server says")
	}
	flags := ""
	if form.base == 0 {
		flags = "s" // a byte of a length can be a line feed
	}
	if p.sent, err = regexp.Compile(`(?` + flags + `:\A(?:` + p.Sent + `))`); err != nil {
		return wrong("sent", "%w", err)
	}
	switch {
	case p.sent.SubexpIndex("length") < 0:
		return wrong("sent", "expected a group called length, as in (?P<length>\\\\d+)")
	case !strings.Contains(p.Said, "${message}"):
		return wrong("said", "expected ${message} in it")
	}
	return nil
}

// answer returns the answer of the first rule that matches, and how many bytes of heard the rule
// matches. It stores in values what the groups of the rule have found.
func (p *Profile) answer(heard []byte, values map[string]string) (n int, answer []byte, ok bool) {
	for i := range p.Replies {
		r := &p.Replies[i]
		to := r.expression(values)
		if to == nil {
			continue
		}
		m := match(to, heard)
		if m == nil || m[1] == 0 {
			continue
		}
		capture(values, to, heard, m)
		return m[1], expand(r.Say, values), true
	}
	return 0, nil, false
}
