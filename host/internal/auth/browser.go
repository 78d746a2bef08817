package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/signin"
)

// maxParams is the most bytes of the parameters of a visit to a callback.
const maxParams = 16 << 10

// listen opens the callback, and closes one that is open.
func (f *flow) listen(ctx context.Context, a *step.Action) (*step.Event, error) {
	if f.config.Listen == nil {
		return nil, unavailable("there is no browser that could come back")
	}
	if err := f.needsPerson(); err != nil {
		return nil, err
	}
	if f.callback != nil {
		_ = f.callback.Close()
		f.callback = nil
	}
	callback, err := f.config.Listen(ctx, *a.Listen)
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

// openBrowser shows a page, and waits until its state has come back, to the callback or pasted by
// the person. Visits without that state change nothing, however many there are.
func (f *flow) openBrowser(ctx context.Context, a *step.Action) (*step.Event, error) {
	v := &visit{state: noise(32), pasted: make(chan struct{})}
	page, err := pageURL(a.OpenBrowser.URL, url.Values{"state": {v.state}})
	if err != nil {
		return nil, err
	}
	f.page = page
	if err := f.needsPerson(); err != nil {
		return nil, err
	}
	if f.callback == nil {
		return nil, violationf("it opens a page without a callback")
	}
	if f.config.Person.OpenURL == nil {
		return nil, errNoCallback
	}
	if err := f.meet(v); err != nil {
		return nil, f.personProblem(ctx, err)
	}
	return &step.Event{Redirect: &step.Redirect{Params: v.params}}, nil
}

// meet shows a page, and returns when the browser has come back from it with the state of v, or
// cannot come back.
func (f *flow) meet(v *visit) error {
	ctx, cancel := context.WithCancel(f.person)
	callback := f.callback
	f.callback = nil // a callback serves one visit
	defer callback.Close()
	var both sync.WaitGroup
	defer both.Wait()
	defer cancel()
	came, failed := make(chan error, 1), make(chan error, 1)
	both.Go(func() { came <- callback.Wait(ctx, v.accept) })
	both.Go(func() {
		p := signin.Page{Provider: f.config.Name, Server: f.config.Server.Name, URL: f.page, Paste: v.paste}
		if err := f.config.Person.OpenURL(ctx, p); err != nil {
			failed <- err
		}
	})
	for {
		select {
		case err := <-came: // by now the browser has its page
			return err
		case <-v.pasted:
			return nil
		case err := <-failed: // after the visit the error does not matter
			if !v.taken() {
				return err
			}
		}
	}
}

// show tells the person where to type a code. If that fails, or the person declines, the flow goes on without
// the person: the next action that waits for the person gets the problem.
func (f *flow) show(_ context.Context, a *step.Action) (*step.Event, error) {
	c := signin.Code{Provider: f.config.Name, Server: f.config.Server.Name, Code: cleantext.Line(a.Show.Code, 64)}
	var err error
	if c.URL, err = pageURL(a.Show.URL, nil); err != nil {
		return nil, err
	}
	if a.Show.Complete != "" {
		if c.Complete, err = pageURL(a.Show.Complete, nil); err != nil {
			return nil, err
		}
	}
	f.page = c.URL
	ctx, leave := context.WithCancelCause(f.person)
	f.person = ctx
	switch err := f.needsPerson(); {
	case err != nil:
		leave(err)
	case f.config.Person.ShowCode == nil:
		leave(errNoCallback)
	default:
		f.showing.Go(func() {
			if err := f.config.Person.ShowCode(ctx, c); err != nil {
				leave(err)
			}
		})
	}
	return nil, nil
}

// visit is the return of the browser from a page, with the state that belongs to the page. Only one
// counts.
type visit struct {
	state  string
	pasted chan struct{} // closed when the person pasted the address of the visit

	mu     sync.Mutex
	params map[string]string
}

// accept takes the parameters of a visit if they hold its state. It checks the state before
// anything else, because a visit without it proves nothing.
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
	return true
}

// taken reports whether the visit has come.
func (v *visit) taken() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.params != nil
}

// paste takes the address to which a browser was sent.
func (v *visit) paste(address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || len(address) > maxParams || u.RawQuery == "":
		return errors.New("this is no address that the browser was sent to; copy all of it")
	case !v.accept(u.Query()):
		return errors.New("this address belongs to another sign-in, or was used before")
	}
	close(v.pasted)
	return nil
}

// pageURL returns the URL of a page as [egress.CheckBrowserURL] writes it, with parameters added.
// An error is a problem, not a violation, because a wrong URL is often the server's fault.
func pageURL(s string, add url.Values) (string, error) {
	safe, err := egress.CheckBrowserURL(s)
	if err != nil {
		return "", badPage(err.Error())
	}
	u, err := url.Parse(safe)
	if err != nil {
		return "", badPage("the page has no URL")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return "", badPage("the URL of the page has a fragment, or a query that cannot be read")
	}
	for name, values := range add {
		if query.Has(name) {
			return "", badPage("the URL of the page has a " + name + ", which is the host's to make")
		}
		query[name] = values
	}
	u.RawQuery = query.Encode()
	if safe, err = egress.CheckBrowserURL(u.String()); err != nil {
		return "", badPage(err.Error())
	}
	return safe, nil
}

func badPage(text string) error { return &step.Problem{Code: step.ProblemRefused, Text: text} }
