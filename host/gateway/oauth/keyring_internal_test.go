package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
)

// ring is a keyring whose issuer has keys with ids; nil is an issuer that cannot be reached.
type ring struct {
	*keyring
	t       *testing.T
	ids     []string
	fetched int
	told    int
	during  func() // called while the keys are fetched
}

func newRing(t *testing.T, ids ...string) *ring {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{t: t, ids: ids, during: func() {}}
	r.keyring = &keyring{fetching: ctxmutex.New(), config: Config{Warn: func(error) { r.told++ }}, fetch: func(ctx context.Context) (keys []jose.JSONWebKey, err error) {
		r.fetched++
		r.during()
		if ctx.Err() != nil || r.ids == nil {
			return nil, errors.New("not there")
		}
		for _, id := range r.ids {
			keys = append(keys, jose.JSONWebKey{Key: &key.PublicKey, KeyID: id})
		}
		return keys, nil
	}}
	return r
}

// want looks for a key, and compares how that ends and how often the issuer was asked so far.
func (r *ring) want(ctx context.Context, id, want string, fetched int) {
	r.t.Helper()
	got := "found"
	switch _, err := r.find(ctx, id, "ES256"); {
	case errors.Is(err, auth.ErrInvalidToken):
		got = "unknown"
	case err != nil:
		got = "unavailable"
	}
	if got != want || r.fetched != fetched {
		r.t.Errorf("%s is %s after %d requests; want %s after %d", id, got, r.fetched, want, fetched)
	}
}

// S4: whatever tokens come, the issuer is asked once a minute. Its new keys count within that minute, and
// those that it has withdrawn no longer than an hour, or a day while it cannot be asked.
func TestS4KeysAreFetchedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := newRing(t, "a"), t.Context()
		r.want(ctx, "a", "found", 1)
		for n := range 100 {
			r.want(ctx, strconv.Itoa(n), "unknown", 1)
		}
		r.ids = []string{"b"}
		r.want(ctx, "b", "unknown", 1)
		time.Sleep(retryTime)
		r.want(ctx, "a", "found", 1)
		r.want(ctx, "b", "found", 2)
		r.want(ctx, "a", "unknown", 2)
		r.ids = []string{"c"}
		time.Sleep(freshTime)
		r.want(ctx, "b", "found", 2)
		time.Sleep(time.Nanosecond)
		r.want(ctx, "b", "unknown", 3)
		r.ids = nil
		time.Sleep(freshTime + 1)
		r.want(ctx, "c", "found", 4)
		r.want(ctx, "c", "found", 4)
		time.Sleep(staleTime - freshTime)
		r.want(ctx, "c", "unavailable", 5)
		r.want(ctx, "d", "unavailable", 5)
		r.ids = []string{"d"}
		time.Sleep(retryTime)
		r.want(ctx, "d", "found", 6)
		if r.told != 2 {
			t.Errorf("the person was told %d times", r.told)
		}
	})
}

// The first clients wait for one request. A client that leaves does not end it, and who has keys does not wait.
func TestKeysAreFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, "a")
		r.during = func() { time.Sleep(time.Second) }
		left, leave := context.WithCancel(t.Context())
		var crowd sync.WaitGroup
		for range 64 {
			crowd.Go(func() {
				if _, err := r.find(left, "a", "ES256"); err != nil && left.Err() == nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave()
		crowd.Wait()
		r.want(t.Context(), "a", "found", 1)

		time.Sleep(freshTime + 1)
		crowd.Go(func() { r.find(t.Context(), "a", "ES256") })
		synctest.Wait()
		begun := time.Now()
		r.want(t.Context(), "a", "found", 2)
		if time.Since(begun) != 0 {
			t.Errorf("it has waited for %v", time.Since(begun))
		}
		crowd.Wait()
	})
}
