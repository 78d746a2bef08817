package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
)

// orders are what a step of a scenario for auth providers can do or expect, as
// verbs are for transports.
var orders = map[string]func(o *office, text string) error{
	// The host.
	"start": begins, "sign-in": signIn, "unknown": unknown, "request": signRequest,
	"clock":    clock,
	"settings": func(o *office, text string) error { o.profile.Settings = json.RawMessage(text); return nil },

	// The world.
	"network": func(o *office, text string) error { o.network = text; return nil },
	"person":  func(o *office, text string) error { o.refuses = text == "declines"; return nil },

	// What is expected.
	"ends": ended, "fails": failed, "signed-in": isSignedIn, "unsigned": isUnsigned, "fresh": isFresh,
	"other-token": isOther, "asks-nobody": asksNobody, "asks-once": asksOnce, "kept": kept, "retries": retries,
	"believes-nothing": believesNothing,
}

// errUntold says that only an author can tell how the sign-in goes.
var errUntold = errors.New("the kit does not know how one signs in with it: describe what is around it in a profile (signIn)")

func begins(o *office, text string) error {
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

// signIn is what a host does that has a request to send, and a person before it.
func signIn(o *office, _ string) error {
	if err := begins(o, step.ReasonInitial); err != nil || o.signedIn() {
		return err
	}
	return begins(o, step.ReasonChallenged+" interactive")
}

// unknown answers what is awaited first with an event that there is none of, or
// brings it where nothing is awaited. A provider fails then, in its own words or
// with an error of its call.
func unknown(o *office, _ string) error {
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

// signRequest has a request signed, by a provider that does that.
func signRequest(o *office, _ string) error {
	if !o.signedIn() {
		return errUntold
	}
	call := step.Call{State: o.flow.state, Event: step.Event{Kind: step.EventRequest, Request: &step.Request{
		Method: "POST", URL: o.profile.Server, BodySHA256: strings.Repeat("0", 64),
		Headers: map[string]string{"content-type": "application/json", "host": "server.example"},
	}}}
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

func clock(o *office, text string) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	o.now += seconds * 1000
	return err
}

// ended expects that the flow is over: done, or failed with one of the classes.
func ended(o *office, text string) error {
	fail := o.flow.fail
	classes := []string{step.FailRetry, step.FailLogin, step.FailConfig}
	switch {
	case fail == nil:
		return nil
	case !slices.Contains(classes, fail.Class):
		return fmt.Errorf("it fails with the class %q, which there is none of", fail.Class)
	case fail.Message == "":
		return errors.New("it fails without a word")
	case text != "" && !slices.Contains(strings.Fields(text), fail.Class):
		return fmt.Errorf("it fails with the class %s, expected %s: %s", fail.Class, strings.Join(strings.Fields(text), " or "), fail.Message)
	}
	return nil
}

func failed(o *office, text string) error {
	if o.flow.fail == nil {
		return errors.New("expected it to fail with " + text + ", but the flow is done")
	}
	return ended(o, text)
}

func isSignedIn(o *office, _ string) error {
	switch {
	case o.signedIn():
		return nil
	case o.flow.fail != nil:
		return fmt.Errorf("%w; it fails with %s: %s", errUntold, o.flow.fail.Class, o.flow.fail.Message)
	}
	return errUntold
}

func isUnsigned(o *office, _ string) error {
	if o.flow.credentials != nil || o.flow.material != nil {
		return errors.New("expected no credentials")
	}
	return nil
}

// isFresh expects that what was given is not over yet.
func isFresh(o *office, _ string) error {
	if c := o.flow.credentials; c != nil && c.ExpiresAt != 0 && c.ExpiresAt <= o.now {
		return fmt.Errorf("it gave credentials that have expired %d ms ago", o.now-c.ExpiresAt)
	}
	return nil
}

// isOther expects that the credentials are not those of the flow before, which the
// server has refused.
func isOther(o *office, _ string) error {
	given := o.given()
	if n := len(given); o.flow.credentials != nil && n > 1 && given[n-1] == given[n-2] {
		return errors.New("it gave the very credentials again that the server has just refused, so a host would send them for ever")
	}
	return nil
}

// given lists the credentials of all replies so far, as a request would carry them.
func (o *office) given() (list []string) {
	for _, text := range o.replies {
		var reply step.Reply
		_ = json.Unmarshal([]byte(text), &reply) // it was one before
		for _, a := range reply.Actions {
			if a.Credentials != nil {
				list = append(list, shown(a.Credentials))
			}
		}
	}
	return list
}

func asksNobody(o *office, _ string) error {
	if o.flow.asked > 0 {
		return errors.New("it asked a person where there is none")
	}
	return nil
}

func asksOnce(o *office, _ string) error {
	if o.flow.asked > 1 {
		return fmt.Errorf("it asked %d times somebody who had said no", o.flow.asked)
	}
	return nil
}

// kept expects that no login was thrown away.
func kept(o *office, _ string) error {
	if o.flow.kinds[step.ActionForget] > 0 {
		return errors.New("it threw a login away for an error that passes")
	}
	return nil
}

// retries expects that a flow for which the network was needed says that it may go
// well later.
func retries(o *office, _ string) error {
	if f := o.flow.fail; o.flow.kinds[step.ActionHTTP] > 0 && f != nil && f.Class != step.FailRetry {
		return fmt.Errorf("it fails with the class %s, expected retry, as nothing is lost: %s", f.Class, f.Message)
	}
	return nil
}

// believesNothing expects that answers which say nothing have signed nobody in.
func believesNothing(o *office, _ string) error {
	if o.flow.kinds[step.ActionHTTP] > 0 && o.signedIn() {
		return errors.New("it made credentials of an answer that holds none")
	}
	return nil
}
