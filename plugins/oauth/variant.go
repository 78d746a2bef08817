package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// longestVariant bounds a variant that is written out, in bytes.
const longestVariant = 300

// variant tells the sign-in of an entry from those of other entries with the same url. It is "" for an
// entry without settings, and names what makes another token of a token: entries that are alike in
// that have one sign-in together. It is shown to the person, and is not secret, so the values of what
// can be a secret, or is long, are in it as a hash. What proves an identity is not part of it, because
// it changes while the identity stays.
func (s *settings) variant() string {
	var parts []string
	for _, part := range []struct{ key, value, usual string }{
		{"account", s.Account, ""}, {"client_id", s.ClientID, ""}, {"grant", s.Grant, grantCode}, {"dpop", s.DPoP, dpopAuto},
		{"scopes", list(slices.Sorted(slices.Values(union(nil, s.Scopes)))), ""}, {"more", s.more(), ""},
	} {
		if part.value != part.usual {
			parts = append(parts, part.key+"="+inList(part.value))
		}
	}
	text := strings.Join(parts, ", ")
	if len(text) > longestVariant {
		return "hash=" + hash(text)
	}
	return text
}

// inList returns a text for a list with commas between its members, in which it is told apart from several.
func inList(text string) string { return strings.ReplaceAll(text, ",", ",,") }

// more returns a hash of the settings that variant does not write out. If the entry has none of them, it returns "".
func (s *settings) more() string {
	text, _ := json.Marshal(struct {
		ClientMetadataURL   string            `json:",omitempty"`
		Resource            *string           `json:",omitempty"`
		AuthorizationServer string            `json:",omitempty"`
		MetadataURL         string            `json:",omitempty"`
		AuthorizeParams     map[string]string `json:",omitempty"`
		IDPTokenEndpoint    string            `json:",omitempty"`
		IDPClientID         string            `json:",omitempty"`
		Workload            string            `json:",omitempty"`
		Person              string            `json:",omitempty"`
	}{
		s.ClientMetadataURL, s.Resource, s.AuthorizationServer, s.MetadataURL, s.AuthorizeParams,
		s.IDPTokenEndpoint, s.IDPClientID, subject(s.JWT), subject(s.IDToken),
	})
	if string(text) == "{}" {
		return ""
	}
	return hash(string(text))
}

// hash returns 64 bits of a hash. They tell apart what one person has configured.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// subject returns who a JWT says that it is about (RFC 7519, section 4.1), or "" if it does not say.
// It is not believed; it stays the same when the JWT is replaced by a newer one.
func subject(jwt string) string {
	_, rest, _ := strings.Cut(jwt, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	var claims struct {
		Issuer  string `json:"iss"`
		Subject string `json:"sub"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Subject == "" {
		return ""
	}
	return claims.Issuer + " " + claims.Subject
}

// adopt takes over the sign-in that an earlier version has saved. That version had one for all entries
// of a url, so the sign-in goes to the first entry that would lead to it, and another entry signs in
// anew. found reports whether the entry has a sign-in now.
func (l *login) adopt() (b binding, found bool, err error) {
	resource := l.Start().Server.Resource
	key := auth.RecordKey{Name: "binding", Resource: resource}
	if found, err = l.Load(key, &b); err != nil || !found {
		return b, false, err
	}
	old := auth.RecordKey{Name: "token", Issuer: b.Issuer, Resource: resource, Client: b.Client}
	var t token
	if found, err = l.Load(old, &t); err != nil || !l.isOurs(b, t, found) {
		return b, false, err
	}
	if found, err = l.LoadLocked(key, &b); err != nil {
		return b, false, err
	}
	if !found { // another flow was faster
		found, err = l.Load(l.bindingKey(), &b)
		return b, found, err
	}
	if found, err = l.LoadLocked(old, &t); err != nil { // waits for an earlier version that renews it
		return b, false, err
	}
	if found {
		err = l.Store(t.key(l), t)
	}
	if err == nil {
		err = l.Store(l.bindingKey(), b)
	}
	if err == nil && !(found && old == t.key(l)) { // one that is gone too, to unlock it
		err = l.Forget(old)
	}
	if err == nil {
		err = l.Forget(key)
	}
	return b, err == nil, err
}

// isOurs reports whether the settings would lead to a sign-in of an earlier version, and to its token,
// if there is one. Its record does not say whose account it is.
func (l *login) isOurs(b binding, t token, there bool) bool {
	s := &l.settings
	switch {
	case s.Account != "", subject(s.JWT) != "", subject(s.IDToken) != "":
		return false
	case b.Kind == kindPerson:
		return s.Grant == grantCode && s.ClientID == ""
	case b.Grant != s.Grant, s.ClientID != b.Client && (s.ClientID != "" || b.Kind == kindGiven):
		return false
	case b.Kind == kindDocument && s.ClientMetadataURL != b.Client:
		return false
	case s.AuthorizationServer != "" && s.AuthorizationServer != b.Issuer, !contains(b.Scope, s.Scopes):
		return false
	case !there:
		return true
	case s.DPoP == dpopOn && t.Source.DPoP == "", s.DPoP == dpopOff && t.Source.DPoP != "":
		return false
	}
	return s.Resource == nil || s.resource() == t.Source.Resource
}
