package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
)

// script is a provider that is a function.
type script func(f *Flow) error

func (s script) SignIn(f *Flow) error { return s(f) }

// play answers the actions of a provider in turn until its flow is over, and
// returns the actions and the states of all steps.
func play(t *testing.T, p Provider, answers ...step.Event) (actions []step.Action, states []json.RawMessage) {
	t.Helper()
	start := step.Event{Kind: step.EventStart, Start: &step.Start{Reason: step.ReasonInitial, Settings: json.RawMessage(`{"a":"b"}`)}}
	var state json.RawMessage
	for i, e := range append([]step.Event{start}, answers...) {
		e.Now, e.Entropy = int64(i), make([]byte, 32)
		e.Entropy[0] = byte(i)
		reply := takeOne(t, p, step.Call{State: state, Event: e})
		actions, state = append(actions, reply.Actions...), reply.State
		states = append(states, state)
	}
	if last := actions[len(actions)-1].Kind; last != step.ActionDone && last != step.ActionFail {
		t.Fatalf("the flow is not over: it ends with %s", last)
	}
	return actions, states
}

func takeOne(t *testing.T, p Provider, call step.Call) step.Reply {
	t.Helper()
	in, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Step(p, in)
	if err != nil {
		t.Fatal(err)
	}
	var reply step.Reply
	if err := json.Unmarshal(out, &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

func kinds(actions []step.Action) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.Kind)
	}
	return out
}

var (
	stored   = step.Event{Kind: step.EventStored}
	timer    = step.Event{Kind: step.EventTimer}
	response = step.Event{Kind: step.EventResponse, Response: &step.Response{Status: 200, Body: strings.Repeat("x", 1000)}}
)

// SignIn runs anew in each step; what it says, it says once.
func TestFlowRepeatsItself(t *testing.T) {
	runs := 0
	var random []string
	actions, _ := play(t, script(func(f *Flow) error {
		runs++
		f.Show(Show{Code: "1"})
		random = append(random, fmt.Sprintf("%x", f.Random(8)))
		if err := f.Wait(time.Second); err != nil {
			return err
		}
		random = append(random, fmt.Sprintf("%x", f.Random(8)))
		f.Show(Show{Code: "2"})
		if err := f.Store(RecordKey{Name: "x"}, f.Now().UnixMilli()); err != nil {
			return err
		}
		f.Credentials(Credentials{Scheme: "Bearer", Token: "t"})
		return nil
	}), timer, stored)
	want := []string{"show", "wait", "show", "store", "credentials", "done"}
	if got := kinds(actions); !slices.Equal(got, want) || runs != 3 {
		t.Errorf("%d runs: %q", runs, got)
	}
	if value := string(actions[3].Store.Value); value != "1" {
		t.Errorf("the time is %s and not that of the answer", value)
	}
	first, second := random[0], random[2]
	if first == second || !slices.Equal(random, []string{first, first, second, first, second}) {
		t.Errorf("randomness is not repeated, or is the same twice: %q", random)
	}
}

func TestFlowThatDoesNotRepeatItself(t *testing.T) {
	first := true
	p := script(func(f *Flow) error {
		if first {
			first = false
			return f.Wait(0)
		}
		return f.Forget(RecordKey{})
	})
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "does not repeat itself") {
			t.Errorf("recovered %v", r)
		}
	}()
	play(t, p, timer)
}

// What Once has got is not fetched again, and what led to it is not carried along.
func TestOnce(t *testing.T) {
	type result struct{ N int }
	ran := 0
	var numbers []int
	var random []string
	actions, states := play(t, script(func(f *Flow) error {
		got, err := Once(f, func() (result, error) {
			ran++
			f.Show(Show{Code: "1"})
			for range 2 {
				if _, err := f.HTTP(HTTP{}); err != nil {
					return result{}, err
				}
				f.Random(8)
			}
			return result{7}, nil
		})
		if err != nil {
			return err
		}
		numbers = append(numbers, got.N)
		random = append(random, fmt.Sprintf("%x", f.Random(8)))
		if f.Now().UnixMilli() != 2 {
			t.Errorf("the time is %v", f.Now())
		}
		return f.Wait(0)
	}), response, response, timer)
	if got := kinds(actions); !slices.Equal(got, []string{"show", "http", "http", "wait", "done"}) || ran != 3 {
		t.Errorf("%d runs: %q", ran, got)
	}
	if !slices.Equal(numbers, []int{7, 7}) || random[0] != random[1] {
		t.Errorf("got %v, randomness %q", numbers, random)
	}
	if len(states[1]) < 1000 || len(states[2]) > 500 {
		t.Errorf("states of %d and %d bytes", len(states[1]), len(states[2]))
	}
}

func TestOnceInOnce(t *testing.T) {
	_, states := play(t, script(func(f *Flow) error {
		wait := func() (int, error) { return 1, f.Wait(0) }
		for range 2 {
			n, err := Once(f, func() (int, error) {
				a, errA := Once(f, wait)
				b, errB := Once(f, wait)
				return a + b, errors.Join(errA, errB)
			})
			if n != 2 && err == nil {
				t.Errorf("got %d", n)
			}
			if err != nil {
				return err
			}
		}
		return f.Wait(0)
	}), timer, timer, timer, timer, timer)
	var h history
	if err := json.Unmarshal(states[4], &h); err != nil || len(h.Past) != 3 {
		t.Errorf("%d events are left: %s", len(h.Past), states[4])
	}
}

// An error is no result: it comes about anew each time.
func TestOnceFails(t *testing.T) {
	actions, _ := play(t, script(func(f *Flow) error {
		_, err := Once(f, func() (int, error) { return 0, f.Wait(0) })
		var problem *Problem
		if !errors.As(err, &problem) {
			t.Errorf("got %v", err)
		}
		_, err = Once(f, func() (int, error) { return 0, f.Wait(0) })
		return err
	}), step.Event{Kind: step.EventTimer, Problem: &step.Problem{Code: step.ProblemTimeout}}, timer)
	if got := kinds(actions); !slices.Equal(got, []string{"wait", "wait", "done"}) {
		t.Errorf("%q", got)
	}
	// Without an answer in it, there is nothing to remember.
	play(t, script(func(f *Flow) error {
		_, err := Once(f, func() (chan int, error) { return nil, nil })
		return err
	}))
}

func TestFailures(t *testing.T) {
	problem := func(code string) error { return fmt.Errorf("do it: %w", &Problem{Code: code, Text: "why"}) }
	for _, tt := range []struct {
		err   error
		class string
	}{
		{errors.New("x"), step.FailRetry},
		{NeedsLogin("x", "y"), step.FailLogin},
		{fmt.Errorf("x: %w", Misconfigured("x", "y")), step.FailConfig},
		{problem(step.ProblemNetwork), step.FailRetry},
		{problem(step.ProblemCancelled), step.FailLogin},
		{problem(step.ProblemTimeout), step.FailLogin},
		{problem(step.ProblemUnavailable), step.FailConfig},
		{problem(step.ProblemRefused), step.FailConfig},
	} {
		actions, _ := play(t, script(func(f *Flow) error {
			f.Credentials(Credentials{Scheme: "Bearer", Token: "t"})
			return tt.err
		}))
		if len(actions) != 1 || actions[0].Fail == nil || actions[0].Fail.Class != tt.class {
			t.Errorf("%v: %+v", tt.err, actions)
		}
	}
}

func TestRecords(t *testing.T) {
	record := func(value string) step.Event {
		return step.Event{Kind: step.EventLoaded, Record: &step.Record{Value: json.RawMessage(value)}}
	}
	for _, tt := range []struct {
		answer step.Event
		found  bool
	}{
		{step.Event{Kind: step.EventLoaded}, false},
		{record(`{"N":1}`), true},
		{record(`"of another version"`), false},
	} {
		play(t, script(func(f *Flow) error {
			var v struct{ N int }
			found, err := f.LoadLocked(RecordKey{}, &v)
			if found != tt.found {
				t.Errorf("found %v in %+v", found, tt.answer)
			}
			return err
		}), tt.answer)
	}
}

func TestStepsThatAreNone(t *testing.T) {
	p := script(func(f *Flow) error { _, err := f.HTTP(HTTP{}); return err })
	for _, call := range []string{
		``, `{`, `[]`, `{"event":{"kind":"start"}}`, `{"event":{"kind":"timer"}}`,
		`{"state":7,"event":{"kind":"timer"}}`,
		`{"state":{"past":[{"kind":"start","start":{}}]},"event":{"kind":"http_response"}}`,
		`{"state":{"past":[{"kind":"start","start":{}}]},"event":{"kind":"start","start":{}}}`,
		`{"state":{"past":[{"kind":"start","start":{}}]},"event":{"kind":"unheard-of"}}`,
		`{"event":{"kind":"start","start":{},"problem":{"code":"network"}}}`,
	} {
		if out, err := Step(p, []byte(call)); err == nil {
			t.Errorf("%s: %s", call, out)
		}
	}
}

// signer keeps a key, and signs with it.
type signer struct{ script }

func (signer) Sign(r *Request, now int64, kept json.RawMessage) (map[string]string, error) {
	if r.Method == "" {
		return nil, NeedsLogin("no", "")
	}
	return map[string]string{"X": r.Method + string(kept)}, nil
}

func TestSigner(t *testing.T) {
	_, states := play(t, signer{func(f *Flow) error { return errors.Join(f.Wait(0), f.Keep("key")) }}, timer)
	call := step.Call{State: states[1], Event: step.Event{Kind: step.EventRequest, Request: &step.Request{Method: "POST"}}}
	reply := takeOne(t, signer{}, call)
	if got := kinds(reply.Actions); !slices.Equal(got, []string{"credentials", "done"}) || reply.Actions[0].Credentials.Headers["X"] != `POST"key"` {
		t.Errorf("%+v", reply.Actions)
	}
	if string(reply.State) != string(states[1]) {
		t.Errorf("the state is %s, and was %s", reply.State, states[1])
	}
	call.Event.Request = &step.Request{}
	if got := takeOne(t, signer{}, call).Actions[0]; got.Fail == nil || got.Fail.Class != step.FailLogin {
		t.Errorf("%+v", got)
	}
	if got := takeOne(t, script(nil), call).Actions[0]; got.Fail == nil {
		t.Errorf("%+v", got)
	}
}

// A flow that keeps nothing leaves no state, by which a host knows not to have requests
// signed.
func TestSignerThatKeepsNothing(t *testing.T) {
	_, states := play(t, signer{func(f *Flow) error { return f.Wait(0) }}, timer)
	if last := states[len(states)-1]; step.HasState(last) {
		t.Errorf("the state is %s", last)
	}
}

func FuzzStep(f *testing.F) {
	f.Add(`{"event":{"kind":"start","start":{"reason":"initial"}}}`)
	f.Add(`{"state":{"past":[{"kind":"start","start":{}}]},"event":{"kind":"timer"}}`)
	f.Add(`{"state":{"past":[{"kind":"start","start":{}},{"kind":"settled-0","record":{"value":1}}]},"event":{"kind":"timer"}}`)
	f.Add(`{"event":{"kind":"request"}}`)
	p := signer{func(f *Flow) error {
		_, err := Once(f, func() (int, error) { return 1, f.Wait(0) })
		return err
	}}
	f.Fuzz(func(t *testing.T, call string) {
		defer func() {
			// The state is the provider's own: one that is not is our broken
			// invariant, and says so.
			if r := recover(); r != nil && !strings.Contains(fmt.Sprint(r), "does not repeat itself") {
				panic(r)
			}
		}()
		if out, err := Step(p, []byte(call)); err == nil && !json.Valid(out) {
			t.Errorf("%s", out)
		}
	})
}
