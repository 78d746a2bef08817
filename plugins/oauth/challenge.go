package main

import (
	"slices"
	"strings"
)

// challenge is one way to sign in that a server offers (RFC 9110, section
// 11.6.1). Scheme and names are in lower case.
type challenge struct {
	scheme string
	token  string            // token68, in place of parameters
	params map[string]string // each name's first
}

// Bounds of reading a server's challenges. The rest is not read.
const (
	maxChallenges = 16
	maxParams     = 32
)

// parseChallenges reads all WWW-Authenticate fields. Commas separate challenges, and
// also the parameters of a challenge; so a word is a scheme unless "=" follows. A
// malformed part is skipped up to the next comma, so that one bad challenge does not
// hide another.
func parseChallenges(fields []string) []challenge {
	var found []challenge
	for _, field := range fields {
		s := scanner{rest: field}
		for s.skip(" \t,"); s.rest != "" && len(found) < maxChallenges; s.skip(" \t,") {
			if !s.element(&found) {
				s.recover()
			}
		}
	}
	return found
}

// element reads a parameter of the last challenge, or the beginning of a new one.
func (s *scanner) element(found *[]challenge) bool {
	word := s.word()
	if word == "" {
		return false
	}
	if name, ok := s.equals(word); ok {
		value, ok := s.value()
		if ok && len(*found) > 0 {
			(*found)[len(*found)-1].set(name, value)
		}
		return ok && s.atEnd()
	}
	c := challenge{scheme: strings.ToLower(word), params: map[string]string{}}
	if s.skip(" ") {
		c.token = s.token68()
	}
	*found = append(*found, c)
	if c.token != "" || s.atEnd() {
		return s.atEnd()
	}
	// The first parameter comes without a comma.
	name, ok := s.equals(s.word())
	if !ok {
		return false
	}
	value, ok := s.value()
	if ok {
		c.set(name, value)
	}
	return ok && s.atEnd()
}

func (c challenge) set(name, value string) {
	name = strings.ToLower(name)
	if _, there := c.params[name]; !there && len(c.params) < maxParams {
		c.params[name] = value
	}
}

// scanner reads a field from its front.
type scanner struct{ rest string }

// skip passes over the bytes in set and reports whether there were any.
func (s *scanner) skip(set string) bool {
	rest := strings.TrimLeft(s.rest, set)
	skipped := len(rest) < len(s.rest)
	s.rest = rest
	return skipped
}

// atEnd reports whether an element ends here: at a comma, or at the end of the field.
func (s *scanner) atEnd() bool {
	s.skip(" \t")
	return s.rest == "" || s.rest[0] == ','
}

// recover goes to the next comma that is not quoted.
func (s *scanner) recover() {
	for s.rest != "" && s.rest[0] != ',' {
		if s.rest[0] == '"' {
			if _, ok := s.quoted(); ok {
				continue
			}
		}
		s.rest = s.rest[1:]
	}
}

// word reads a token (RFC 9110, section 5.6.2).
func (s *scanner) word() string {
	n := strings.IndexFunc(s.rest, func(r rune) bool { return !isTokenRune(r) })
	if n < 0 {
		n = len(s.rest)
	}
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

func isTokenRune(r rune) bool {
	return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// equals reads the "=" behind the name of a parameter, with the spaces that old senders put
// around it. If there is none, it reads nothing: the word was no name.
func (s *scanner) equals(name string) (string, bool) {
	rest := strings.TrimLeft(s.rest, " \t")
	if name == "" || !strings.HasPrefix(rest, "=") {
		return "", false
	}
	s.rest = strings.TrimLeft(rest[1:], " \t")
	return name, true
}

// value reads a token or a quoted string. Some servers send URLs without quotes, so a value ends
// where an element can end, not at the first byte that no token has.
func (s *scanner) value() (string, bool) {
	if strings.HasPrefix(s.rest, `"`) {
		return s.quoted()
	}
	n := strings.IndexAny(s.rest, ", \t\"")
	if n < 0 {
		n = len(s.rest)
	}
	value := s.rest[:n]
	s.rest = s.rest[n:]
	return value, value != ""
}

// quoted reads a quoted string (RFC 9110, section 5.6.4). It refuses one that does not
// end.
func (s *scanner) quoted() (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; c {
		case '"':
			s.rest = s.rest[i+1:]
			return b.String(), true
		case '\\':
			if i++; i < len(s.rest) {
				b.WriteByte(s.rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// token68 reads a token68, which stands in place of parameters (RFC 9110, section 11.2). Only a
// comma or the end may follow it; otherwise the text is a name.
func (s *scanner) token68() string {
	n := strings.IndexFunc(s.rest, func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r < 0x80 && strings.ContainsRune("-._~+/", r))
	})
	if n < 0 {
		n = len(s.rest)
	}
	if n == 0 {
		return ""
	}
	n += len(s.rest[n:]) - len(strings.TrimLeft(s.rest[n:], "="))
	after := scanner{rest: s.rest[n:]}
	if !after.atEnd() {
		return ""
	}
	token := s.rest[:n]
	s.rest = after.rest
	return token
}

// wants holds what the challenges of a server ask of a client of OAuth.
type wants struct {
	metadata string // the URL of the protected resource metadata
	scope    string
	schemes  []string // "bearer", "dpop": those that carry OAuth's tokens
	basic    bool     // there are challenges, and all are for a name and a password (RFC 7617)
}

// readWants reads the challenges for OAuth's schemes. If several say the same thing, the first
// of them counts.
func readWants(found []challenge) (w wants) {
	w.basic = len(found) > 0 && !slices.ContainsFunc(found, func(c challenge) bool { return c.scheme != "basic" })
	for _, c := range found {
		if c.scheme != "bearer" && c.scheme != "dpop" {
			continue
		}
		w.schemes = append(w.schemes, c.scheme)
		w.metadata = or(w.metadata, c.params["resource_metadata"])
		w.scope = or(w.scope, c.params["scope"])
	}
	return w
}

func (w wants) has(scheme string) bool { return slices.Contains(w.schemes, scheme) }
