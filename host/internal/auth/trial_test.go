package auth

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// typing is an account whose provider uses the saved key, and asks the person for another if that
// is refused. It forgets one record, and stores two.
func typing(t *testing.T, saved *memory, typed *string) *Account {
	key, other := auth.RecordKey{Name: "key"}, auth.RecordKey{Name: "other"}
	c := setup(signIn(func(f *auth.Flow) error {
		var text string
		if _, err := f.Load(key, &text); err != nil {
			return err
		}
		start := f.Start()
		if text == "" || start.Interactive || start.Challenge != nil && start.Challenge.Token == text {
			var err error
			if text, err = f.Prompt(auth.Prompt{Label: "Key", Secret: true}); err != nil {
				return auth.NeedsLogin("it is refused", "")
			}
			if text == "wrong form" {
				return errors.Join(f.Store(key, text), auth.NeedsLogin("it is no key", ""))
			}
			if err := errors.Join(f.Store(key, text), f.Forget(other)); err != nil {
				return err
			}
		}
		f.Credentials(auth.Credentials{Scheme: "Bearer", Token: text})
		return nil
	}))
	c.Vault = saved
	c.Person = &signin.Person{Ask: func(_ context.Context, q signin.Question) (string, error) {
		return fmt.Sprint(*typed), nil
	}}
	return account(t, c)
}

// savedKeys are the names of the records in a vault, with their values.
func savedKeys(m *memory) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := map[string]string{}
	for k, r := range m.records {
		text[k.Name] = r.Value.Reveal()
	}
	return fmt.Sprint(text)
}

// TestTypedKeysAreOnTrial stores what the person types when the account is told so, and not
// before. What was saved stays until then, and after a key that is dropped.
func TestTypedKeysAreOnTrial(t *testing.T) {
	saved, typed := newMemory(), "first"
	a := typing(t, saved, &typed)
	login := func(text string) {
		t.Helper()
		typed = text
		if err := a.Login(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantText(t, apply(t, a), "Bearer "+text)
		if !a.OnTrial() {
			t.Error("it is not on trial")
		}
	}
	login("first")
	wantText(t, savedKeys(saved), "map[]")
	if err := a.Keep(t.Context()); err != nil || a.OnTrial() {
		t.Error(err, a.OnTrial())
	}
	wantText(t, savedKeys(saved), `map[key:"first"]`)
	if a.Drop() {
		t.Error("what was stored is dropped")
	}

	other := vault.Key{Provider: "corp", Resource: "server https://mcp.example/mcp", Name: "other"}
	saved.records[other] = saved.records[vault.Key{Provider: "corp", Resource: other.Resource, Name: "key"}]
	login("second")
	wantText(t, savedKeys(saved), `map[key:"first" other:"first"]`)
	// The flow that the refusal starts finds what was refused, and not the key from before.
	if retry, err := a.Challenge(t.Context(), refusalOf("second")); retry || err == nil {
		t.Errorf("it is sent again: %v, %v", retry, err)
	}
	if a.SavedRefused() {
		t.Error("the saved key is said to be refused")
	}
	if !a.Drop() || a.OnTrial() {
		t.Error("nothing was dropped")
	}
	wantText(t, apply(t, a), "Bearer first")
	wantText(t, savedKeys(saved), `map[key:"first" other:"first"]`)

	login("third")
	if err := a.Keep(t.Context()); err != nil {
		t.Error(err)
	}
	wantText(t, savedKeys(saved), `map[key:"third"]`)

	typed = "wrong form"
	if err := a.Login(t.Context()); err == nil || a.OnTrial() {
		t.Errorf("after a flow that failed: %v, %v", err, a.OnTrial())
	}
	login("fourth")
	saved.broken = errors.New("full")
	if err := a.Keep(t.Context()); err == nil {
		t.Error("a vault that stores nothing is no error")
	}
}

// refusalOf is the answer of a server to a request with a token that it refuses.
func refusalOf(token string) *httpclient.Challenge {
	return &httpclient.Challenge{Status: 401, Number: 1, Sent: []abi.Pair{{Key: "Authorization", Value: "Bearer " + token}}}
}

// TestSavedKeysAreRefused tells the person that the key which was saved is refused.
func TestSavedKeysAreRefused(t *testing.T) {
	saved, typed := newMemory(), "first"
	a := typing(t, saved, &typed)
	if err := errors.Join(a.Login(t.Context()), a.Keep(t.Context())); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a = typing(t, saved, &typed)
	var asked []bool
	var said []string
	a.config.Person.Ask = func(_ context.Context, q signin.Question) (string, error) {
		asked, said = append(asked, q.Refused), append(said, q.Said)
		return "second", nil
	}
	wantText(t, apply(t, a), "Bearer first")
	refusal := refusalOf("first")
	refusal.Said = "missing X-Api-Key"
	_, err := a.Challenge(t.Context(), refusal)
	wantError(t, err, step.FailLogin, "it is refused")
	if !a.SavedRefused() {
		t.Error("it is not said to be refused")
	}
	if err := a.Login(t.Context()); err != nil || a.SavedRefused() {
		t.Error(err)
	}
	if err := a.Login(t.Context()); err != nil || fmt.Sprint(asked) != "[true false]" {
		t.Error(err, asked)
	}
	if err := a.Keep(t.Context()); err != nil { // now the one that was typed is a saved one
		t.Error(err)
	}
	_, err = a.Challenge(t.Context(), refusalOf("second"))
	wantError(t, err, step.FailLogin, "it is refused")
	if err := a.Login(t.Context()); err != nil || fmt.Sprint(asked) != "[true false true]" || fmt.Sprintf("%q", said) != `["missing X-Api-Key" "" ""]` {
		t.Errorf("%v, %v, %q", err, asked, said)
	}
}
