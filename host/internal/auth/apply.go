package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// Apply returns the headers that sign a request in. If that requires a flow, Apply waits for it,
// and returns its *Error if it fails. It returns no headers if the flow gave none, or if the
// provider signs requests and its flow left no state for that.
func (a *Account) Apply(ctx context.Context, r *httpclient.Request) ([]abi.Pair, error) {
	h, err := a.obtain(ctx)
	switch {
	case err != nil:
		return nil, err
	case a.signs(h):
		return a.signed(ctx, h, r)
	case h.credentials == nil || h.credentials.key == nil:
		return h.pairs, nil
	}
	proof, err := h.credentials.key.proof(r.HTTP.Method, r.URL(), h.credentials.token.Reveal(), a.nonces.of(a.origin))
	if err != nil {
		return nil, blame(a.config.Name, "prove a request", err)
	}
	return append(h.pairs[:len(h.pairs):len(h.pairs)], abi.Pair{Key: "DPoP", Value: proof}), nil
}

// AppliesAtOnce reports whether Apply would return at once, without a flow or a call of the
// provider. Package httpclient asks before a caller performs an exchange inline, which must
// not block.
func (a *Account) AppliesAtOnce() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.current
	return h != nil && (h.renew.IsZero() || time.Now().Before(h.renew)) &&
		(h.from == "" || !a.provider.Manifest().Wants.Requests)
}

// Nonce implements [httpclient.Credentials]: it keeps the server's nonce for the next
// DPoP proof (RFC 9449).
func (a *Account) Nonce(nonce string) { a.nonces.note(a.origin, nonce) }

// Material returns what signs in to a server over a transport other than HTTP. If that requires a
// flow, Material runs it first. It is called for each start of the server, which gets what the settings
// give then: another program may have replaced a token. If the flow gives no material, the error is an
// *Error: the person has to sign in first.
func (a *Account) Material(ctx context.Context) (*Material, error) {
	a.dropOutdated(ctx)
	h, err := a.obtain(ctx)
	if err != nil {
		return nil, err
	}
	if h.material != nil {
		return h.material, nil
	}
	// The server entry says that the server needs material, and a server without HTTP cannot ask
	// for it.
	e := &Error{Provider: a.config.Name, Class: step.FailLogin, Message: "no person has signed in"}
	if p := a.loaded(); p != nil && !p.Manifest().Wants.Material {
		e.Class, e.Message = step.FailConfig, "it signs in over HTTP alone"
		e.Hint = "name another provider in the auth of " + a.config.Server.Name
	}
	return nil, e
}

// dropOutdated drops the result of other settings than there are now, so that the next flow begins as the
// first did.
func (a *Account) dropOutdated(ctx context.Context) {
	a.mu.Lock()
	h, p := a.current, a.provider
	a.mu.Unlock()
	if h == nil || p == nil || h.settings == (printOf{}) {
		return
	}
	now, err := a.config.settings(ctx, p.Manifest().Settings)
	if ctx.Err() != nil || err == nil && sha256.Sum256(now) == h.settings {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == h {
		a.current = nil
	}
}

// obtain returns the present result, after it has run or awaited a flow if one is needed.
func (a *Account) obtain(ctx context.Context) (*current, error) {
	for {
		a.mu.Lock()
		if err := a.closedError(); err != nil {
			a.mu.Unlock()
			return nil, err
		}
		h, reason := a.current, ""
		switch {
		case h == nil && a.config.Lazy && !a.hasRecord():
			h = &current{}
			a.current = h
		case h == nil:
			reason = step.ReasonInitial
		case !h.renew.IsZero() && !time.Now().Before(h.renew):
			reason = step.ReasonExpired
		}
		if reason == "" {
			a.mu.Unlock()
			return h, nil
		}
		f := a.run
		if f == nil {
			f = a.begin(reason, nil, nil)
		}
		a.mu.Unlock()
		err := f.wait(ctx)
		switch {
		case f.forRequests() && err == nil:
			return f.given, nil
		case err != nil && h != nil && h.lasts() && ctx.Err() == nil:
			return h, nil // the renewal came early, so a later one may succeed
		case f.forRequests() || ctx.Err() != nil:
			return nil, err
		}
	}
}

// signs reports whether the provider signs each request itself, and the flow has left the state
// that this needs.
func (a *Account) signs(h *current) bool {
	return h.from != "" && a.provider.Manifest().Wants.Requests && step.HasState(h.state)
}

// signed asks the provider to sign one request. The provider must answer with credentials and done,
// or with fail.
func (a *Account) signed(ctx context.Context, h *current, r *httpclient.Request) ([]abi.Pair, error) {
	sum := r.BodyHash()
	event := step.Event{Kind: step.EventRequest, Request: &step.Request{
		Method: r.HTTP.Method, URL: r.URL(), Headers: map[string]string{"host": r.Host()}, BodySHA256: hex.EncodeToString(sum[:]),
	}}
	for _, p := range r.Headers() {
		if before, there := event.Request.Headers[p.Key]; there {
			p.Value = before + "," + p.Value
		}
		event.Request.Headers[p.Key] = p.Value
	}
	if a.provider.Manifest().Wants.Body {
		if err := a.checkBody(len(r.Body)); err != nil {
			return nil, blame(a.config.Name, "sign a request to "+a.config.Server.Name, err)
		}
		event.Request.Body = r.Body
	}
	stamp(&event)
	ctx, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	reply, err := a.provider.Step(ctx, &step.Call{State: h.state, Event: event})
	var c *credentials
	if err == nil {
		switch actions := reply.Actions; {
		case actions[0].Kind == step.ActionFail:
			err = failure(&a.config, actions[0].Fail, "")
		case len(actions) != 2 || actions[0].Kind != step.ActionCredentials || actions[1].Kind != step.ActionDone:
			err = violationf("it answers a request with something else than credentials and done")
		default:
			c, err = readCredentials(actions[0].Credentials, nil)
		}
	}
	if err != nil {
		return nil, blame(a.config.Name, "sign a request to "+a.config.Server.Name, err)
	}
	return c.pairs(), nil
}

// checkBody returns why the provider may not see a body of that many bytes.
func (a *Account) checkBody(size int) error {
	if !a.config.Grant.Body {
		return ungranted("the body of each request", "request_body = true")
	}
	if size > step.MaxBody {
		return &Error{
			Provider: a.config.Name, Class: step.FailConfig,
			Message: fmt.Sprintf("the request has %d bytes, and a provider that is shown bodies signs at most %d", size, step.MaxBody),
		}
	}
	return nil
}
