// Command pigeon is a policy for Wharf: a person is asked about each tool that may destroy something.
// README.md says how to build, test and use it, and what to change first.
package main

import "github.com/wharf-mcp/wharf/sdk/policy"

func init() { policy.Register(manifest, decide) }

func main() {}

// manifest is what Wharf knows of the policy before it asks anything. A table whose settings are others is refused.
// A policy that decides by the arguments of calls says Arguments: true here, and its table arguments = true.
var manifest = policy.Manifest{
	Name:    "pigeon",
	Version: "0.1.0",
	About:   "asks about tools that may destroy something",
	Settings: []policy.Setting{
		{Key: "strict", Kind: "flag", About: "denies such tools, so that no person is asked"},
	},
}

// settings are those of the manifest.
type settings struct {
	Strict bool `json:"strict"`
}

// decide is asked before each call, and about each element of a list (c.Listed). What it denies is not listed, and
// what it panics about is denied. It keeps nothing in variables: another instance may be asked next.
func decide(c *policy.Call) policy.Verdict {
	var s settings
	if err := c.ReadSettings(&s); err != nil {
		return policy.Denied("the settings cannot be read: %v", err)
	}
	switch {
	case c.Target == policy.Prompt, c.Target == policy.Resource:
		return policy.Allowed() // they are read
	case c.Target != policy.Tool:
		return policy.Denied("%s is no method of the protocol, so it may destroy something", c.Method)
	case c.Hint("readOnlyHint", false), !c.Hint("destructiveHint", true):
		return policy.Allowed() // so says its server, and nothing proves it
	case s.Strict:
		return policy.Denied("%s may destroy something, and the settings are strict", c.Name)
	}
	return policy.Asked("%s may destroy something", c.Name)
}
