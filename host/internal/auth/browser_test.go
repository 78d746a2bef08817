package auth

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// browse is a flow that shows a page, and gives what came back as a token.
func browse(page string) *scripted {
	return signIn(func(f *auth.Flow) error {
		if _, err := f.Listen(auth.Listen{}); err != nil {
			return err
		}
		params, err := f.Browse(page)
		if err != nil {
			return err
		}
		f.Credentials(auth.Credentials{Scheme: "Bearer", Token: params["code"] + params["state"]})
		return nil
	})
}

const authorize = "https://sso.example/authorize?client_id=a+b&x=%24(id)"

// stateOf is the state that the host has put into the URL of a page.
func stateOf(t *testing.T, page string) string {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil || len(u.Query()["state"]) != 1 || len(u.Query().Get("state")) != 43 {
		t.Fatalf("the page is %q, %v", page, err)
	}
	return u.Query().Get("state")
}

// TestBadCallbacks floods the callback with what is not the answer. It changes
// nothing, and the answer counts once.
func TestBadCallbacks(t *testing.T) {
	callbacks := newCallbacks()
	c := setup(browse(authorize))
	c.Listen = callbacks.listen
	var late bool
	c.Person = &signin.Person{OpenURL: func(ctx context.Context, p signin.Page) error {
		state := stateOf(t, p.URL)
		for _, bad := range []url.Values{
			{}, {"code": {"evil"}}, {"state": {""}}, {"state": {state[1:]}}, {"state": {state + "x"}},
			{"state": {state, state}, "code": {"evil"}}, {"state": {state}, "code": {"evil", "good"}},
			{"state": {strings.Repeat("x", 43)}, "error": {"access_denied"}},
			{"state": {state}, "code": {strings.Repeat("x", maxParams)}}, {"State": {state}, "code": {"evil"}},
		} {
			for range 100 {
				if callbacks.visit(bad) {
					t.Errorf("%v was taken", bad)
				}
			}
		}
		if !callbacks.visit(url.Values{"state": {state}, "code": {"good"}}) {
			t.Error("the answer was not taken")
		}
		late = p.Paste("http://127.0.0.1/callback?code=evil&state="+state) == nil
		return nil
	}}
	o, err := runFlow(t, c, step.Start{Reason: step.ReasonLogin, Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.credentials.token.Reveal(); got != "good" {
		t.Errorf("the provider got %q", got)
	}
	if late {
		t.Error("the state was taken twice")
	}
	<-callbacks.closed
}

// lingering is a callback whose visitor takes a while to read the page.
type lingering struct{ *callbacks }

func (l lingering) listen(context.Context, step.Listen) (Callback, error) { return l, nil }

func (l lingering) Wait(ctx context.Context, accept func(url.Values) bool) error {
	defer time.Sleep(time.Minute) // of the bubble
	return l.callbacks.Wait(ctx, accept)
}

// TestAVisitCounts, whatever is said afterwards by the program that showed the page.
func TestAVisitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		callbacks := lingering{newCallbacks()}
		c := setup(browse(authorize))
		c.Listen = callbacks.listen
		c.Person = &signin.Person{OpenURL: func(_ context.Context, p signin.Page) error {
			callbacks.visit(url.Values{"state": {stateOf(t, p.URL)}, "code": {"good"}})
			return errors.New("the browser has crashed")
		}}
		o, err := runFlow(t, c, step.Start{Reason: step.ReasonLogin, Interactive: true})
		if err != nil || o.credentials.token.Reveal() != "good" {
			t.Errorf("got %v, %v", o, err)
		}
	})
}

func TestPaste(t *testing.T) {
	c := setup(browse(authorize))
	c.Listen = newCallbacks().listen
	c.Person = &signin.Person{OpenURL: func(ctx context.Context, p signin.Page) error {
		state := stateOf(t, p.URL)
		for _, bad := range []string{"", "code", "http://127.0.0.1/callback", "\x00", "http://x/?code=evil&state=y", "?code=evil"} {
			if p.Paste(bad) == nil {
				t.Errorf("%q was taken", bad)
			}
		}
		if err := p.Paste(" http://127.0.0.1:4711/callback?code=good&state=" + state + "\n"); err != nil {
			t.Error(err)
		}
		<-ctx.Done() // a dialog is closed when it is not needed any more
		return ctx.Err()
	}}
	o, err := runFlow(t, c, step.Start{Reason: step.ReasonLogin, Interactive: true})
	if err != nil || o.credentials.token.Reveal() != "good" {
		t.Errorf("got %v, %v", o, err)
	}
}

// TestPages are those that are not opened.
func TestPages(t *testing.T) {
	for _, page := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "http://sso.example/", "https://a:b@sso.example/", "-a Calculator",
		"https://sso.example/$(calc)", "https://sso.example/`calc`", "https://sso.example/\r\nX: y", "\\\\unc\\x", "https://sso.example/?state=mine",
		"https://sso.example/#fragment", "https://sso.example/?a=%zz", "https://sso.example/?" + strings.Repeat("x", 1<<16),
	} {
		c := setup(browse(page))
		c.Listen = newCallbacks().listen
		c.Person = &signin.Person{OpenURL: func(context.Context, signin.Page) error { t.Errorf("%q was opened", page); return nil }}
		_, err := runFlow(t, c, step.Start{Interactive: true})
		wantError(t, err, step.FailConfig, "")
	}
	got, err := pageURL("HTTPS://sso.example/a/b?q=a+b&c=%27%24x", url.Values{"state": {"s"}})
	if want := "https://sso.example/a/b?c=%27%24x&q=a+b&state=s"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestThePersonDoesNotAnswer ends with the person, and leaves the provider time to say so.
func TestThePersonDoesNotAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		open func(ctx context.Context, p signin.Page) error
		ends func(cancel func()) // the waiting of who has asked
		text string
	}{
		"late":     {func(context.Context, signin.Page) error { return nil }, func(func()) { time.Sleep(personTime) }, "the person did not answer in time"},
		"leaves":   {func(context.Context, signin.Page) error { return nil }, func(cancel func()) { synctest.Wait(); cancel() }, "was cancelled"},
		"declines": {func(context.Context, signin.Page) error { return signin.ErrDeclined }, func(func()) {}, "declined"},
		"cannot":   {func(context.Context, signin.Page) error { return errors.New("no display") }, func(func()) {}, "no display"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := setup(browse(authorize))
			c.Listen = newCallbacks().listen
			c.Person = &signin.Person{OpenURL: tt.open}
			a := NewAccount(c)
			defer a.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() { failed <- a.Login(ctx) }()
			f := runOf(a)
			tt.ends(cancel)
			err := <-failed
			if ctx.Err() != nil { // who leaves hears of no end
				<-f.done
				err = f.err
			}
			class := step.FailLogin
			if name == "cannot" {
				class = step.FailConfig
			}
			known := wantError(t, err, class, tt.text)
			if stateOf(t, known.URL) == "" {
				t.Errorf("%s: the error names the page %q", name, known.URL)
			}
		})
	}
}

// current waits for a flow and returns it.
func runOf(a *Account) *run {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}

var _ Callback = (*egress.Callback)(nil)
var _ Fetcher = (*egress.Fetcher)(nil)
