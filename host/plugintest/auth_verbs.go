package plugintest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
)

// authVerbs are the verbs of scenarios for auth providers. An error is an expectation that
// was not met; README.md describes each verb.
var authVerbs = map[string]func(o *authHost, text string) error{
	// The host.
	"start": begins, "sign-in": signIn, "unknown": unknown, "request": signRequest,
	"clock":    clock,
	"settings": func(o *authHost, text string) error { o.profile.Settings = json.RawMessage(text); return nil },

	// The world.
	"network": func(o *authHost, text string) error { o.network = text; return nil },
	"person":  func(o *authHost, text string) error { o.declines = text == "declines"; return nil },

	// What is expected.
	"ends": ended, "fails": failed, "signed-in": isSignedIn, "fresh": isFresh, "asks-once": asksOnce, "retries": retries,
	"unsigned": unless("expected no credentials",
		func(o *authHost) bool { return o.flow.credentials != nil || o.flow.material != nil }),
	"other-token": unless("it gave the very credentials again that the server has just refused; a host would send them for ever",
		func(o *authHost) bool {
			n := len(o.given)
			return o.flow.credentials != nil && n > 1 && o.given[n-1] == o.given[n-2]
		}),
	"never-asks": unless("it asked a person in a flow that is not interactive",
		func(o *authHost) bool { return o.flow.asked > 0 }),
	"kept": unless("it forgot a login because of a temporary error",
		func(o *authHost) bool { return o.flow.kinds[step.ActionForget] > 0 }),
	"believes-nothing": unless("it made credentials of an answer that has no credentials",
		func(o *authHost) bool { return o.flow.kinds[step.ActionHTTP] > 0 && o.signedIn() }),
}

// errNoSignIn says that the kit needs a profile to know how to sign in with the provider.
var errNoSignIn = errors.New("the kit does not know how one signs in with it: describe what is around it in a profile (signIn)")

func begins(o *authHost, text string) error {
	reason, rest, _ := strings.Cut(text, " ")
	s := &step.Start{Reason: reason, Interactive: rest == "interactive", Browser: rest == "interactive"}
	status := map[string]int{step.ReasonChallenged: 401, step.ReasonUpscope: 403}[reason]
	if status != 0 {
		s.Challenge = &step.Challenge{Status: status, Authenticate: o.profile.Challenge}
		if o.flow.credentials != nil {
			s.Challenge.Token = o.flow.credentials.Token
		}
	}
	return o.start(s)
}

// signIn runs the flows that a host runs for a request: an initial flow and, if that gives no
// credentials, an interactive one.
func signIn(o *authHost, _ string) error {
	if err := begins(o, step.ReasonInitial); err != nil || o.signedIn() {
		return err
	}
	return begins(o, step.ReasonChallenged+" interactive")
}

// unknown sends an event of an unknown kind in place of the first event that the provider
// awaits, or as the first event if it awaits nothing. The provider must then fail, by an
// action or by an error.
func unknown(o *authHost, _ string) error {
	o.strange = true
	err := begins(o, step.ReasonChallenged+" interactive")
	if o.strange {
		o.flow, o.strange = result{kinds: map[string]int{}}, false
		o.note("--> tide")
		err = o.run(step.Call{Event: step.Event{Kind: "tide"}})
	}
	switch {
	case err == nil && o.flow.fail == nil:
		return errors.New("expected it to fail for an event of an unknown kind, but the flow is done")
	case err != nil && o.ctx.Err() == nil:
		o.note("  <-- %v", err)
	}
	return o.ctx.Err()
}

// signRequest has a provider that signs requests sign one.
func signRequest(o *authHost, _ string) error {
	if !o.signedIn() {
		return errNoSignIn
	}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	sum := sha256.Sum256(body)
	r := &step.Request{
		Method: "POST", URL: o.profile.Server, BodySHA256: hex.EncodeToString(sum[:]),
		Headers: map[string]string{"content-type": "application/json", "host": "server.example"},
	}
	if o.manifest.Wants.Body {
		r.Body = body
	}
	call := step.Call{State: o.flow.state, Event: step.Event{Kind: step.EventRequest, Request: r}}
	o.note("--> request")
	reply, err := o.step(&call)
	if err != nil {
		return err
	}
	event, err := o.take(reply.Actions)
	if err == nil && (event != nil || o.flow.kinds[step.ActionFail] > 0 || o.flow.credentials == nil) {
		err = errors.New("expected credentials for the request, and done, at once")
	}
	return err
}

func clock(o *authHost, text string) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	o.now += seconds * 1000
	return err
}

// ended expects that the flow is done, or has failed with one of the classes in text.
func ended(o *authHost, text string) error {
	fail := o.flow.fail
	classes := []string{step.FailRetry, step.FailLogin, step.FailConfig}
	switch {
	case fail == nil:
		return nil
	case !slices.Contains(classes, fail.Class):
		return fmt.Errorf("it fails with the unknown class %q", fail.Class)
	case fail.Message == "":
		return errors.New("it fails without a message")
	case text != "" && !slices.Contains(strings.Fields(text), fail.Class):
		return fmt.Errorf("it fails with the class %s, expected %s: %s", fail.Class, strings.Join(strings.Fields(text), " or "), fail.Message)
	}
	return nil
}

func failed(o *authHost, text string) error {
	if o.flow.fail == nil {
		return errors.New("expected it to fail with " + text + ", but the flow is done")
	}
	return ended(o, text)
}

func isSignedIn(o *authHost, _ string) error {
	switch {
	case o.signedIn():
		return nil
	case o.flow.fail != nil:
		return fmt.Errorf("%w; it fails with %s: %s", errNoSignIn, o.flow.fail.Class, o.flow.fail.Message)
	}
	return errNoSignIn
}

// isFresh expects that the credentials have not expired.
func isFresh(o *authHost, _ string) error {
	if c := o.flow.credentials; c != nil && c.ExpiresAt != 0 && c.ExpiresAt <= o.now {
		return fmt.Errorf("it gave credentials that have expired %d ms ago", o.now-c.ExpiresAt)
	}
	return nil
}

func asksOnce(o *authHost, _ string) error {
	if o.flow.asked > 1 {
		return fmt.Errorf("it asked %d times, and the person had declined", o.flow.asked)
	}
	return nil
}

// retries expects that a flow which needed the network fails with the class retry.
func retries(o *authHost, _ string) error {
	if f := o.flow.fail; o.flow.kinds[step.ActionHTTP] > 0 && f != nil && f.Class != step.FailRetry {
		return fmt.Errorf("it fails with the class %s, expected retry, as nothing is lost: %s", f.Class, f.Message)
	}
	return nil
}
