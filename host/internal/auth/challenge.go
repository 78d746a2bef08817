package auth

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

const (
	maxStepUps  = 2                // of one server
	stepUpsRest = 10 * time.Minute // until it may have as many again
	freshTime   = time.Minute      // in which a refusal speaks of the flow that came before it

	maxFields = 16      // WWW-Authenticate fields that a provider gets
	maxField  = 8 << 10 // bytes of one
)

// Challenge decides what becomes of a refused request. No person is asked: what
// needs one is an *Error of the class login. It goes out again with the nonce
// that it lacked, with what another flow has got since it was sent, or with what
// a flow of its own gets; and of the last there is one for each reason.
func (a *Account) Challenge(ctx context.Context, c *httpclient.Challenge) (retry bool, err error) {
	a.nonces.note(a.origin, c.DPoPNonce)
	if wantsNonce(c) {
		return true, nil
	}
	challenge := readChallenge(c)
	reason := reasonOf(challenge)
	if reason == "" {
		return false, nil
	}
	for {
		a.mu.Lock()
		h, f, own := a.current, a.run, false
		if err := a.closedError(); err != nil || a.isNewer(h, c.Sent) {
			a.mu.Unlock()
			return err == nil, err
		}
		if f == nil {
			a.unanswered = challenge
			if !a.mayAsk(reason, h, c.Round) {
				a.mu.Unlock()
				return false, nil
			}
			f, own = a.begin(reason, challenge, false), true
		}
		a.mu.Unlock()
		switch err := f.wait(ctx); {
		case ctx.Err() != nil, err != nil && f.forRequests():
			return false, err
		case own:
			return a.canRetry(f.given, c.Sent), nil
		case f.given != nil && f.given != h:
			return true, nil
		}
	}
}

// readChallenge is a challenge as a provider sees it.
func readChallenge(c *httpclient.Challenge) *step.Challenge {
	out := &step.Challenge{Status: c.Status}
	for _, field := range c.Authenticate {
		if len(out.Authenticate) < maxFields && len(field) <= maxField {
			out.Authenticate = append(out.Authenticate, field)
		}
	}
	_, out.Token, _ = strings.Cut(sentHeader(c.Sent, "Authorization"), " ")
	return out
}

// reasonOf is the reason of a flow that answers a challenge: "" for a 403 that
// more scopes do not help against (RFC 6750, section 3.1).
func reasonOf(c *step.Challenge) string {
	more := func(field string) bool { return strings.Contains(field, "insufficient_scope") }
	switch {
	case c.Status == 401:
		return step.ReasonChallenged
	case slices.ContainsFunc(c.Authenticate, more):
		return step.ReasonUpscope
	}
	return ""
}

// mayAsk bounds how often a server that refuses everything can start a flow. Credentials
// that were only loaded from the vault do not count against it: another process may have
// saved them long ago, and no flow has tried to renew them yet. The caller holds a.mu.
func (a *Account) mayAsk(reason string, h *current, round int) bool {
	if time.Since(a.steppedUp) > stepUpsRest {
		a.stepUps = 0
	}
	if reason == step.ReasonUpscope {
		return a.stepUps < maxStepUps
	}
	answered := h != nil && !h.saved && (h.from == step.ReasonChallenged || h.from == step.ReasonUpscope)
	return round == 1 || !answered || time.Since(h.born) > freshTime
}

// isNewer reports whether the current result differs from what a request was sent with.
// Of requests that a provider signs it cannot be told.
func (a *Account) isNewer(h *current, sent []abi.Pair) bool {
	if h == nil || h.credentials == nil || a.signs(h) {
		return false
	}
	isProof := func(p abi.Pair) bool { return p.Key == "DPoP" }
	return !slices.Equal(h.pairs, slices.DeleteFunc(slices.Clone(sent), isProof))
}

// canRetry reports whether a flow has given something that was not refused yet.
func (a *Account) canRetry(h *current, sent []abi.Pair) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.signs(h) || a.isNewer(h, sent)
}

// wantsNonce reports whether all that a request lacked is a nonce (RFC 9449,
// section 9), and now there is one that it did not have.
func wantsNonce(c *httpclient.Challenge) bool {
	proof := sentHeader(c.Sent, "DPoP")
	says := func(field string) bool { return strings.Contains(field, noNonce) }
	if proof == "" || c.DPoPNonce == "" || !slices.ContainsFunc(c.Authenticate, says) {
		return false
	}
	_, payload, _ := strings.Cut(proof, ".")
	payload, _, _ = strings.Cut(payload, ".")
	var sent claims
	text, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(text, &sent) == nil && sent.Nonce != c.DPoPNonce
}

func sentHeader(sent []abi.Pair, name string) string {
	for _, p := range sent {
		if strings.EqualFold(p.Key, name) {
			return p.Value
		}
	}
	return ""
}

// signs reports whether the provider signs each request by itself, and the flow has
// left what it does that with.
func (a *Account) signs(h *current) bool {
	return h.from != "" && a.provider.Manifest().Wants.Requests && step.HasState(h.state)
}

// signed asks the provider to sign one request.
func (a *Account) signed(ctx context.Context, h *current, r *httpclient.Request) ([]abi.Pair, error) {
	sum := r.BodyHash()
	event := step.Event{Kind: step.EventRequest, Request: &step.Request{
		Method: r.Method, URL: r.URL, Headers: map[string]string{"host": r.Host}, BodySHA256: hex.EncodeToString(sum[:]),
	}}
	for _, p := range r.Headers() {
		if before, there := event.Request.Headers[p.Key]; there {
			p.Value = before + "," + p.Value
		}
		event.Request.Headers[p.Key] = p.Value
	}
	stamp(&event)
	ctx, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	reply, err := a.provider.Step(ctx, &step.Call{State: h.state, Event: event})
	if err == nil {
		var c *credentials
		if c, err = a.signature(reply); err == nil {
			return c.pairs(), nil
		}
	}
	return nil, blame(a.config.Name, "sign a request to "+a.config.Server.Name, err)
}

// signature reads the answer to a request event, which has one form.
func (a *Account) signature(reply *step.Reply) (*credentials, error) {
	switch actions := reply.Actions; {
	case actions[0].Kind == step.ActionFail:
		f := flow{config: &a.config}
		return nil, f.fail(actions[0].Fail)
	case len(actions) != 2 || actions[0].Kind != step.ActionCredentials || actions[1].Kind != step.ActionDone:
		return nil, violationf("it answers a request with something else than credentials and done")
	default:
		return readCredentials(actions[0].Credentials, nil)
	}
}
