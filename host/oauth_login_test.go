package host_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A thousand visits with anything but the state of the sign-in change nothing:
// the person comes, and is signed in. The callback then takes no more.
func TestForgedCallbacks(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	v.before = func(p signin.Page) {
		page, _ := url.Parse(p.URL)
		back, state := page.Query().Get("redirect_uri"), page.Query().Get("state")
		forged := []string{"", "?code=evil", "?code=evil&state=" + state[1:], "?error=access_denied&state=x", "/?code=evil&state=" + state, "?state=" + state + "&state=" + state}
		for n := range 1000 {
			if status, err := surf(t.Context(), back+forged[n%len(forged)]); err != nil || status < 400 {
				t.Errorf("%s: status %d, %v", forged[n%len(forged)], status, err)
			}
		}
	}
	port := ownPort(t) // no other process has it when the callback has given it back
	entry := comesBackTo(w.entry("protectedServer"), port)
	port.Close()
	say(t, connect(t, h, entry))
	if tokens := o.Requests("/token"); len(tokens) != 1 || !strings.HasPrefix(tokens[0].Form.Get("code"), oauthtest.Canary) {
		t.Errorf("the token endpoint was asked %v", tokens)
	}
	page, _ := url.Parse(v.saw("protectedServer")[0])
	if status, err := surf(t.Context(), page.Query().Get("redirect_uri")+"?code=late&state="+page.Query().Get("state")); err == nil && status != http.StatusGone {
		t.Errorf("a second visit gets %d", status)
	}
}

// comesBackTo is an entry whose callback has the port of l.
func comesBackTo(entry host.Server, l net.Listener) host.Server {
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	entry.Auth = config.Auth{Provider: "oauth", Settings: map[string]any{"callback_port": port}}
	return entry
}

// A callback whose port is taken is an error before any page opens. One that
// is free to choose takes another.
func TestSquattedPort(t *testing.T) {
	t.Parallel()
	l := ownPort(t)
	defer l.Close()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	entry := comesBackTo(w.entry("protectedServer"), l)
	_, err := h.Connect(t.Context(), entry)
	if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(err.Error(), "cannot listen on port") || !strings.Contains(host.Hint(err), "callback_port") {
		t.Errorf("error %v, hint %q", err, host.Hint(err))
	}
	if pages := v.saw("protectedServer"); len(pages) != 0 {
		t.Errorf("the person was shown %q", pages)
	}
	l.Close()
	say(t, connect(t, h, entry))
}

// Another url is another server, whatever it is called, and an authorization
// server that took the place of another learns nothing of what that one gave.
func TestTokensStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	first, second := oauthtest.New(t.Cleanup), oauthtest.New(t.Cleanup)
	w, other := newProtectedServer(t, first), newProtectedServer(t, second)
	h, v := signingIn(t)
	say(t, connect(t, h, w.entry("protectedServer")))

	say(t, connect(t, h, other.entry("protectedServer"))) // the entry was edited
	w.Move(second)                                        // the server was sold
	say(t, connect(t, h, w.entry("protectedServer")))
	if n := len(v.saw("protectedServer")); n != 3 {
		t.Errorf("the person was shown %d pages", n)
	}
	for _, secret := range first.Secrets() {
		if strings.Contains(fmt.Sprint(other.Tokens(), second.Requests("")), secret) && !slices.Contains(second.Secrets(), secret) {
			t.Errorf("%s went to others", secret)
		}
	}
	if n := len(second.Requests("/register")); n != 1 {
		t.Errorf("registered %d times with the second", n)
	}
	w.Move(first) // and is back
	say(t, connect(t, h, w.entry("protectedServer")))
	if n := len(v.saw("protectedServer")); n != 4 {
		t.Errorf("what was dropped is there again: %d pages", n)
	}
}

// A client that was registered by hand is not shown to another authorization
// server than the one that it was registered with.
func TestOwnClientIsNotMoved(t *testing.T) {
	t.Parallel()
	first, second := oauthtest.New(t.Cleanup), oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, first)
	h, v := signingIn(t)
	entry := w.entry("protectedServer")
	entry.Auth = config.Auth{Provider: "oauth", Settings: map[string]any{"client_id": "mine", "client_secret": oauthtest.Canary + "mine"}}
	s := connect(t, h, entry)
	say(t, s)
	w.Move(second)
	_, err := s.CallTool(t.Context(), "echo", nil)
	if err == nil || !strings.Contains(err.Error(), "now sends people to "+second.URL) || !strings.Contains(host.Hint(err), "wharf logout protectedServer") {
		t.Errorf("error %v, hint %q", err, host.Hint(err))
	}
	if len(v.saw("protectedServer")) != 1 || strings.Contains(fmt.Sprint(second.Requests("")), "mine") {
		t.Errorf("the second was asked %v", second.Requests(""))
	}
}

// A server that refuses everything is asked twice by each call, and the person
// once in all.
func TestAlwaysUnauthorized(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	w.Refuse = func(string, *http.Request) (int, string) { return 401, w.Challenge("") }
	h, v := signingIn(t)
	entry := w.entry("protectedServer")
	entry.Protocol = "2026-07-28"
	for range 3 {
		if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrAuthRequired) {
			t.Errorf("error %v", err)
		}
	}
	if n := len(v.saw("protectedServer")); n != 1 {
		t.Errorf("the person was asked %d times", n)
	}
	// Without a token, with the one of the sign-in, and with a refreshed one; then
	// with what there is, and with a refreshed one.
	if n := len(w.Tokens()); n > 3+2+2 {
		t.Errorf("%d requests for three calls: %q", n, w.Tokens())
	}
}

// What the person has said no to is not asked again by itself, however many calls
// want it.
func TestDeclinedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	asked := 0
	h := newHost(t, host.Config{VaultDir: vaultDir(t), Person: &signin.Person{OpenURL: func(context.Context, signin.Page) error {
		asked++
		return signin.ErrDeclined
	}}})
	for range 3 {
		if _, err := h.Connect(t.Context(), w.entry("protectedServer")); !errors.Is(err, host.ErrAuthRequired) {
			t.Errorf("error %v", err)
		}
	}
	if asked != 1 {
		t.Errorf("the person was asked %d times", asked)
	}
}

// A session that is closed takes the question with it that one of its calls asks.
func TestCloseTakesTheQuestionBack(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	asked := make(chan struct{})
	h := newHost(t, host.Config{VaultDir: vaultDir(t), Person: &signin.Person{OpenURL: func(context.Context, signin.Page) error {
		close(asked)
		return nil // and the person never comes back from there
	}}})
	s := add(t, h, w.entry("protectedServer"))
	done := make(chan error, 1)
	go func() { done <- s.Ready(t.Context()) }()
	<-asked
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, host.ErrClosed) || errors.Is(err, host.ErrAuthRequired) {
		t.Error(err)
	}
}

// Each tool wants another scope, and none is ever enough.
func TestStepUpsEnd(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	var mu sync.Mutex
	n, grow := 0, true
	w.tools = map[string]answer{"more": func(rw http.ResponseWriter, r *http.Request, id string) {
		mu.Lock()
		defer mu.Unlock()
		if n++; !grow {
			n = n%2 + 1
		}
		rw.Header().Set("WWW-Authenticate", w.Challenge(fmt.Sprintf(`, error="insufficient_scope", scope="s%d"`, n)))
		http.Error(rw, "more", http.StatusForbidden)
	}}
	h, v := signingIn(t)
	s := connect(t, h, w.entry("protectedServer"))
	const calls = 6
	for range calls {
		if _, err := s.CallTool(t.Context(), "more", nil); err == nil {
			t.Error("it was enough")
		}
	}
	pages := v.saw("protectedServer")
	if len(pages) < 2 || len(pages) > 1+8 {
		t.Errorf("the person was asked %d times", len(pages))
	}
	if last, _ := url.Parse(pages[2]); last.Query().Get("scope") != "s1 s2" {
		t.Errorf("asked for %q after s1", last.Query().Get("scope"))
	}
	say(t, s) // the rest goes on
}

// A refresh that the authorization server does not answer loses nothing, however
// it fails; one that it refuses ends the login that it was for.
func TestFailedRefresh(t *testing.T) {
	t.Parallel()
	h, v := signingIn(t)
	faults := map[string]http.HandlerFunc{
		"500":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", 500) },
		"503":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) },
		"429":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusTooManyRequests) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "a portal of the hotel", 200) },
		"502 JSON": func(w http.ResponseWriter, _ *http.Request) {
			oauthtest.Reply(w, 502, map[string]string{"error": "invalid_grant"})
		},
		"a portal":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/portal", http.StatusFound) },
		"hangs up":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half JSON": func(w http.ResponseWriter, _ *http.Request) { page(200, mediaJSON, `{"access_token":`)(w, nil, "") },
	}
	for name, fault := range testenv.Part(faults, 3) {
		t.Run(name, func(t *testing.T) {
			o := oauthtest.New(t.Cleanup)
			w := newProtectedServer(t, o)
			s := connect(t, h, w.entry(name))
			o.Expire()
			o.Answer("/token", fault)
			if _, err := s.CallTool(host.WithOptions(t.Context(), host.RequestOptions{Unattended: true}), "echo", nil); err == nil {
				t.Error("a call went through")
			}
			o.Answer("/token", nil)
			say(t, s)
			if n := len(v.saw(name)); n != 1 {
				t.Errorf("the person was asked %d times", n)
			}
		})
	}
}

// A login that the authorization server has ended is asked for again, once.
func TestRevokedLogin(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	s := connect(t, h, w.entry("protectedServer"))
	o.Revoke()
	_, err := s.CallTool(host.WithOptions(t.Context(), host.RequestOptions{Unattended: true}), "echo", nil)
	if !errors.Is(err, host.ErrAuthRequired) || strings.Contains(err.Error(), oauthtest.Canary) {
		t.Errorf("error %v", err)
	}
	say(t, s)
	refreshes := 0
	for _, e := range o.Requests("/token") {
		if e.Form.Get("grant_type") == "refresh_token" {
			refreshes++
		}
	}
	if n := len(v.saw("protectedServer")); n != 2 || refreshes != 1 {
		t.Errorf("the person was asked %d times; %d refreshes", n, refreshes)
	}
}

// A client that is gone is registered anew, once.
func TestLostRegistration(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	lost := func(rw http.ResponseWriter, _ *http.Request) {
		oauthtest.Reply(rw, 401, map[string]string{"error": "invalid_client"})
	}
	o.Answer("/token", lost)
	if _, err := h.Connect(t.Context(), w.entry("protectedServer")); !errors.Is(err, host.ErrAuthRequired) {
		t.Errorf("error %v", err)
	}
	if n, pages := len(o.Requests("/register")), v.saw("protectedServer"); n != 2 || len(pages) != 2 {
		t.Errorf("registered %d times, and the person was shown %q", n, pages)
	}
	o.Answer("/token", nil)
	say(t, connect(t, h, w.entry("protectedServer")))
}

// Which client signs in: the one of the entry, then a document, then one that is
// registered.
func TestWhichClient(t *testing.T) {
	t.Parallel()
	const document = "https://wharf.example/client.json"
	h, v := signingIn(t)
	for name, tt := range map[string]struct {
		settings map[string]any
		reads    bool // documents
		want     string
		register int
	}{
		"given":          {map[string]any{"client_id": "mine", "client_metadata_url": document}, true, "mine", 0},
		"document":       {map[string]any{"client_metadata_url": document}, true, document, 0},
		"not a reader":   {map[string]any{"client_metadata_url": document}, false, "client-", 1},
		"nothing to say": {nil, true, "client-", 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := oauthtest.New(t.Cleanup)
			w := newProtectedServer(t, o)
			says("client_id_metadata_document_supported", tt.reads)(o, w, "")
			entry := w.entry(name)
			entry.Auth = config.Auth{Provider: "oauth", Settings: tt.settings}
			say(t, connect(t, h, entry))
			page, _ := url.Parse(v.saw(name)[0])
			if got := page.Query().Get("client_id"); !strings.HasPrefix(got, tt.want) || len(o.Requests("/register")) != tt.register {
				t.Errorf("signed in as %q, registered %d times", got, len(o.Requests("/register")))
			}
		})
	}
}

// Whose clock is wrong: tokens that are over when they arrive, or an hour before
// they say, or that say nothing of use, cost a refresh and never a person.
func TestClocks(t *testing.T) {
	t.Parallel()
	h, v := signingIn(t)
	for name, life := range map[string]int{"an hour behind": 7200, "an hour ahead": 0, "for ever": 1 << 60, "a moment": 1} {
		t.Run(name, func(t *testing.T) {
			o := oauthtest.New(t.Cleanup)
			o.Life = life
			w := newProtectedServer(t, o)
			s, err := h.Connect(t.Context(), w.entry(name))
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				say(t, s)
				o.Expire()
			}
			if n := len(v.saw(name)); n != 1 {
				t.Errorf("the person was asked %d times", n)
			}
		})
	}
}

// Without a person there is no page, no client and no callback, and the error
// says what to do.
func TestNoPersonIsThere(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	browser := newHost(t, host.Config{VaultDir: vaultDir(t)})
	_, err := browser.Connect(t.Context(), w.entry("protectedServer"))
	if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(host.Hint(err), "wharf login protectedServer") {
		t.Errorf("error %v, hint %q", err, host.Hint(err))
	}
	if n := len(o.Requests("/authorize")) + len(o.Requests("/register")); n != 0 {
		t.Errorf("%d requests: %v", n, o.Requests(""))
	}
	h, v := signingIn(t)
	if _, err = h.Connect(host.WithOptions(t.Context(), host.RequestOptions{Unattended: true}), w.entry("protectedServer")); !errors.Is(err, host.ErrAuthRequired) {
		t.Errorf("error %v", err)
	}
	if pages := v.saw("protectedServer"); len(pages) != 0 {
		t.Errorf("the person was shown %q", pages)
	}
}
