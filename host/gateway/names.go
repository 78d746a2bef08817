package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// The names of tools, prompts, tasks and resources on the aggregate. A name is made from the server's
// name and the server's own name for the thing alone. So it does not depend on the other servers, and
// no server can take the name of another server's tool.

const (
	separator = "__"
	maxName   = 64 // letters of a name; models take no more
	maxPrefix = 20 // letters of a server's name in a name that has a hash

	// hashDigits is the number of hexadecimal digits. Where the names of two servers begin alike,
	// only the hash tells their tools apart. A server chooses the names of its tools, so there
	// must be enough digits that it cannot find a name with the hash of another server's tool.
	hashDigits = 16
)

// aggregateName returns the name of a tool or a prompt on the aggregate: SERVER__TOOL, of letters,
// digits, '_' and '-'. A name that would be longer than maxName, would have other letters, or could
// be read as the name of another server's tool gets hashDigits digits of a hash.
func aggregateName(server, tool string) string {
	plain := server + separator + tool
	before, _, _ := strings.Cut(plain, separator)
	if len(plain) <= maxName && before == server && server != "" && tool != "" && replaceLetters(plain) == plain && !hashedServer.MatchString(server) {
		return plain
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	name := hashedPrefix(server) + hex.EncodeToString(sum[:hashDigits/2]) + separator + replaceLetters(tool)
	return name[:min(len(name), maxName)]
}

// hashedPrefix returns the text before the hash in the names of a server.
func hashedPrefix(server string) string {
	prefix := replaceLetters(server)
	for strings.Contains(prefix, separator) {
		prefix = strings.ReplaceAll(prefix, separator, "_")
	}
	return prefix[:min(len(prefix), maxPrefix)] + "-"
}

// hashedServer matches the text before the separator if the name has a hash.
var hashedServer = lazyregexp.New(`-[0-9a-f]{16}$`)

// replaceLetters replaces each letter that a name cannot have by '_'.
func replaceLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// splitName splits a name without a hash into the server and its own name. ok is false for any other
// name.
func splitName(name string) (server, tool string, ok bool) {
	server, tool, ok = strings.Cut(name, separator)
	return server, tool, ok && aggregateName(server, tool) == name
}

// taskEscape replaces each '.' in the name of a server, so that the first '.' of the id of a task
// ends that name.
var (
	taskEscape   = strings.NewReplacer("~", "~0", ".", "~1")
	taskUnescape = strings.NewReplacer("~1", ".", "~0", "~")
)

func taskID(server, id string) string { return taskEscape.Replace(server) + "." + id }

func ownTaskID(id string) (server, own string, ok bool) {
	server, own, ok = strings.Cut(id, ".")
	return taskUnescape.Replace(server), own, ok
}

// A resource keeps its URI, unless that may be read from another server. Then the name of the server
// qualifies it: as a prefix, or for ui:// in the authority, because the scheme of pages that a client
// shows must stay.
const (
	qualifier = "wharf+"
	pages     = "ui://"
	tilde     = "~" // no escaped name has one
)

func qualify(server, uri string) string {
	server = strings.ReplaceAll(url.PathEscape(server), tilde, "%7E")
	if rest, ok := strings.CutPrefix(uri, pages); ok {
		return pages + server + tilde + rest
	}
	return qualifier + strings.ReplaceAll(server, ":", "%3A") + ":" + uri
}

// unqualify returns the server and the URI from which qualify made the text. ok is false for a text
// that qualify has not made.
func unqualify(qualified string) (server, uri string, ok bool) {
	scheme, end := "", ":"
	rest, ok := strings.CutPrefix(qualified, qualifier)
	if !ok {
		scheme, end = pages, tilde
		if rest, ok = strings.CutPrefix(qualified, pages); !ok {
			return "", "", false
		}
	}
	escaped, uri, ok := strings.Cut(rest, end)
	if !ok {
		return "", "", false
	}
	server, err := url.PathUnescape(escaped)
	uri = scheme + uri
	return server, uri, err == nil && qualify(server, uri) == qualified
}

// owners says which servers list which URIs and templates.
type owners struct {
	servers   map[string][]string // servers, by URI or template, in their order
	templates []template          // in the order of the servers
	last      string              // the server that was added last
	several   bool                // more than one server has been added
}

type template struct{ server, text string }

// add notes that a server lists a URI or a template. What a server lists is added without a break.
func (o *owners) add(server, uri string, isTemplate bool) {
	if o.servers == nil {
		o.servers = make(map[string][]string)
	} else if o.last != server {
		o.several = true
	}
	o.last = server
	if slices.Contains(o.servers[uri], server) {
		return
	}
	o.servers[uri] = append(o.servers[uri], server)
	if isTemplate {
		o.templates = append(o.templates, template{server, uri})
	}
}

// serverOf returns the server that a URI is read from: the first that lists it, or else the first with
// a template that expands to it.
func (o *owners) serverOf(uri string) (server string, ok bool) {
	if of := o.servers[uri]; len(of) > 0 {
		return of[0], true
	}
	for _, t := range o.templates {
		if expands(t.text, uri) {
			return t.server, true
		}
	}
	return "", false
}

// uriNaming gives the URIs in one message of a server the form that they have on the aggregate.
type uriNaming struct {
	owners  *owners
	server  string
	asked   func(form string) bool // the client has asked the server for a URI in this form; nil for never
	matches int                    // how many templates were compared
}

// maxMatches is how many templates are compared for one message. Further URIs are qualified, which is
// right for any.
const maxMatches = 1000

// form returns a URI of the server as it is on the aggregate.
func (n *uriNaming) form(uri string) string {
	of := n.owners.servers[uri]
	switch qualified := qualify(n.server, uri); {
	case n.asked != nil && n.asked(qualified):
		return qualified
	case n.asked != nil && n.asked(uri):
		return uri
	case len(of) > 1, len(of) == 1 && of[0] != n.server, len(of) == 0 && n.expandsElsewhere(uri):
		return qualified
	}
	return uri
}

// expandsElsewhere reports whether a template of another server may expand to a URI.
func (n *uriNaming) expandsElsewhere(uri string) bool {
	for _, t := range n.owners.templates {
		if t.server == n.server {
			continue
		}
		if n.matches++; n.matches > maxMatches || expands(t.text, uri) {
			return true
		}
	}
	return false
}
