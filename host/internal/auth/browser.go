package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/abi/step"
)

const (
	maxPage   = 8 << 10  // bytes of the URL of a page
	maxParams = 16 << 10 // bytes of what comes to a callback
)

// listen opens the callback, in place of one that is open.
func (f *flow) listen(ctx context.Context, a *step.Action) (*step.Event, error) {
	l := *a.Listen
	switch {
	case l.Host != "" && l.Host != "127.0.0.1" && l.Host != "localhost":
		return nil, breachf("it wants its callback on %q, and not on 127.0.0.1 or localhost", plain(l.Host, 64))
	case l.Port < 0 || l.Port > 65535:
		return nil, breachf("it wants its callback on the port %d", l.Port)
	case l.Path != "" && (l.Path[0] != '/' || strings.ContainsFunc(l.Path, isOutsidePath)):
		return nil, breachf("it wants its callback at %q, which is no path", plain(l.Path, 64))
	case f.config.Listen == nil:
		return nil, unavailable("there is no browser that could come back")
	}
	if err := f.needsPerson(); err != nil {
		return nil, err
	}
	if f.callback != nil {
		_ = f.callback.Close()
		f.callback = nil
	}
	callback, err := f.config.Listen.Listen(ctx, l)
	var problem *step.Problem
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &problem):
		return nil, problem
	case err != nil:
		return nil, &step.Problem{Code: step.ProblemRefused, Text: err.Error()}
	}
	f.callback = callback
	return &step.Event{Listening: &step.Listening{RedirectURI: callback.URI()}}, nil
}

// openBrowser shows a page, and waits until its state has come back: to the
// callback, or pasted. Whatever else comes changes nothing, however much of it.
func (f *flow) openBrowser(ctx context.Context, a *step.Action) (*step.Event, error) {
	u, err := pageURL(a.OpenBrowser.URL)
	if err != nil {
		return nil, err
	}
	if f.callback == nil {
		if err := f.needsPerson(); err != nil {
			f.page = u.String()
			return nil, err
		}
		return nil, breachf("it opens a page without a callback")
	}
	v := &visit{state: noise(32), done: make(chan struct{})}
	query := u.Query()
	if query.Has("state") {
		return nil, breachf("the page that it opens has a state, which is the host's to make")
	}
	query.Set("state", v.state)
	u.RawQuery = query.Encode()
	f.page = u.String()
	if err := f.meet(v); err != nil {
		return nil, f.personProblem(ctx, err)
	}
	return &step.Event{Redirect: &step.Redirect{Params: v.params}}, nil
}

// meet shows the page of a visit and returns when it is over, or cannot be.
func (f *flow) meet(v *visit) error {
	ctx, cancel := context.WithCancel(f.person)
	callback := f.callback
	f.callback = nil // it serves one visit
	defer callback.Close()
	failed := make(chan error, 2)
	var both sync.WaitGroup
	defer both.Wait()
	defer cancel()
	both.Go(func() {
		if err := callback.Wait(ctx, v.accept); err != nil {
			failed <- err
		}
	})
	both.Go(func() {
		p := Page{Provider: f.config.Name, Server: f.config.Server.Name, URL: f.page, Paste: v.paste}
		if err := f.config.Person.Open(ctx, p); err != nil {
			failed <- err
		}
	})
	select {
	case <-v.done:
		return nil
	case err := <-failed:
		if v.isDone() {
			return nil
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// visit is what comes back from a page, once.
type visit struct {
	state string
	done  chan struct{}

	mu     sync.Mutex
	params map[string]string
}

// accept takes the parameters of a visit, if it is the one that is waited for.
// The state is looked at before anything else: without it, nothing in a visit
// means anything.
func (v *visit) accept(query url.Values) bool {
	state := query["state"]
	if len(state) != 1 || subtle.ConstantTimeCompare([]byte(state[0]), []byte(v.state)) != 1 {
		return false
	}
	params, size := map[string]string{}, 0
	for name, values := range query {
		if len(values) != 1 {
			return false // RFC 6749, section 3.1
		}
		size += len(name) + len(values[0])
		if name != "state" {
			params[name] = values[0]
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if size > maxParams || v.params != nil {
		return false
	}
	v.params = params
	close(v.done)
	return true
}

// paste takes the address that a browser was sent to.
func (v *visit) paste(address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || len(address) > maxParams || u.RawQuery == "":
		return errors.New("this is no address that the browser was sent to; copy all of it")
	case !v.accept(u.Query()):
		return errors.New("this address belongs to another sign-in, or was used before")
	}
	return nil
}

func (v *visit) isDone() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

// pageURL reads the URL of a page that a person is shown. What it returns is
// written anew, and holds nothing that a shell, or the program that opens it,
// could take for its own: it was read as an instruction by some, once.
func pageURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxPage:
		return nil, breachf("the page that it opens has a URL of %d bytes, it may have %d", len(s), maxPage)
	case err != nil:
		return nil, breachf("the page that it opens has no URL")
	}
	if _, err := originOf(u); err != nil {
		return nil, breachf("the page that it opens: %v", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil || u.Fragment != "" || u.RawFragment != "":
		return nil, breachf("the page that it opens has a fragment, or a query that cannot be read")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, breachf("the page that it opens is at http, and not on this machine")
	case strings.ContainsFunc(u.Host, isOutsideHost):
		return nil, breachf("the page that it opens is at no host")
	case strings.ContainsFunc(u.EscapedPath(), isOutsidePath):
		return nil, breachf("the page that it opens has a path with characters that a shell would take for its own")
	}
	u.RawQuery = query.Encode()
	return u, nil
}

func isOutsideHost(r rune) bool { return !isPlainLetter(r) && !strings.ContainsRune("-._:[]", r) }
func isOutsidePath(r rune) bool { return !isPlainLetter(r) && !strings.ContainsRune("-._~/%:@+=,", r) }

func isPlainLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// isLoopback reports whether a host is this machine (RFC 8252, section 7.3).
func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1"
}
