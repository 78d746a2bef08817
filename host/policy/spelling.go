package policy

import (
	"slices"
	"strings"
)

// spelling is how the name of a call is compared.
type spelling struct {
	name   string // with what is allowed
	strict bool   // only an allow of all names fits it
	doubt  string // why servers may read a URI in two ways

	forms [6]string // with what is denied: in lower case, each once
	count int
}

// spell returns how the name of a call is compared. Denied is whether something is denied.
func spell(c *Call, denied bool) (s spelling) {
	s.name = c.Name
	name := strings.TrimSpace(c.Name)
	if denied {
		s.deny(name)
	}
	if c.Target != Resource || settled(c.Name) {
		return s
	}
	s.name, s.doubt = reading{}.normal(c.Name)
	s.strict = s.doubt != "" || leaves(c.Name)
	if !denied {
		return s
	}
	s.deny(unescaped(name))
	form, _ := reading{}.normal(name)
	s.deny(form)
	if path, found := strings.CutPrefix(form, "file://"); found && !strings.HasPrefix(path, "/") {
		s.deny("file:///" + path) // a server that opens what is behind "file://"
	}
	form, doubt := reading{loose: true}.normal(name)
	s.deny(form)
	if s.doubt == "" {
		s.doubt = doubt
	}
	return s
}

// settled reports whether each reading of a URI gives the URI itself, without a doubt. It is quick, and
// finds that of most URIs.
func settled(uri string) bool {
	scheme, rest, _ := strings.Cut(uri, "://")
	host, path, found := strings.Cut(rest, "/")
	if !found || scheme == "" || (scheme == "file") != (host == "") {
		return false
	}
	for _, word := range []string{scheme, host} {
		for i := range len(word) {
			if word[i] < 'a' || word[i] > 'z' {
				return false
			}
		}
	}
	before := byte('/')
	for i := range len(path) {
		c := path[i]
		if c < ' ' || c == 0x7f || strings.IndexByte(`%?#\*`, c) >= 0 || before == '/' && (c == '/' || c == '.') {
			return false
		}
		before = c
	}
	return before != '/'
}

// deny adds a form that is compared with what is denied.
func (s *spelling) deny(form string) {
	if form = strings.ToLower(form); !slices.Contains(s.forms[:s.count], form) {
		s.forms[s.count] = form
		s.count++
	}
}

// deniedForms returns the other forms of the pattern of a deny about resources.
func deniedForms(pattern string) (forms []string) {
	for _, r := range []reading{{pattern: true}, {pattern: true, loose: true}} {
		if form, doubt := r.normal(pattern); doubt == "" && form != pattern && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// allowedForm returns the form of the pattern of an allow about resources.
func allowedForm(pattern string) string {
	if form, doubt := (reading{pattern: true}).normal(pattern); doubt == "" && !leaves(pattern) {
		return form
	}
	return pattern
}
