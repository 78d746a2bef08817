package auth

import (
	"encoding/json"
	"strconv"

	"github.com/wharf-mcp/wharf/abi/step"
)

// eventSettled begins the kind of an event that stands in a flow's history for the answers that a
// call of [Once] has turned into a result. The depth of that call among nested ones ends the kind:
// a call and the first one within it begin at the same place. No host sends such an event.
const eventSettled = "settled-"

// Once runs do and remembers its result in place of the answers that led to it. Later steps
// neither run do again nor carry those answers along. Use it if do gets much and returns
// little: metadata is read once, and each round of a polling loop leaves a few
// bytes.
//
// The result of do goes through JSON, so only exported fields stay. An error is not remembered:
// do runs again, with the same answers, and fails again.
func Once[T any](f *Flow, do func() (T, error)) (T, error) {
	var out T
	kind := eventSettled + strconv.Itoa(f.depth)
	if next := f.at + 1; next < len(f.past) && f.past[next].Kind == kind {
		f.at = next
		f.seed()
		return out, json.Unmarshal(f.past[next].Record.Value, &out)
	}
	begin := f.at
	f.depth++
	got, err := do()
	f.depth--
	if err != nil || f.at == begin {
		return got, err
	}
	value, err := json.Marshal(got)
	if err != nil {
		return out, err
	}
	f.settle(begin, kind, value)
	return out, json.Unmarshal(value, &out)
}

// settle replaces the answers after begin by one event. From here on the randomness is that of
// this event, now and in each repetition.
func (f *Flow) settle(begin int, kind string, value json.RawMessage) {
	e := step.Event{
		Kind: kind, Now: f.past[f.at].Now, Entropy: f.Random(32),
		Record: &step.Record{Value: value},
	}
	f.past = append(f.past[:begin+1], e)
	f.at = begin + 1
	f.seed()
}
