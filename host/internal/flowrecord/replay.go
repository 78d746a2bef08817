package flowrecord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Run gives the events of a flow to a provider, and compares its actions with those of the flow. It
// performs no action. The error is the provider's, or names the step in which the provider acts
// differently.
func (f *Flow) Run(ctx context.Context, p Provider) error {
	if name := p.Manifest().Name; name != f.Provider {
		return fmt.Errorf("the flow is one of the provider %s, and this is %s", cleantext.Line(f.Provider, 64), name)
	}
	var state json.RawMessage
	for i := range f.Steps {
		s := &f.Steps[i]
		reply, err := p.Step(ctx, &step.Call{State: state, Event: s.Event})
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, cleantext.Line(s.Event.Kind, 40), err)
		}
		if what := difference("actions", plain(s.Actions), plain(reply.Actions)); what != "" {
			return fmt.Errorf("step %d (%s): %s", i+1, cleantext.Line(s.Event.Kind, 40), what)
		}
		state = reply.State
	}
	return nil
}

// plain returns a value in the types that JSON decodes to.
func plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return err.Error() // the inside of an action is no JSON
	}
	return out
}

// difference returns where two values first differ, or "". Both have stand-ins for secrets.
func difference(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			keys := maps.Clone(want)
			maps.Copy(keys, got)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				if what := difference(at+"."+cleantext.Line(key, 40), want[key], got[key]); what != "" {
					return what
				}
			}
			return ""
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			for i := range want {
				if what := difference(fmt.Sprintf("%s[%d]", at, i), want[i], got[i]); what != "" {
					return what
				}
			}
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s: recorded %s, and now %s", at, shown(want), shown(got))
}

// shown returns a value in one line; for a list of actions, their kinds.
func shown(v any) string {
	var kinds []string
	list, _ := v.([]any)
	for _, element := range list {
		object, _ := element.(map[string]any)
		if kind, ok := object["kind"].(string); ok {
			kinds = append(kinds, kind)
		}
	}
	text, err := json.Marshal(v)
	switch {
	case kinds != nil:
		text = []byte(strings.Join(kinds, ", "))
	case v == nil || err != nil:
		return "nothing"
	}
	return cleantext.Line(string(text), 200)
}
