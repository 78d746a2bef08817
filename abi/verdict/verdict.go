package verdict

import (
	"encoding/json"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Version is what Manifest.ABI says of a policy that keeps this contract.
const Version = "wharf-policy-0"

// The exports of a policy.
const (
	ExportDescribe = "wharf_policy_describe"
	ExportDecide   = "wharf_policy_decide"
)

// Bounds of the contract. The host refuses anything larger with an error that names the policy, except for
// a reason, which it cuts.
const (
	MaxCall   = 1 << 20  // bytes of a Call
	MaxReply  = 64 << 10 // bytes of a Verdict
	MaxReason = 1 << 10  // bytes of a reason that are shown
)

// Manifest describes a policy in its own words.
type Manifest struct {
	ABI      string    `json:"abi"` // Version
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	About    string    `json:"about,omitempty"` // one line
	Settings []Setting `json:"settings,omitempty"`

	// Arguments says that the policy decides by arguments. Its table must then grant them.
	Arguments bool `json:"arguments,omitempty"`
}

// Setting is a key of the table settings of a policy. Its kinds are those of an auth provider.
type Setting = step.Setting

// Call is the input of a decision.
type Call struct {
	ID       uint64          `json:"id"`
	Settings json.RawMessage `json:"settings"` // an object
	Caller   Caller          `json:"caller"`
	Server   string          `json:"server"`           // the name of its entry
	Method   string          `json:"method,omitempty"` // of the request; absent with Listed
	Target   string          `json:"target"`           // what Name names
	Name     string          `json:"name"`
	Listed   bool            `json:"listed,omitempty"` // it is in a list, and is not called

	// Annotations are what the server says of a tool, an object.
	Annotations json.RawMessage `json:"annotations,omitempty"`

	// Arguments are those of tools/call and prompts/get, and the params of any other request: an object whose
	// names and texts have no escapes that they do not need, each name once. They are absent if they are not
	// granted, if the request has none, and with Listed. The params of completion/complete have what is
	// completed.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// The values of Call.Target.
const (
	Tool     = "tool"
	Prompt   = "prompt"
	Resource = "resource" // by its URI, or by the text of a template
	Other    = "other"    // a method that the protocol does not define
)

// Caller is who calls.
type Caller struct {
	Kind      string `json:"kind"`                // the way: command, bridge, gateway or control
	Name      string `json:"name,omitempty"`      // how the client names itself, which nothing proves
	Principal string `json:"principal,omitempty"` // who has proven to be there; absent for the user who runs the host
}

// Verdict is the output of a decision.
type Verdict struct {
	ID      uint64 `json:"id"` // of the call
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"` // for people: why, and what they can do
}

// The values of Verdict.Verdict.
const (
	Allow = "allow"
	Deny  = "deny"
	Ask   = "ask"
)
