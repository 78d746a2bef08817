package auth

import (
	"context"
	"encoding/base64"
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
	stepUpsRest = 10 * time.Minute // after so long without a step-up the count begins anew
	freshTime   = time.Minute      // how long after a flow a challenge counts as a refusal of its result

	maxFields = 16      // WWW-Authenticate fields that a provider gets
	maxField  = 8 << 10 // bytes of one
)

// Challenge decides whether a refused request is sent again. It is if the request lacked a nonce,
// if another flow has got newer credentials since, or if a flow for this challenge gets them.
// [Account.mayAsk] bounds the flows. No person is asked: a flow that needs one fails with an *Error
// of the class login.
func (a *Account) Challenge(ctx context.Context, c *httpclient.Challenge) (retry bool, err error) {
	a.nonces.note(a.origin, c.DPoPNonce)
	if wantsNonce(c) {
		return true, nil
	}
	challenge := &challenge{step.Challenge{Status: c.Status}, c.Said}
	for _, field := range c.Authenticate {
		if len(challenge.Authenticate) < maxFields && len(field) <= maxField {
			challenge.Authenticate = append(challenge.Authenticate, field)
		}
	}
	_, challenge.Token, _ = strings.Cut(sentHeader(c.Sent, "Authorization"), " ")
	reason := reasonOf(&challenge.Challenge)
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
			if !a.mayAsk(reason, h, c.Number) {
				a.mu.Unlock()
				return false, nil
			}
			f, own = a.begin(reason, challenge, nil), true
		}
		a.mu.Unlock()
		switch err := f.wait(ctx); {
		case ctx.Err() != nil, err != nil && f.forRequests():
			return false, err
		case own: // its result may be what the server has refused
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.signs(f.given) || a.isNewer(f.given, c.Sent), nil
		case f.given != nil && f.given != h:
			return true, nil
		}
	}
}

// mayAsk bounds how often a server that refuses everything can start a flow. Credentials that were
// only loaded from the vault do not count: another process may have saved them long ago, and no
// flow has tried to renew them yet. The caller holds a.mu.
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
// It is false for requests that a provider signs: each of them differs.
func (a *Account) isNewer(h *current, sent []abi.Pair) bool {
	if h == nil || h.credentials == nil || a.signs(h) {
		return false
	}
	isProof := func(p abi.Pair) bool { return p.Key == "DPoP" }
	return !slices.Equal(h.pairs, slices.DeleteFunc(slices.Clone(sent), isProof))
}

// wantsNonce reports whether a request was refused only because it lacked a nonce (RFC 9449,
// section 9). The server has then given a nonce that the request did not have.
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
	i := slices.IndexFunc(sent, func(p abi.Pair) bool { return strings.EqualFold(p.Key, name) })
	if i < 0 {
		return ""
	}
	return sent[i].Value
}
