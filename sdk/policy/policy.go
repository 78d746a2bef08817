package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi/verdict"
)

// The data of the contract, which `go doc abi/verdict` describes, with the fields of each.
type (
	Manifest = verdict.Manifest // has ABI, Name, Version, About, Settings, Arguments
	Setting  = verdict.Setting  // has Key, Kind, About, Required, Secret
	Caller   = verdict.Caller   // has Kind, Name, Principal
)

// The values of Call.Target.
const (
	Tool     = verdict.Tool
	Prompt   = verdict.Prompt
	Resource = verdict.Resource
	Other    = verdict.Other
)

// Call is a call to decide on.
type Call struct{ verdict.Call }

// Hint returns an annotation of a tool, or otherwise if the server gives none.
func (c *Call) Hint(name string, otherwise bool) bool {
	var hints map[string]json.RawMessage
	if len(c.Annotations) == 0 || json.Unmarshal(c.Annotations, &hints) != nil {
		return otherwise
	}
	value, given := hints[name]
	if !given {
		return otherwise
	}
	return string(value) == "true"
}

// ReadSettings decodes the settings of the policy. They have been compared with its manifest.
func (c *Call) ReadSettings(into any) error { return json.Unmarshal(c.Settings, into) }

// ReadArguments decodes the arguments of the call. found is false if it has none, or if they are not granted.
func (c *Call) ReadArguments(into any) (found bool, err error) {
	if len(c.Arguments) == 0 {
		return false, nil
	}
	return true, json.Unmarshal(c.Arguments, into)
}

// Verdict is what a policy says. The zero Verdict denies.
type Verdict struct{ verdict, reason string }

// Allowed lets a call go on.
func Allowed() Verdict { return Verdict{verdict: verdict.Allow} }

// Denied does not let a call go on. The reason is for the user: what is wrong, and what would be allowed. The
// user sees the first [verdict.MaxReason] bytes.
func Denied(format string, args ...any) Verdict {
	return Verdict{verdict.Deny, fmt.Sprintf(format, args...)}
}

// Asked lets a call go on if a person says so. The reason is shown to that person.
func Asked(format string, args ...any) Verdict {
	return Verdict{verdict.Ask, fmt.Sprintf(format, args...)}
}

// String returns the verdict and its reason, for tests.
func (v Verdict) String() string {
	said := v.verdict
	if said == "" {
		said = verdict.Deny
	}
	if v.reason == "" {
		return said
	}
	return said + ": " + v.reason
}

// Describe does the work of the export wharf_policy_describe.
func Describe(m Manifest) []byte {
	m.ABI = verdict.Version
	return encode(m)
}

// Decide does the work of the export wharf_policy_decide: it reads a verdict.Call and returns a
// verdict.Verdict. A test can call it natively.
func Decide(decide func(*Call) Verdict, call []byte) ([]byte, error) {
	var c Call
	if err := json.Unmarshal(call, &c); err != nil {
		return nil, fmt.Errorf("the call is not of this contract: %w", err)
	}
	v := decide(&c)
	said := v.verdict
	if said == "" {
		said = verdict.Deny
	}
	return encode(verdict.Verdict{ID: c.ID, Verdict: said, Reason: cut(v.reason)}), nil
}

// cut returns as much of a reason as is shown. A reason that quotes a name may be larger than a verdict.
func cut(reason string) string {
	if len(reason) > verdict.MaxReason {
		reason = strings.ToValidUTF8(reason[:verdict.MaxReason], "")
	}
	return reason
}

// encode is json.Marshal for values that always have a JSON form.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("policy: " + err.Error())
	}
	return b
}
