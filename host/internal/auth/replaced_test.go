package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// configured is a provider of the token in its settings, as bearer is. The manifest has that setting.
func configured() *scripted {
	p := signIn(func(f *auth.Flow) error {
		var s struct{ Token string }
		if err := f.Settings(&s); err != nil {
			return err
		}
		if f.Start().Reason == step.ReasonChallenged {
			return &auth.Failure{Class: step.FailConfig, Message: "the token is refused"}
		}
		f.Credentials(auth.Credentials{Scheme: "Bearer", Token: s.Token})
		for _, name := range f.Start().Server.Variables {
			f.Material(auth.Material{Env: map[string]string{name: s.Token}})
		}
		return nil
	})
	p.manifest.Settings = []step.Setting{{Key: "token", Secret: true}}
	return p
}

// A token that was replaced where it is kept is read anew when the server refuses the old one. What is read is
// sent once. The provider learns of a refusal only of the token that is there.
func TestATokenThatWasReplaced(t *testing.T) {
	p, token := configured(), "1"
	c := setup(p)
	c.Settings = func(context.Context) (json.RawMessage, error) { return json.Marshal(map[string]string{"token": token}) }
	a := account(t, c)
	for _, s := range []struct {
		there, wanted string
		sent          int
		starts        string
	}{
		{"1", "1", 1, "[initial]"},
		{"2", "2", 2, "[initial initial]"},
		{"2", "2", 1, "[initial initial]"},
		{"2", "3", 1, "[initial initial challenged]"},
		{"3", "4", 2, "[initial initial challenged initial challenged]"},
		{"4", "4", 2, "[initial initial challenged initial challenged initial]"},
	} {
		token = s.there
		sent, err := exchange(t.Context(), a, takes(s.wanted))
		if sent != s.sent || fmt.Sprint(p.starts()) != s.starts {
			t.Errorf("%s where %s is wanted was sent %d times, %v; flows %v", s.there, s.wanted, sent, err, p.starts())
		}
		if s.there == s.wanted && err != nil {
			t.Error(err)
		} else if s.there != s.wanted {
			wantError(t, err, step.FailConfig, "the token is refused")
		}
	}
}

// Of many requests that are refused at once, none fails.
func TestATokenThatWasReplacedUnderManyRequests(t *testing.T) {
	c := setup(configured())
	token := "1"
	c.Settings = func(context.Context) (json.RawMessage, error) { return json.Marshal(map[string]string{"token": token}) }
	a := account(t, c)
	wantText(t, apply(t, a), "Bearer 1")
	token = "2"
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := exchange(t.Context(), a, takes("2")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A process that is started anew gets the token that is there then, and an error where there is none any more.
func TestMaterialThatWasReplaced(t *testing.T) {
	p, token := configured(), "1"
	c := setup(p)
	c.Grant.Variables = []string{"TOKEN"}
	c.Server.Variables = c.Grant.Variables
	c.Settings = func(context.Context) (json.RawMessage, error) {
		if token == "" {
			return nil, fmt.Errorf("the file is gone")
		}
		return json.Marshal(map[string]string{"token": token})
	}
	a := account(t, c)
	for _, token = range []string{"1", "1", "2"} {
		m, err := a.Material(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, m.Env["TOKEN"].Reveal(), token)
	}
	wantText(t, fmt.Sprint(p.starts()), "[initial initial]")
	token = ""
	_, err := a.Material(t.Context())
	wantError(t, err, step.FailConfig, "the file is gone")
}
