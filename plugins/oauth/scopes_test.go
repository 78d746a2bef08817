//go:build !wasip1

package main

import (
	"net/url"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth/authtest"
)

// A sign-in in place of one that was lost asks for what that had, also from a step-up, unless the authorization
// server does not know that any more. What the entry names is all that is asked for.
func TestLostSignInIsAskedForWhole(t *testing.T) {
	for name, lose := range map[string]func(w *world) *authtest.Outcome{
		"refused refresh": func(w *world) *authtest.Outcome {
			return w.alone(step.ReasonChallenged, refused("token-2", `Bearer scope="a"`))
		},
		"expired": func(w *world) *authtest.Outcome { w.host.Now += 3_600_000; return w.alone(step.ReasonExpired, nil) },
	} {
		for _, scopes := range [][]string{nil, {"a"}} {
			w := newWorld(t)
			if scopes != nil {
				w.settings["scopes"] = scopes
			}
			w.answers[mcp] = func(*step.HTTP) *step.Response {
				return &step.Response{Status: 401, Headers: map[string]string{"www-authenticate": `Bearer scope="a"`}}
			}
			asks := func(want string) {
				t.Helper()
				w.run(step.ReasonLogin, nil)
				if got := w.pages[len(w.pages)-1].Get("scope"); got != want {
					t.Errorf("%s, with scopes %q: asks for %q, want %q", name, scopes, got, want)
				}
			}
			asks("a")
			w.mustGive(w.run(step.ReasonUpscope, insufficient("token-1", "b")), "token-2")
			w.grants = func(url.Values) (int, object) { return 400, object{"error": "invalid_grant"} }
			lose(w)
			code, whole := w.code, "a b"
			if scopes != nil {
				whole = "a"
			}
			w.code = object{"error": "access_denied", "iss": as}
			asks(whole)
			w.code = object{"error": "invalid_scope", "iss": as}
			asks(whole)
			w.code, w.grants = code, w.issue
			asks("a")
		}
	}
}

// Of an authorization server that leaves a right out of what it gives, no person is asked for that right again. A
// server may be content with what was given, so it is asked first.
func TestRightThatIsNotGiven(t *testing.T) {
	w := newWorld(t)
	w.grants = func(form url.Values) (int, object) {
		status, body := w.issue(form)
		body["scope"] = "a"
		return status, body
	}
	w.mustGive(w.run(step.ReasonChallenged, refused("", `Bearer scope="a"`)), "token-1")
	w.mustGive(w.run(step.ReasonUpscope, insufficient("token-1", "a b")), "token-2")
	for _, out := range []*authtest.Outcome{w.alone(step.ReasonUpscope, insufficient("token-2", "a b")), w.run(step.ReasonUpscope, insufficient("token-2", "a b"))} {
		w.mustFail(out, step.FailConfig, "the authorization server "+as+" was asked for b, which tracker wants for this, and did not give it")
	}
	w.mustGive(w.run(step.ReasonUpscope, insufficient("token-2", "c")), "token-3") // which it was not asked for yet
	w.mustGive(w.run(step.ReasonLogin, insufficient("token-3", "c")), "token-4")   // as a person wants it
	w.host.Now += justNow
	w.mustGive(w.run(step.ReasonUpscope, insufficient("token-4", "b")), "token-5") // what it gives may have changed by now
	if len(w.pages) != 5 {
		t.Errorf("%d pages", len(w.pages))
	}
}
