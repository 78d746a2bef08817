package main

import (
	"net/url"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// leave ends a login. It revokes the tokens if possible (RFC 7009), and forgets them in any
// case. The refresh token goes first, since others come from it. The answer of the
// authorization server changes nothing. The registration stays, because it gives no access by
// itself.
func (l *login) leave() error {
	if t := l.token; t != nil {
		if err := l.drop(t.key(l)); err != nil {
			return err
		}
	}
	if l.before.Grant == "" {
		return nil
	}
	return l.Forget(l.bindingKey())
}

// drop revokes and forgets the token of a key, if there is one.
func (l *login) drop(key auth.RecordKey) error {
	var now token
	found, err := l.LoadLocked(key, &now)
	if err != nil {
		return err
	}
	if found {
		l.revoke(&now)
	}
	return l.Forget(key)
}

func (l *login) revoke(t *token) {
	if t.Source.Revoke == "" {
		return
	}
	for _, one := range []struct{ token, hint string }{{t.Refresh, "refresh_token"}, {t.Access, "access_token"}} {
		if one.token != "" {
			form := url.Values{"token": {one.token}, "token_type_hint": {one.hint}}
			_, _ = l.post(&t.Source, t.Source.Revoke, form, false)
		}
	}
}
