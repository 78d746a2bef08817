//go:build unix

package capability

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
)

// token is a static credential that is got by asking for it.
type token struct {
	got   atomic.Bool
	asked atomic.Int32
	ask   func(ctx context.Context, r *http.Response) (bool, error)
}

func (s *token) Apply(_ context.Context, r *http.Request) error {
	if s.got.Load() {
		r.Header.Set("Authorization", "Bearer good")
	}
	return nil
}

func (s *token) Challenge(ctx context.Context, r *http.Response) (bool, error) {
	s.asked.Add(1)
	if s.ask != nil {
		return s.ask(ctx, r)
	}
	s.got.Store(true)
	return true, nil
}

// guarded answers those who are signed in and no others.
func guarded(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") == "Bearer good" {
			w.Write(body)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="https://h/x"`)
		w.Header().Set("Mcp-Auth-Server", "https://auth.example/\u202e")
		w.WriteHeader(status)
		io.WriteString(w, "sign\x1b[31m in\nfirst")
	}
}

func TestAChallengeIsHeldAndTheBodySentAgain(t *testing.T) {
	for _, status := range []int{401, 403} {
		o, grant := serve(t, guarded(status))
		creds := &token{}
		o.Credentials = creds
		table := newTestTable(t, patient(grant))
		for range 3 {
			if r := post(t, table, "the body"); string(r.data) != "the body" || r.head != 200 {
				t.Errorf("%d: HEAD %d, %q, %v", status, r.head, r.data, r.err)
			}
		}
		if n := creds.asked.Load(); n != 1 {
			t.Errorf("%d: the credentials were asked %d times", status, n)
		}
	}
}

func TestARefusalIsToldToTheUserAlone(t *testing.T) {
	o, grant := serve(t, guarded(401))
	want := `HTTP 401: sign [31m in first; WWW-Authenticate: Bearer error="invalid_token", resource_metadata="https://h/x"; Mcp-Auth-Server: https://auth.example/`
	nobody := errors.New("nobody is at the terminal")
	for name, creds := range map[string]*token{
		"nil":       nil,
		"no":        {ask: func(context.Context, *http.Response) (bool, error) { return false, nil }},
		"error":     {ask: func(context.Context, *http.Response) (bool, error) { return true, nobody }},
		"no better": {ask: func(context.Context, *http.Response) (bool, error) { return true, nil }},
		"reads body": {ask: func(_ context.Context, r *http.Response) (bool, error) {
			io.Copy(io.Discard, r.Body)
			return false, nil
		}},
	} {
		o.Credentials = nil
		if creds != nil {
			o.Credentials = creds
		}
		r := post(t, newTestTable(t, patient(grant)), "{}")
		var refusal *Refusal
		if !errors.As(r.err, &refusal) || refusal.HTTP != 401 || r.status != abi.Denied || !strings.Contains(r.err.Error(), want) {
			t.Fatalf("%s: %v, %v", name, r.status, r.err)
		}
		wantOrder(t, r, "error")
		if errors.Is(r.err, nobody) != (name == "error") {
			t.Errorf("%s: %v", name, r.err)
		}
		if creds != nil && creds.asked.Load() != 1 {
			t.Errorf("%s: asked %d times", name, creds.asked.Load())
		}
	}
}

func TestARefusalIsBounded(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 50 {
			w.Header().Add("WWW-Authenticate", strings.Repeat("x", 1000))
		}
		w.WriteHeader(401)
		endless(w)
	})
	r := post(t, newTestTable(t, patient(grant)), "{}")
	if n := len(r.err.Error()); r.status != abi.Denied || n > 8<<10 {
		t.Errorf("%v, %d bytes", r.status, n)
	}
}

// What a person does takes time, and the server's time does not run meanwhile.
func TestSignInHasNoTimer(t *testing.T) {
	o, grant := serve(t, guarded(401))
	asked, stream := make(chan struct{}), make(chan *exchange)
	creds := &token{}
	creds.ask = func(context.Context, *http.Response) (bool, error) {
		close(asked)
		if (<-stream).timer.Stop() {
			t.Error("the clock runs")
		}
		creds.got.Store(true)
		return true, nil
	}
	o.Credentials = creds
	r, s := ask(t, newTestTable(t, patient(grant)), "POST", "", "{}")
	<-asked
	stream <- s.(*exchange)
	if r.untilOver(); r.head != 200 {
		t.Errorf("%v, %v", r.status, r.err)
	}
}

func TestCloseEndsASignIn(t *testing.T) {
	o, grant := serve(t, guarded(401))
	asked := make(chan struct{})
	o.Credentials = &token{ask: func(ctx context.Context, _ *http.Response) (bool, error) {
		close(asked)
		<-ctx.Done()
		return false, ctx.Err()
	}}
	table := newTestTable(t, patient(grant))
	r, s := ask(t, table, "POST", "", "{}")
	<-asked
	s.Close()
	closeTable(t, table)
	wantOrder(t, r, "")
}

// astray are credentials that do what they must not.
type astray struct{ do func(r *http.Request) error }

func (a astray) Apply(_ context.Context, r *http.Request) error { return a.do(r) }
func (astray) Challenge(context.Context, *http.Response) (bool, error) {
	return false, nil
}

func TestCredentialsCannotLeadElsewhere(t *testing.T) {
	o, grant := serve(t, guarded(401))
	o.Credentials = astray{func(r *http.Request) error { r.URL.Host = "evil.example"; return nil }}
	table := newTestTable(t, patient(grant))
	wantError(t, post(t, table, "{}"), abi.Internal, "changed where the request goes")
	o.Credentials = astray{func(r *http.Request) error { return errors.New("the keyring is locked") }}
	wantError(t, post(t, table, "{}"), abi.Denied, "sign in: the keyring is locked")
}

func TestCredentialsStayOnTheOrigin(t *testing.T) {
	away := elsewhere(t)
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, away, http.StatusTemporaryRedirect)
	})
	creds := &token{}
	creds.got.Store(true)
	o.Credentials = creds
	wantError(t, post(t, newTestTable(t, patient(grant)), "{}"), abi.Denied, "is not granted")
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x1b[2Jb", "\u202eevil", "é\xff\u200b", strings.Repeat("ü", 100)} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 8 + max(limit, -limit)%1000
		got := clean(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(strings.ReplaceAll(got, " ", ""), isUnfit) {
			t.Errorf("clean(%q, %d) is %q", s, limit, got)
		}
	})
}
