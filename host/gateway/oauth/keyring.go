package oauth

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/egress"
)

// How long the keys of an issuer are used.
const (
	freshTime = time.Hour      // until they are fetched again
	staleTime = 24 * time.Hour // until they count no more, if they cannot be
	retryTime = time.Minute    // between two tries, whatever tokens come
)

const (
	maxKeys = 100
	minRSA  = 2048 // bits
)

// errNoKeys is the error of a token that cannot be verified now. Only the person who runs the gateway
// is told why.
var errNoKeys = errors.New("the keys of the issuer cannot be fetched now: try again later")

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// keyring has the keys of an issuer. It fetches them where they are needed.
type keyring struct {
	config  Config
	fetcher *egress.Fetcher
	known   atomic.Pointer[keySet] // the newest; nil before the first

	fetch    func(context.Context) ([]jose.JSONWebKey, error)
	fetching ctxmutex.Mutex // held by who fetches
	tried    time.Time      // when it was done last; guarded by fetching
}

// keySet are keys that were fetched at a time.
type keySet struct {
	keys []jose.JSONWebKey
	at   time.Time
}

// newKeyring returns a keyring without keys.
func newKeyring(c Config) (*keyring, error) {
	policy := egress.Policy{Discover: true}
	for _, text := range []string{c.Issuer, cmp.Or(c.JWKS, c.Issuer)} {
		if err := (&egress.FetchRequest{Method: http.MethodGet, URL: text}).Check(); err != nil {
			return nil, err
		}
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		policy.Origins = append(policy.Origins, u.Scheme+"://"+u.Host)
	}
	f, err := egress.NewFetcher(policy)
	if err != nil {
		return nil, err
	}
	k := &keyring{config: c, fetcher: f, fetching: ctxmutex.New()}
	k.fetch = k.fetchKeys
	return k, nil
}

// find returns the key that a token names with its header. An error that is no invalid token says that
// the keys are not known.
func (k *keyring) find(ctx context.Context, id, algorithm string) (*jose.JSONWebKey, error) {
	known := k.known.Load()
	key := known.pick(id, algorithm)
	if key == nil || known.age() > freshTime {
		known = k.refresh(ctx, known, key != nil && known.age() < staleTime)
		key = known.pick(id, algorithm)
	}
	switch {
	case known == nil || known.age() > staleTime:
		return nil, errNoKeys
	case key == nil:
		return nil, invalid("the issuer has no such key")
	}
	return key, nil
}

// refresh returns the keys after another try to fetch them, if it is time for one. A request for which
// there is a usable key does not wait for the try of another.
func (k *keyring) refresh(ctx context.Context, known *keySet, usable bool) *keySet {
	wait := ctx
	if usable {
		wait = ended
	}
	if k.fetching.Lock(wait) != nil {
		return known
	}
	defer k.fetching.Unlock()
	if newest := k.known.Load(); newest != known || !k.tried.IsZero() && time.Since(k.tried) < retryTime {
		return newest
	}
	k.tried = time.Now()
	keys, err := k.fetch(context.WithoutCancel(ctx)) // a client that leaves has no say in what the next one finds
	if err != nil {
		if k.config.Warn != nil {
			k.config.Warn(fmt.Errorf("the keys of the issuer %s cannot be fetched: %w", k.config.Issuer, err))
		}
		return known
	}
	k.known.Store(&keySet{keys, time.Now()})
	return k.known.Load()
}

// fetchKeys fetches the keys.
func (k *keyring) fetchKeys(ctx context.Context) ([]jose.JSONWebKey, error) {
	at := k.config.JWKS
	if at == "" {
		var err error
		if at, err = k.discover(ctx); err != nil {
			return nil, err
		}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := k.get(ctx, at, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil && isUsable(&key) { // others are for other programs
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key for signatures", at)
	}
	return keys, nil
}

// discover returns the URL of the keys, by the metadata of the issuer (RFC 8414, or OpenID Connect
// Discovery).
func (k *keyring) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(k.config.Issuer)
	if err != nil {
		return "", err
	}
	origin, path := u.Scheme+"://"+u.Host, u.EscapedPath()
	if path == "/" {
		path = ""
	}
	var tries []error
	for _, at := range []string{origin + "/.well-known/oauth-authorization-server" + path, origin + path + "/.well-known/openid-configuration"} {
		var metadata struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		err := k.get(ctx, at, &metadata)
		switch {
		case err != nil:
			tries = append(tries, err)
		case metadata.Issuer != k.config.Issuer:
			tries = append(tries, fmt.Errorf("%s is about another issuer", at))
		case metadata.JWKS == "":
			tries = append(tries, fmt.Errorf("%s has no jwks_uri", at))
		default:
			return metadata.JWKS, nil
		}
	}
	return "", errors.Join(tries...)
}

// get fetches a JSON document.
func (k *keyring) get(ctx context.Context, at string, into any) error {
	answer, err := k.fetcher.Fetch(ctx, egress.FetchRequest{Method: http.MethodGet, URL: at, Header: map[string]string{"Accept": "application/json"}})
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK:
		return fmt.Errorf("%s answers %d", at, answer.Status)
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// isUsable reports whether a key verifies signatures.
func isUsable(k *jose.JSONWebKey) bool {
	if r, ok := k.Key.(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
		return false
	}
	return k.IsPublic() && k.Valid() && (k.Use == "" || k.Use == "sig")
}

func (s *keySet) age() time.Duration {
	if s == nil {
		return 0
	}
	return time.Since(s.at)
}

// pick returns the key with an id, if it is for the algorithm, or nil. A token may name none where there
// is only one.
func (s *keySet) pick(id, algorithm string) *jose.JSONWebKey {
	if s == nil {
		return nil
	}
	for i := range s.keys {
		k := &s.keys[i]
		if (k.KeyID == id || id == "" && len(s.keys) == 1) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			return k
		}
	}
	return nil
}
