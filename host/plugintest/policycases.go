package plugintest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
)

// Policy says what a policy plugin is asked, and what it has to say. README.md describes it.
type Policy struct {
	Settings json.RawMessage `json:"settings"` // of its table, an object; empty: the kit makes up those that there must be
	Cases    []Case          `json:"cases"`
}

// A Case is a call, and the verdict on it.
type Case struct {
	Call    verdict.Call `json:"call"`    // settings in it are in place of those of the profile; its id is the kit's
	Verdict string       `json:"verdict"` // allow, deny or ask
	Reason  string       `json:"reason"`  // a regular expression for a part of the reason

	reason *regexp.Regexp
}

// methods are those by which a target is called.
var methods = map[string]string{verdict.Tool: "tools/call", verdict.Prompt: "prompts/get", verdict.Resource: "resources/read", verdict.Other: "x/y"}

// compile checks the cases of a profile, and fills in what their calls leave out.
func (p *Policy) compile() (err error) {
	if p == nil {
		return nil
	}
	if _, err := readObject(p.Settings); err != nil {
		return wrong("policy.settings", "%w", err)
	}
	for i := range p.Cases {
		c, field := &p.Cases[i], fmt.Sprintf("policy.cases[%d]", i)
		call := &c.Call
		if methods[call.Target] == "" {
			return wrong(field+".call.target", "%q, expected tool, prompt, resource or other", call.Target)
		}
		if c.Verdict != verdict.Allow && c.Verdict != verdict.Deny && c.Verdict != verdict.Ask {
			return wrong(field+".verdict", "%q, expected allow, deny or ask", c.Verdict)
		}
		if c.reason, err = regexp.Compile(c.Reason); err != nil {
			return wrong(field+".reason", "%w", err)
		}
		if _, err := readObject(call.Settings); err != nil {
			return wrong(field+".call.settings", "%w", err)
		}
		if call.Arguments, err = policyplugin.Shown(call.Arguments); err != nil {
			return wrong(field+".call.arguments", "%w", err)
		}
		call.Server, call.Caller.Kind = cmp.Or(call.Server, "server"), cmp.Or(call.Caller.Kind, "gateway")
		if !call.Listed {
			call.Method = cmp.Or(call.Method, methods[call.Target])
		}
	}
	return nil
}

// readObject reads the settings of a policy; nil is none.
func readObject(text json.RawMessage) (values map[string]any, err error) {
	if len(text) > 0 && (json.Unmarshal(text, &values) != nil || values == nil) {
		return nil, fmt.Errorf("expected an object")
	}
	return values, nil
}

// judge returns an error if the verdict on the call of a case is another one.
func (c *Case) judge(said, reason string) error {
	switch {
	case said != c.Verdict:
		return fmt.Errorf("it says %s (%q), expected %s", said, reason, c.Verdict)
	case !c.reason.MatchString(reason):
		return fmt.Errorf("it says %s, and its reason is %q, expected %q in it", said, reason, c.Reason)
	}
	return nil
}

// calls returns calls of all targets, by all ways to call, as they are made and as they are listed.
func calls() (all []verdict.Call) {
	callers := []verdict.Caller{{Kind: "command"}, {Kind: "bridge", Name: "kit"}, {Kind: "gateway", Name: "kit", Principal: "ci"}, {Kind: "control"}}
	for i, target := range []string{verdict.Tool, verdict.Prompt, verdict.Resource, verdict.Other} {
		c := verdict.Call{Caller: callers[i], Server: "server", Method: methods[target], Target: target, Name: "kit"}
		if target == verdict.Resource {
			c.Name = "file:///kit"
		}
		listed := c
		listed.Method, listed.Listed = "", true
		all = append(all, c, listed)
	}
	for _, hints := range []string{`{}`, `{"title":"kit","readOnlyHint":true}`, `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`} {
		c := all[0]
		c.Annotations = json.RawMessage(hints)
		all = append(all, c)
	}
	return all
}

// argued returns calls of a tool with arguments of every kind in JSON, and one whose arguments are withheld.
func argued() (all []verdict.Call) {
	deep := string(bytes.Repeat([]byte(`{"path":[`), 16)) + string(bytes.Repeat([]byte(`]}`), 16))
	for _, text := range []string{
		"", `{}`, `{"path":null}`, `{"path":true,"":false}`, `{"path":-1.5e300,"n":0,"m":12345678901234567890}`, `{"path":"/kit"}`, `{"path":["a",1,[],{}]}`,
		`{"path":{"path":{"path":"/"}}}`, deep, `{"path":"\u0000\u001b[31m\"\\\u007f","é":"😀\u2028"}`,
	} {
		c := calls()[0]
		c.Arguments = json.RawMessage(text)
		all = append(all, c)
	}
	return all
}

// named returns calls of tools, resources and methods whose names are strange.
func named() (all []verdict.Call) {
	long := string(bytes.Repeat([]byte("x"), 64<<10))
	for _, name := range []string{"", long, "../../etc/passwd", `a"b\c`, "a\x00b\x1b[31m\n", "a\xff\xfe", "\u202emotsuc\u200b", "名前😀", "%2e%2e%2f"} {
		for _, c := range calls() {
			if c.Annotations == nil {
				c.Name = name
				all = append(all, c)
			}
		}
	}
	for _, strange := range []string{long, "a\x00\"\\\xff"} {
		c := calls()[0]
		c.Server, c.Caller.Name, c.Caller.Principal = strange, strange, strange
		all = append(all, c)
	}
	return all
}
