package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// exchange sends a request as capability does: until the server takes it, nothing
// more can be done, or it was refused three times too often.
func exchange(ctx context.Context, a *Account, server func(pairs []abi.Pair) httpclient.Challenge) (sent int, err error) {
	for round := 1; ; round++ {
		pairs, err := a.Apply(ctx, request)
		if err != nil {
			return sent, err
		}
		sent++
		c := server(pairs)
		if c.Status == 200 {
			if c.DPoPNonce != "" {
				a.Nonce(c.DPoPNonce)
			}
			return sent, nil
		}
		c.Number, c.Sent = round, pairs
		if round > 3 {
			return sent, errRefused
		}
		retry, err := a.Challenge(ctx, &c)
		if err != nil {
			return sent, err
		}
		if !retry {
			return sent, errRefused
		}
	}
}

var errRefused = errors.New("refused")

// takes is a server that takes one token.
func takes(token string) func([]abi.Pair) httpclient.Challenge {
	return func(pairs []abi.Pair) httpclient.Challenge {
		if sentHeader(pairs, "Authorization") == "Bearer "+token {
			return httpclient.Challenge{Status: 200}
		}
		return httpclient.Challenge{Status: 401, Authenticate: []string{`Bearer error="invalid_token"`}}
	}
}

var scopes = httpclient.Challenge{Status: 403, Authenticate: []string{`Bearer error="insufficient_scope", scope="more"`}}

func TestAChallengeIsAnsweredAndTheRequestSentAgain(t *testing.T) {
	p := counting(0)
	a := account(t, setup(p))
	if sent, err := exchange(t.Context(), a, takes("2")); sent != 2 || err != nil {
		t.Errorf("sent %d times, %v", sent, err)
	}
	wantText(t, fmt.Sprint(p.starts()), "[initial challenged]")
	if c := p.heard[1].Start.Challenge; c.Status != 401 || c.Token != "1" || len(c.Authenticate) != 1 {
		t.Errorf("the provider heard %+v", c)
	}
}

// TestAServerThatRefusesEverything gets each request twice, and no third time.
func TestAServerThatRefusesEverything(t *testing.T) {
	for range 2 {
		p := counting(0)
		a := account(t, setup(p))
		for i := range 3 {
			if sent, err := exchange(t.Context(), a, takes("")); sent != 2 || err != errRefused {
				t.Errorf("request %d was sent %d times, %v", i, sent, err)
			}
		}
	}
}

// TestASavedTokenThatIsRefusedToo was stored by another process, and has expired
// before this one has heard of it. The provider is asked once more for that, and
// not again for what it has got then.
func TestASavedTokenThatIsRefusedToo(t *testing.T) {
	for good, want := range map[string]error{"new": nil, "none": errRefused} {
		p := signIn(func(f *auth.Flow) error {
			token, key := "mine", auth.RecordKey{Name: "token"}
			if c := f.Start().Challenge; c != nil {
				if _, err := f.Load(key, &token); err != nil {
					return err
				}
				if c.Token == token {
					r, err := f.Run()
					if err != nil {
						return err
					}
					token = r.Stdout
				}
			}
			f.Credentials(auth.Credentials{Scheme: "Bearer", Token: token})
			return nil
		})
		c := setup(p)
		c.Run = func(context.Context) (*step.RunResult, error) { return &step.RunResult{Stdout: "new"}, nil }
		saved := vault.Key{Provider: c.Name, Resource: BoundTo(&c.Server), Name: "token"}
		if _, err := c.Vault.Store(t.Context(), saved, secret.New(`"saved"`)); err != nil {
			t.Fatal(err)
		}
		if sent, err := exchange(t.Context(), account(t, c), takes(good)); sent != 3 || err != want {
			t.Errorf("%s: sent %d times, %v", good, sent, err)
		}
	}
}

func TestA403ThatNothingHelpsAgainst(t *testing.T) {
	p := counting(0)
	a := account(t, setup(p))
	sent, err := exchange(t.Context(), a, func([]abi.Pair) httpclient.Challenge { return httpclient.Challenge{Status: 403} })
	if sent != 1 || err != errRefused {
		t.Errorf("sent %d times, %v", sent, err)
	}
}

// TestStepUps are two, until some time has passed.
func TestStepUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := counting(0)
		a := account(t, setup(p))
		never := func([]abi.Pair) httpclient.Challenge { return scopes }
		if sent, err := exchange(t.Context(), a, never); sent != 3 || err != errRefused {
			t.Errorf("sent %d times, %v", sent, err)
		}
		if sent, err := exchange(t.Context(), a, never); sent != 1 || err != errRefused {
			t.Errorf("sent %d times more, %v", sent, err)
		}
		time.Sleep(stepUpsRest + time.Second)
		if sent, _ := exchange(t.Context(), a, never); sent != 3 {
			t.Errorf("sent %d times later", sent)
		}
		wantText(t, fmt.Sprint(p.starts()), "[initial upscope upscope upscope upscope]")
	})
}

// TestAStepUpAfterASignIn happens within one exchange.
func TestAStepUpAfterASignIn(t *testing.T) {
	a := account(t, setup(counting(0)))
	sent, err := exchange(t.Context(), a, func(pairs []abi.Pair) httpclient.Challenge {
		switch sentHeader(pairs, "Authorization") {
		case "Bearer 1":
			return httpclient.Challenge{Status: 401}
		case "Bearer 2":
			return scopes
		}
		return httpclient.Challenge{Status: 200}
	})
	if sent != 3 || err != nil {
		t.Errorf("sent %d times, %v", sent, err)
	}
}

// TestManyChallenges of one token take one flow; those that come late find what
// it has got.
func TestManyChallenges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := counting(0)
		next := p.next
		release := make(chan struct{})
		p.next = func(ctx context.Context, c *step.Call) (*step.Reply, error) {
			if c.Event.Start.Reason == step.ReasonChallenged {
				<-release
			}
			return next(ctx, c)
		}
		a := account(t, setup(p))
		old, _ := a.Apply(t.Context(), request)
		refused := func(want bool) {
			retry, err := a.Challenge(t.Context(), &httpclient.Challenge{Status: 401, Number: 1, Sent: old})
			if !retry || err != nil {
				t.Errorf("retry %v, %v", retry, err)
			}
		}
		for range 50 {
			go refused(true)
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		refused(true)
		wantText(t, fmt.Sprint(p.starts()), "[initial challenged]")
	})
}

// needsPerson is a provider that can do nothing without one.
func needsPerson(f *auth.Flow) error {
	if !f.Start().Interactive {
		if f.Start().Reason == step.ReasonInitial {
			return nil
		}
		return auth.NeedsLogin("sign in first", "wharf login tracker")
	}
	if _, err := f.Listen(auth.Listen{}); err != nil {
		return err
	}
	params, err := f.Browse("https://sso.example/authorize")
	if err != nil {
		return err
	}
	f.Credentials(auth.Credentials{Scheme: "Bearer", Token: params["code"]})
	return nil
}

func TestASignInIsOnlyAskedForByLogin(t *testing.T) {
	p := signIn(needsPerson)
	callbacks := newCallbacks()
	c := setup(p)
	c.Listen = callbacks.listen
	asked := 0
	type caller struct{}
	c.Person = &signin.Person{OpenURL: func(ctx context.Context, page signin.Page) error {
		asked++
		if ctx.Value(caller{}) != "me" {
			t.Error("the person is not asked in the context of the login")
		}
		callbacks.visit(map[string][]string{"state": {stateOf(t, page.URL)}, "code": {"good"}})
		return nil
	}}
	a := account(t, c)
	sent, err := exchange(t.Context(), a, takes("good"))
	known := wantError(t, err, step.FailLogin, "sign in first")
	if sent != 1 || asked != 0 || known.Hint != "wharf login tracker" {
		t.Errorf("sent %d times, asked %d times, the hint is %q", sent, asked, known.Hint)
	}
	me := context.WithValue(t.Context(), caller{}, "me")
	if err := a.Login(me); err != nil || asked != 1 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	if sent, err := exchange(t.Context(), a, takes("good")); sent != 1 || err != nil {
		t.Errorf("sent %d times, %v", sent, err)
	}
	starts := slices.DeleteFunc(slices.Clone(p.heard), func(e step.Event) bool { return e.Start == nil })
	if last := starts[len(starts)-1].Start; last.Reason != step.ReasonChallenged || !last.Interactive || !last.Browser || last.Challenge == nil {
		t.Errorf("the login began with %+v", last)
	}
	callbacks.closed = make(chan struct{})
	if err := a.Login(me); err != nil {
		t.Error(err)
	}
	wantText(t, fmt.Sprint(p.starts()), "[initial challenged challenged login]")
}

// TestLoginsAreOne has two people sign in to one server. When one leaves, the
// other goes on; when both have, no person is asked any more.
func TestLoginsAreOne(t *testing.T) {
	for _, both := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			callbacks := newCallbacks()
			c := setup(signIn(needsPerson))
			c.Listen = callbacks.listen
			var page signin.Page
			pages := 0
			c.Person = &signin.Person{OpenURL: func(_ context.Context, p signin.Page) error { page = p; pages++; return nil }}
			a := account(t, c)
			ctx, cancel := context.WithCancel(t.Context())
			results := make(chan error, 2)
			go func() { results <- a.Login(ctx) }()
			synctest.Wait()
			stay, leave := context.WithCancel(t.Context())
			defer leave()
			go func() { results <- a.Login(stay) }()
			synctest.Wait()
			f := runOf(a)
			cancel()
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("who leaves hears %v", err)
			}
			if both {
				leave()
				<-results
				<-f.done
				wantError(t, f.err, step.FailLogin, "was cancelled")
			} else {
				callbacks.visit(map[string][]string{"state": {stateOf(t, page.URL)}, "code": {"good"}})
				if err := <-results; err != nil {
					t.Errorf("who stays hears %v", err)
				}
			}
			if pages != 1 {
				t.Errorf("%d pages were opened", pages)
			}
			if sent, _ := exchange(t.Context(), a, takes("good")); sent != 1 || pages != 1 {
				t.Errorf("sent %d times; %d pages were opened", sent, pages)
			}
		})
	}
}

// TestARequestDuringALogin waits for it, and leaves when it has to.
func TestARequestDuringALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		callbacks := newCallbacks()
		c := setup(signIn(needsPerson))
		c.Listen = callbacks.listen
		var page signin.Page
		c.Person = &signin.Person{OpenURL: func(_ context.Context, p signin.Page) error { page = p; return nil }}
		a := account(t, c)
		go a.Login(t.Context())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := exchange(ctx, a, takes("good")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that leaves hears %v", err)
		}
		result := make(chan error)
		go func() { _, err := exchange(t.Context(), a, takes("good")); result <- err }()
		synctest.Wait()
		callbacks.visit(map[string][]string{"state": {stateOf(t, page.URL)}, "code": {"good"}})
		if err := <-result; err != nil {
			t.Errorf("a request that waits hears %v", err)
		}
	})
}

func TestLogout(t *testing.T) {
	p := counting(0)
	a := account(t, setup(p))
	wantText(t, apply(t, a), "Bearer 1")
	if err := a.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantText(t, apply(t, a), "Bearer 3")
	wantText(t, strings.Join(p.starts(), " "), "initial logout initial")
}

// Without a person, a login runs the provider all the same: only that knows whether it needs one.
func TestLoginWithoutAPerson(t *testing.T) {
	p := counting(0)
	a := account(t, setup(p))
	wantText(t, apply(t, a), "Bearer 1")
	if err := a.Login(t.Context()); err != nil {
		t.Error(err)
	}
	wantText(t, strings.Join(p.starts(), " "), "initial login")
	for _, e := range p.heard {
		if e.Start != nil && e.Start.Interactive {
			t.Errorf("the provider is told that it may ask: %+v", e.Start)
		}
	}
	wantText(t, apply(t, a), "Bearer 2")
}

// TestASignerWithNothingToSignWith is not called for requests: they go as they are, and
// are not sent again for a flow that has left as little.
func TestASignerWithNothingToSignWith(t *testing.T) {
	for _, state := range []string{"", "null", "{}", `{ }`} {
		p := replies()
		p.manifest.Wants.Requests = true
		p.next = func(_ context.Context, c *step.Call) (*step.Reply, error) {
			if c.Event.Request != nil {
				t.Errorf("with the state %q it is called for a request", state)
			}
			return &step.Reply{State: []byte(state), Actions: []step.Action{done}}, nil
		}
		a := account(t, setup(p))
		if pairs, err := a.Apply(t.Context(), request); len(pairs) != 0 || err != nil {
			t.Errorf("%q: %v, %v", state, pairs, err)
		}
		if retry, err := a.Challenge(t.Context(), &httpclient.Challenge{Status: 401, Number: 1}); retry || err != nil {
			t.Errorf("%q: retry %v, %v", state, retry, err)
		}
		wantText(t, strings.Join(p.starts(), " "), "initial challenged")
	}
}
