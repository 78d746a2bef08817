// Command readonly is a policy plugin that lets callers change nothing: it denies the tools that their server
// does not call read-only.
package main

import (
	"path"
	"slices"

	"github.com/wharf-mcp/wharf/sdk/policy"
)

func init() { policy.Register(manifest, decide) }

func main() {}

var manifest = policy.Manifest{
	Name:    "readonly",
	Version: "0.1.0",
	About:   "denies tools that are not read-only",
	Settings: []policy.Setting{
		{Key: "allow", Kind: "list", About: "tools that may be called although they may change something, as SERVER/TOOL; * stands for any characters but /"},
		{Key: "ask", Kind: "list", About: "tools about which a person is asked"},
	},
}

// settings are those of the manifest.
type settings struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
}

func decide(c *policy.Call) policy.Verdict {
	var s settings
	if err := c.ReadSettings(&s); err != nil {
		return policy.Denied("the settings cannot be read: %v", err)
	}
	named := func(pattern string) bool {
		fits, err := path.Match(pattern, c.Server+"/"+c.Name)
		return fits && err == nil
	}
	switch {
	case c.Target == policy.Prompt, c.Target == policy.Resource:
		return policy.Allowed() // they are read
	case c.Target != policy.Tool:
		return policy.Denied("%s is no method of the protocol, so it may change something", c.Method)
	case c.Hint("readOnlyHint", false), slices.ContainsFunc(s.Allow, named):
		return policy.Allowed()
	case slices.ContainsFunc(s.Ask, named):
		return policy.Asked("%s does not call %s read-only", c.Server, c.Name)
	}
	return policy.Denied("%s does not call %s read-only; allow = [\"%s/%s\"] in its settings allows it", c.Server, c.Name, c.Server, c.Name)
}
