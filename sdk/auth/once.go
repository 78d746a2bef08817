package auth

import (
	"encoding/json"
	"strconv"

	"github.com/wharf-mcp/wharf/abi/step"
)

// eventSettled stands in the history of a flow in place of the answers that
// [Once] has made a result of, followed by how deep within others that Once was:
// the first within another begins where that one begins. No host sends it.
const eventSettled = "settled-"

// Once runs do, and remembers what it returned in place of the answers that led to it: later
// steps neither run do again nor carry those answers along. It is for work that gets much and
// keeps little: metadata is read once, and each round of a loop that polls leaves a few
// bytes.
//
// What do returns goes through JSON, so only exported fields stay. An error is
// not remembered: do runs again, with the same answers, and fails again.
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

// settle replaces the answers after begin. From here on the randomness is that of
// the event in their place, now and in each repetition.
func (f *Flow) settle(begin int, kind string, value json.RawMessage) {
	e := step.Event{
		Kind: kind, Now: f.past[f.at].Now, Entropy: f.Random(32),
		Record: &step.Record{Value: value},
	}
	f.past = append(f.past[:begin+1], e)
	f.at = begin + 1
	f.seed()
}
