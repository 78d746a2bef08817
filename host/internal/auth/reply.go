package auth

import (
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/extism"
)

// readReply reads a provider's reply and checks it against the contract: every kind of
// action is known, each action has the fields of its kind and no others, and only the last
// one awaits an event or ends the flow. It does not check what an action asks for.
func readReply(b []byte) (*step.Reply, error) {
	var r step.Reply
	if err := extism.Decode(b, &r); err != nil {
		return nil, violationf("its reply is not of the contract: %v", err)
	}
	switch {
	case len(r.State) > step.MaxState:
		return nil, violationf("its state has %d bytes, there may be %d", len(r.State), step.MaxState)
	case len(r.Actions) == 0:
		return nil, violationf("it replied with no action: neither one that awaits something nor an end")
	case len(r.Actions) > step.MaxActions:
		return nil, violationf("it replied with %d actions, there may be %d", len(r.Actions), step.MaxActions)
	}
	for i := range r.Actions {
		if err := checkAction(&r.Actions[i], i == len(r.Actions)-1); err != nil {
			return nil, fmt.Errorf("%w (action %d of %d)", err, i+1, len(r.Actions))
		}
	}
	return &r, nil
}

// says holds the actions after which a provider may take further actions in the same reply: they
// neither end the flow nor await an event.
var says = []string{step.ActionShow, step.ActionCredentials, step.ActionMaterial}

// checkAction checks one action of a reply.
func checkAction(a *step.Action, last bool) error {
	awaits, ends := step.Awaits(a.Kind) != "", a.Kind == step.ActionDone || a.Kind == step.ActionFail
	switch {
	case !awaits && !ends && !slices.Contains(says, a.Kind):
		return violationf("it asks for %q, which is no action of the contract", cleantext.Line(a.Kind, 64))
	case (awaits || ends) && !last:
		return violationf("%s comes before other actions, and must be last", a.Kind)
	case last && !awaits && !ends:
		return violationf("%s is last, which neither awaits anything nor ends the flow", a.Kind)
	}
	for kind, there := range payloads(a) {
		switch {
		case there && kind != a.Kind:
			return violationf("%s comes with what belongs to %s", a.Kind, kind)
		case !there && kind == a.Kind:
			return violationf("%s comes without what belongs to it", a.Kind)
		}
	}
	return nil
}

// payloads reports, for each kind that has fields of its own, whether a has them.
func payloads(a *step.Action) map[string]bool {
	return map[string]bool{
		step.ActionLoad:        a.Load != nil,
		step.ActionStore:       a.Store != nil,
		step.ActionForget:      a.Forget != nil,
		step.ActionHTTP:        a.HTTP != nil,
		step.ActionListen:      a.Listen != nil,
		step.ActionOpenBrowser: a.OpenBrowser != nil,
		step.ActionPrompt:      a.Prompt != nil,
		step.ActionKey:         a.Key != nil,
		step.ActionSign:        a.Sign != nil,
		step.ActionWait:        a.Wait != nil,
		step.ActionShow:        a.Show != nil,
		step.ActionCredentials: a.Credentials != nil,
		step.ActionMaterial:    a.Material != nil,
		step.ActionFail:        a.Fail != nil,
	}
}
