package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

var request = &httpclient.Request{HTTP: &http.Request{
	Method: "POST", URL: &url.URL{Scheme: "https", Host: "mcp.example", Path: "/mcp", RawQuery: "a=b"},
	Header: http.Header{"Accept": {"a", "b"}},
}}

// apply signs a request in and returns its Authorization.
func apply(t *testing.T, a *Account) string {
	t.Helper()
	pairs, err := a.Apply(t.Context(), request)
	if err != nil {
		t.Errorf("apply: %v", err)
	}
	return sentHeader(pairs, "Authorization")
}

// counting gives token 1, token 2 and so on, each for a time.
func counting(life time.Duration) *scripted {
	n := 0
	p := replies()
	p.next = func(context.Context, *step.Call) (*step.Reply, error) {
		n++
		return &step.Reply{Actions: []step.Action{bearer(fmt.Sprint(n), life), done}}, nil
	}
	return p
}

func account(t *testing.T, c Config) *Account {
	a := NewAccount(c)
	t.Cleanup(a.Close)
	return a
}

func TestCredentialsAreRenewedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := counting(time.Hour)
		a := account(t, setup(p))
		wantText(t, apply(t, a), "Bearer 1")
		time.Sleep(time.Hour - renewAhead - renewSpread - time.Second)
		wantText(t, apply(t, a), "Bearer 1")
		time.Sleep(2*renewSpread + time.Second)
		wantText(t, apply(t, a), "Bearer 2")
		wantText(t, fmt.Sprint(p.starts()), "[initial expired]")
	})
}

// TestShortLives are not renewed with every request.
func TestShortLives(t *testing.T) {
	for _, life := range []time.Duration{time.Second, time.Minute, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := counting(life)
			a := account(t, setup(p))
			for range 10 {
				apply(t, a)
			}
			wantText(t, fmt.Sprint(p.starts()), "[initial]")
			time.Sleep(time.Minute)
			apply(t, a)
			wantText(t, fmt.Sprint(p.starts()), "[initial expired]")
		})
	}
}

// TestARenewalIsOneForAll has a hundred requests come when it is due, some of
// which leave. It goes on to its end.
func TestARenewalIsOneForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		n := 0
		p := replies()
		p.next = func(ctx context.Context, _ *step.Call) (*step.Reply, error) {
			if n++; n > 1 {
				<-release
			}
			return &step.Reply{Actions: []step.Action{bearer(fmt.Sprint(n), time.Hour), done}}, ctx.Err()
		}
		a := account(t, setup(p))
		apply(t, a)
		time.Sleep(time.Hour)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%2 == 0 {
					time.AfterFunc(time.Second, cancel)
				}
				pairs, err := a.Apply(ctx, request)
				if leaves := i%2 == 0; leaves != errors.Is(err, context.Canceled) || !leaves && sentHeader(pairs, "Authorization") != "Bearer 2" {
					t.Errorf("request %d: %v, %v", i, pairs, err)
				}
			})
		}
		time.Sleep(2 * time.Second)
		close(release)
		all.Wait()
		wantText(t, fmt.Sprint(p.starts()), "[initial expired]")
	})
}

// TestAFailedRenewal uses what there is until it has expired.
func TestAFailedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := replies()
		p.next = func(context.Context, *step.Call) (*step.Reply, error) {
			if n++; n == 1 {
				return &step.Reply{Actions: []step.Action{bearer("1", time.Hour), done}}, nil
			}
			return &step.Reply{Actions: []step.Action{{Kind: step.ActionFail, Fail: &step.Fail{Class: step.FailRetry, Message: "503"}}}}, nil
		}
		a := account(t, setup(p))
		apply(t, a)
		time.Sleep(time.Hour - 20*time.Second)
		wantText(t, apply(t, a), "Bearer 1")
		wantText(t, apply(t, a), "Bearer 1")
		wantText(t, fmt.Sprint(p.starts()), "[initial expired]")
		time.Sleep(20 * time.Second)
		_, err := a.Apply(t.Context(), request)
		wantError(t, err, step.FailRetry, "503")
	})
}

// TestLazy providers are not loaded while the vault has nothing for them.
func TestLazy(t *testing.T) {
	p := counting(0)
	c := setup(p)
	c.Lazy = true
	loads := 0
	c.Provider = func(context.Context) (Provider, error) { loads++; return p, nil }
	a := account(t, c)
	wantText(t, apply(t, a), "")
	if err := a.Logout(t.Context()); err != nil || loads != 0 {
		t.Errorf("loaded %d times, %v", loads, err)
	}
	wantText(t, apply(t, a), "")
	if retry, err := a.Challenge(t.Context(), &httpclient.Challenge{Status: 401, Number: 1}); !retry || err != nil {
		t.Errorf("retry %v, %v", retry, err)
	}
	wantText(t, apply(t, a), "Bearer 1")

	saved := account(t, c)
	c.Vault.Store(t.Context(), vault.Key{Provider: "corp", Resource: "https://mcp.example/mcp", Name: "token"}, secret.New("x"))
	wantText(t, apply(t, saved), "Bearer 2")
}

func TestAProviderThatDoesNotLoad(t *testing.T) {
	c := setup(nil)
	n := 0
	c.Provider = func(context.Context) (Provider, error) {
		if n++; n == 1 {
			return nil, errors.New("no such file")
		}
		return counting(0), nil
	}
	a := account(t, c)
	_, err := a.Apply(t.Context(), request)
	wantError(t, err, step.FailConfig, "no such file")
	wantText(t, apply(t, a), "Bearer 1")
}

func TestAClosedAccount(t *testing.T) {
	a := NewAccount(setup(counting(0)))
	a.Close()
	_, applied := a.Apply(t.Context(), request)
	_, challenged := a.Challenge(t.Context(), &httpclient.Challenge{Status: 401})
	for _, err := range []error{applied, challenged, a.Logout(t.Context())} {
		if !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// TestRequests asks a provider to sign each of them.
func TestRequests(t *testing.T) {
	p := replies()
	p.manifest.Wants.Requests = true
	answer := []step.Action{{Kind: step.ActionCredentials, Credentials: &step.Credentials{Headers: map[string]string{"Authorization": "Sig x"}}}, done}
	p.next = func(_ context.Context, c *step.Call) (*step.Reply, error) {
		if r := c.Event.Request; r != nil {
			wantText(t, string(c.State), `"kept"`)
			wantText(t, fmt.Sprint(r.Method, r.URL, r.Headers, len(r.BodySHA256)), "POSThttps://mcp.example/mcp?a=bmap[accept:a,b host:mcp.example] 64")
			return &step.Reply{Actions: answer}, nil
		}
		return &step.Reply{State: []byte(`"kept"`), Actions: []step.Action{done}}, nil
	}
	a := account(t, setup(p))
	wantText(t, apply(t, a), "Sig x")
	wantText(t, apply(t, a), "Sig x")
	for _, bad := range [][]step.Action{
		{done}, {answer[0]}, {answer[0], {Kind: step.ActionHTTP, HTTP: &step.HTTP{}}},
		{{Kind: step.ActionCredentials, Credentials: &step.Credentials{Headers: map[string]string{"Host": "x"}}}, done},
	} {
		answer = bad
		_, err := a.Apply(t.Context(), request)
		wantError(t, err, Broken, "")
	}
	answer = []step.Action{{Kind: step.ActionFail, Fail: &step.Fail{Class: step.FailRetry, Message: "clock"}}}
	_, err := a.Apply(t.Context(), request)
	wantError(t, err, step.FailRetry, "clock")
}

// TestRequestBodies shows a body to a provider that asks for it and is granted it, and to
// no other.
func TestRequestBodies(t *testing.T) {
	long := make([]byte, step.MaxBody+1)
	for _, tt := range []struct {
		wants, granted bool
		body           []byte
		seen, refused  string
	}{
		{false, true, []byte("secret"), "", ""},
		{true, true, []byte("a\xff\x00"), "a\xff\x00", ""},
		{true, true, nil, "", ""},
		{true, true, long[1:], string(long[1:]), ""},
		{true, true, long, "", "the request has 262145 bytes"},
		{true, false, []byte("secret"), "", "the body of each request is not granted"},
	} {
		p, seen := replies(), "not asked"
		p.manifest.Wants.Requests, p.manifest.Wants.Body = true, tt.wants
		p.next = func(_ context.Context, c *step.Call) (*step.Reply, error) {
			if r := c.Event.Request; r != nil {
				seen = string(r.Body)
				return &step.Reply{Actions: []step.Action{{Kind: step.ActionCredentials, Credentials: &step.Credentials{}}, done}}, nil
			}
			return &step.Reply{State: []byte(`"kept"`), Actions: []step.Action{done}}, nil
		}
		config := setup(p)
		config.Grant.Body = tt.granted
		r := *request
		r.Body = tt.body
		_, err := account(t, config).Apply(t.Context(), &r)
		switch {
		case tt.refused != "":
			if err == nil || !strings.Contains(err.Error(), tt.refused) || seen != "not asked" {
				t.Errorf("%d bytes are seen, and the error is %v, want %s", len(seen), err, tt.refused)
			}
		case err != nil || seen != tt.seen:
			t.Errorf("%+.80v: %d bytes are seen, and the error is %v", tt, len(seen), err)
		}
	}
}

// TestSecretsAreNotShown prints all that an account holds.
func TestSecretsAreNotShown(t *testing.T) {
	a := account(t, setup(signIn(func(f *auth.Flow) error {
		f.Credentials(auth.Credentials{Scheme: "Bearer", Token: "canary"})
		return nil
	})))
	h, err := a.obtain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", *h.credentials, *h.credentials, *h.credentials); contains(errors.New(text), "canary") {
		t.Error(text)
	}
}
