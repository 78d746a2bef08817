package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// place says where to sign in to a server, with the server's own statements about that.
type place struct {
	Resource string   // the resource indicator to send; "" for none
	Scopes   []string // that the server lists
	Bound    bool     // it takes only tokens that are bound to a key
	Server   server
}

// resource is the protected resource metadata of a server (RFC 9728, section 2).
type resource struct {
	name    string
	servers []string
	scopes  []string
	bound   bool
}

// discover asks the server for its authorization server, and then the authorization server how it
// signs people in.
func (l *login) discover() (place, error) {
	about, err := l.findResource()
	if err != nil && !l.isPlaceKnown() {
		return place{}, err
	}
	at := place{Resource: l.Start().Server.Resource}
	if about != nil {
		at.Resource, at.Scopes, at.Bound = about.name, about.scopes, about.bound
	}
	if l.settings.Resource != nil {
		at.Resource = l.settings.resource()
	}
	switch {
	case about == nil && !l.isPlaceKnown():
		at.Server, err = l.findOldServer()
	default:
		at.Server, err = l.findServer(about)
	}
	return at, err
}

// isPlaceKnown reports whether the settings name the authorization server. Then the server's own
// metadata is useful, but not needed.
func (l *login) isPlaceKnown() bool {
	return l.settings.AuthorizationServer != "" || l.settings.MetadataURL != ""
}

// findResource returns the metadata of the server, or nil if it has none. It first looks
// where the challenge says, if that is at the server itself: metadata of another origin
// could speak for the server without its leave. Then it looks at the two well-known
// places.
func (l *login) findResource() (*resource, error) {
	const name = "oauth-protected-resource"
	places := []string{wellKnown(l.server, name), originOf(l.server) + "/.well-known/" + name}
	if u, err := url.Parse(l.wants.metadata); err == nil && u.User == nil && originOf(u) == originOf(l.server) {
		u.Fragment = ""
		places = append([]string{u.String()}, places...)
	}
	found, err := search(l, places, nil, l.readResource)
	switch {
	case err != nil:
		return nil, err
	case found == nil && l.wants.metadata != "" && !l.isPlaceKnown():
		return nil, auth.Misconfigured("the server names its metadata, and it is not there: "+brief(l.wants.metadata),
			"tell its makers, or set authorization_server")
	}
	return found, nil
}

func (l *login) readResource(d *document) (*resource, error) {
	r := &resource{
		name: d.text("resource"), servers: d.texts("authorization_servers"), scopes: d.texts("scopes_supported"),
		bound: d.flag("dpop_bound_access_tokens_required"),
	}
	u, err := url.Parse(r.name)
	switch {
	case d.err != nil:
		return nil, d.err
	case r.name == "" || err != nil || !covers(u, l.server):
		return nil, fmt.Errorf("it is about %q, and the server is %s", brief(r.name), l.Start().Server.Resource)
	case len(r.servers) == 0 && !l.isPlaceKnown():
		return nil, errors.New("it names no authorization server")
	}
	return r, nil
}

// findServer returns the authorization server that the settings or the server name.
// Without metadata it is not used, since nothing would confirm that it is the expected
// one.
func (l *login) findServer(about *resource) (server, error) {
	issuer, err := l.pickIssuer(about)
	if err != nil {
		return server{}, err
	}
	places := []string{l.settings.MetadataURL}
	if places[0] == "" {
		places = metadataPlaces(issuer)
	}
	found, err := search(l, places, nil, func(d *document) (*server, error) { return l.readServer(d, issuer) })
	switch {
	case err != nil:
		return server{}, err
	case found == nil:
		return server{}, auth.Misconfigured("the authorization server has no metadata: "+brief(or(issuer, places[0])),
			"set metadata_url if it is elsewhere")
	}
	return *found, nil
}

// pickIssuer picks one of the issuers that the server names (RFC 9728, section 7.6): the one in
// the settings, the one of last time, or the first that can be used. It returns "" if the
// settings name a place instead.
func (l *login) pickIssuer(about *resource) (string, error) {
	pinned := l.settings.AuthorizationServer
	switch {
	case about == nil || l.settings.MetadataURL != "":
		return pinned, nil
	case pinned != "" && len(about.servers) > 0 && !slices.Contains(about.servers, pinned):
		return "", auth.Misconfigured("the server does not name the authorization server "+pinned+", but "+brief(about.servers[0]),
			"change authorization_server, or set metadata_url to keep to it")
	case pinned != "":
		return pinned, nil
	case slices.Contains(about.servers, l.before.Issuer) && l.isIssuer(l.before.Issuer):
		return l.before.Issuer, nil
	}
	if i := slices.IndexFunc(about.servers, l.isIssuer); i >= 0 {
		return about.servers[i], nil
	}
	return "", auth.Misconfigured("the server names no authorization server that can be used: "+brief(about.servers[0])+" is no https URL", "")
}

// isIssuer reports whether a text is an issuer identifier (RFC 8414, section 2).
func (l *login) isIssuer(s string) bool {
	u, err := url.Parse(s)
	return err == nil && l.isAllowed(u) && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isAllowed reports whether an address that a stranger names may be called. Only a server on
// this machine may lead to others on this machine.
func (l *login) isAllowed(u *url.URL) bool { return isSecure(u, isLoopback(l.server)) }

// search asks the places in turn, and returns the result of read for the first document that read
// accepts. It returns nil if no place has a document. The error is that of the first document that
// was wrong or the first place that could not be asked: a document that may be there does not count
// as absent.
func search[T any](l *login, places []string, headers map[string]string, read func(*document) (*T, error)) (*T, error) {
	all := map[string]string{"Accept": "application/json"}
	for name, value := range headers {
		all[name] = value
	}
	var fault error
	for i, place := range places {
		if slices.Contains(places[:i], place) {
			continue
		}
		r, err := l.HTTP(auth.HTTP{Method: "GET", URL: place, Headers: all, Redirects: 3})
		if err != nil {
			return nil, fmt.Errorf("read metadata of %s: %w", brief(place), err)
		}
		found, err := readPlace(r, read)
		if found != nil {
			return found, nil
		}
		if err != nil && fault == nil {
			fault = wrong(place, err)
		}
	}
	return nil, fault
}

// errDown is the error of a place that could not be asked.
var errDown = errors.New("the server is out of order")

// readPlace returns nil for a place without a document.
func readPlace[T any](r *auth.Response, read func(*document) (*T, error)) (*T, error) {
	switch {
	case r.Status >= 500 || r.Status == 429:
		return nil, fmt.Errorf("%w: it answers with status %d", errDown, r.Status)
	case r.Status != 200:
		return nil, nil
	}
	d, err := readDocument(r)
	if errors.Is(err, errNotJSON) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return read(d)
}

// wrong says what is wrong with the metadata at a place.
func wrong(place string, err error) error {
	text := "the metadata at " + brief(place) + " cannot be used: " + err.Error()
	if errors.Is(err, errDown) {
		return errors.New(text)
	}
	return auth.Misconfigured(text, "tell the makers of the server, or set metadata_url or authorization_server")
}
