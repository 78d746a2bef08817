package main

import (
	"slices"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// binding is the record of the last sign-in to a server. It leads to the token, and says what to
// ask for next time. Its key is the resource, with what tells the entry from others of that resource.
type binding struct {
	Issuer string   `json:"issuer"`
	Client string   `json:"client"`
	Kind   string   `json:"kind"`  // of the client
	Grant  string   `json:"grant"` //
	Scope  []string `json:"scope"` // that was asked for
	Tries  tries    `json:"tries"`
	Wanted []string `json:"wanted,omitempty"` // what the server has asked for since, with no person there to give it
}

// token is the record of the tokens that an authorization server has issued.
type token struct {
	Access    string   `json:"access"`
	Scheme    string   `json:"scheme"` // "Bearer" or "DPoP"
	Refresh   string   `json:"refresh,omitempty"`
	Scope     []string `json:"scope,omitempty"`   // that was granted
	Born      int64    `json:"born"`              // Unix time in milliseconds
	Expires   int64    `json:"expires,omitempty"` // likewise; 0 if unknown
	Refreshed bool     `json:"refreshed,omitempty"`
	Source    source   `json:"source"`
}

// source says where a token came from, with everything that it takes to get another there.
type source struct {
	Issuer   string   `json:"issuer"`
	Endpoint string   `json:"endpoint"`
	Revoke   string   `json:"revoke,omitempty"`
	Resource string   `json:"resource,omitempty"` // that was sent
	Scope    []string `json:"scope,omitempty"`    // that was asked for
	DPoP     string   `json:"dpop,omitempty"`     // the algorithm of the key; "" for none
	Client   client   `json:"client"`
}

func (l *login) bindingKey() auth.RecordKey {
	return auth.RecordKey{Name: "sign-in", Resource: l.Start().Server.Resource, Client: l.settings.variant()}
}

// tokenKey is different for tokens that must not be mixed up: a token of another authorization
// server, client, resource or variant has another record.
func (l *login) tokenKey(issuer, client string) auth.RecordKey {
	client = inList(client)
	if v := l.settings.variant(); v != "" {
		client += ", " + v
	}
	return auth.RecordKey{Name: "token", Issuer: issuer, Resource: l.Start().Server.Resource, Client: client}
}

func (t *token) key(l *login) auth.RecordKey { return l.tokenKey(t.Source.Issuer, t.Source.Client.ID) }

// recall loads the binding and the token that it leads to.
func (l *login) recall() error {
	var b binding
	found, err := l.Load(l.bindingKey(), &b)
	if err == nil && !found {
		b, found, err = l.adopt()
	}
	if err != nil || !found {
		return err
	}
	l.before = b
	var t token
	found, err = l.Load(l.tokenKey(b.Issuer, b.Client), &t)
	if found {
		l.token = &t
	}
	return err
}

// save stores a token and then its binding, in this order: a binding never leads to nothing. If the
// token that recall has loaded has another key, save forgets it, since no binding leads to it any more.
// It drops that of a sign-in which another process has ended since, with a client of its own: a
// sign-out finds but one.
func (l *login) save(t *token, at *place) error {
	t.assume(t.Source.Scope)
	if err := l.Store(t.key(l), t); err != nil {
		return err
	}
	b := binding{
		Issuer: t.Source.Issuer, Client: t.Source.Client.ID, Kind: t.Source.Client.Kind,
		Grant: l.settings.Grant, Scope: t.Source.Scope, Tries: l.nextTries(t.Source.Scope),
	}
	var now binding
	found, err := l.LoadLocked(l.bindingKey(), &now)
	if err != nil {
		return err
	}
	if err := l.Store(l.bindingKey(), b); err != nil {
		return err
	}
	if old := l.token; old != nil && old.key(l) != t.key(l) {
		if err := l.Forget(old.key(l)); err != nil {
			return err
		}
	}
	beside := found && (now.Issuer != l.before.Issuer || now.Client != l.before.Client)
	if other := l.tokenKey(now.Issuer, now.Client); beside && other != t.key(l) {
		return l.drop(other)
	}
	return nil
}

// want remembers the scopes of a challenge that no person could answer, for the next sign-in. Where the
// vault does not take them, that sign-in asks for what it would have asked for without them.
func (l *login) want(scopes []string) {
	l.amend(func(b *binding) { b.Wanted = union(b.Wanted, scopes) })
}

// unwant forgets what want has remembered, since the authorization server does not know it. If the sign-in that had
// the earlier scopes is lost, it forgets those too.
func (l *login) unwant() {
	l.amend(func(b *binding) {
		if b.Wanted = nil; l.isLost() {
			b.Scope = nil
		}
	})
}

// amend changes what the binding says of the scopes for next time.
func (l *login) amend(change func(*binding)) {
	after := l.before
	if change(&after); slices.Equal(after.Wanted, l.before.Wanted) && slices.Equal(after.Scope, l.before.Scope) {
		return
	}
	var now binding
	if found, err := l.LoadLocked(l.bindingKey(), &now); err != nil || !found {
		return
	}
	change(&now)
	if l.Store(l.bindingKey(), now) == nil {
		l.before = now
	}
}

// tries bound what a server can cause by refusing every token. They count the sign-ins in one
// period that ended well and did not help.
type tries struct {
	Scope []string `json:"scope"`
	Same  int      `json:"same"`  // for that scope
	All   int      `json:"all"`   // for any
	Since int64    `json:"since"` // Unix time in milliseconds
}

const (
	mostSame   = 3
	mostAll    = 8
	triesReset = 600_000 // milliseconds
)

// nextTries returns the counters after one more sign-in with this scope, and stores nothing.
func (l *login) nextTries(scope []string) tries {
	now := l.Now().UnixMilli()
	next := l.before.Tries
	typed := l.before.Kind == kindPerson // which a server cannot cause
	if next.Since == 0 || now-next.Since > triesReset || l.Start().Reason == step.ReasonLogin || typed {
		next = tries{Since: now}
	}
	if !slices.Equal(next.Scope, scope) {
		next.Scope, next.Same = scope, 0
	}
	next.Same++
	next.All++
	return next
}

// checkTries says when to stop asking. It never stops a person who asks to sign in.
func (l *login) checkTries(at *place) error {
	if l.Start().Reason == step.ReasonLogin {
		return nil
	}
	server := l.Start().Server.Name
	if missing := l.notGiven(at); len(missing) > 0 {
		return auth.Misconfigured("the authorization server "+at.Server.Issuer+" was asked for "+brief(list(missing))+", which "+server+
			" wants for this, and did not give it", "see what the account may do there; to try again, run: wharf login "+server)
	}
	if next := l.nextTries(l.scopes(at)); next.Same > mostSame || next.All > mostAll {
		what := " has asked for a new sign-in several times in the last minutes"
		if l.upscope {
			what = " asks for more rights over and over, although they have been asked for"
		}
		return auth.Misconfigured("the server "+server+what,
			"see what the account may do there, and whether the server keeps its tokens; to try again, run: wharf login "+server)
	}
	if l.isInVain(at) {
		return auth.Misconfigured("the server "+server+" refuses the token that was just issued for it by "+at.Server.Issuer,
			"to try again, run: wharf login "+server)
	}
	return nil
}

// notGiven returns the scopes that the server misses in a token of a sign-in just now, and that the
// authorization server has left out of that token although it was asked for them. It would again.
func (l *login) notGiven(at *place) (missing []string) {
	t := l.token
	if t == nil || !l.upscope || t.Refreshed || !l.isNew(t) || t.Source.Issuer != at.Server.Issuer {
		return nil
	}
	for _, scope := range parseScopes(l.wants.scope) {
		if slices.Contains(t.Source.Scope, scope) && !slices.Contains(t.Scope, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// isInVain reports whether the server refuses what a person has just signed in for: the token
// of that sign-in, or one that a refresh has made of it since. It would refuse another sign-in
// too.
func (l *login) isInVain(at *place) bool {
	t := l.token
	if t == nil || l.upscope || !l.isNew(t) || t.Source.Issuer != at.Server.Issuer || !contains(l.before.Scope, l.scopes(at)) {
		return false
	}
	return !t.Refreshed || l.Now().UnixMilli()-l.before.Tries.Since < justNow
}
