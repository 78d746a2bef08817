package policyplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// targets are the targets of calls in the words of the contract.
var targets = map[policy.Target]string{
	policy.Other: verdict.Other, policy.Tool: verdict.Tool, policy.Prompt: verdict.Prompt, policy.Resource: verdict.Resource,
}

// show returns what the plugin is shown of a call. unknown says why annotations are missing.
func (d *Decider) show(ctx context.Context, c *policy.Call) (call *verdict.Call, unknown, err error) {
	call = &verdict.Call{
		Settings: d.settings, Server: c.Server, Method: c.Method, Target: targets[c.Target], Name: c.Name, Listed: c.Listed,
		Caller: verdict.Caller{Kind: string(c.Caller.Kind), Name: c.Caller.Name, Principal: c.Caller.Principal},
	}
	if c.Annotations != nil {
		call.Annotations, unknown = c.Annotations(ctx)
	}
	if d.config.Arguments && !c.Listed {
		call.Arguments, err = arguments(c)
	}
	return call, unknown, err
}

// arguments returns the arguments of a call as a policy is shown them. It refuses those that the policy and
// the server could read in two ways.
func arguments(c *policy.Call) (json.RawMessage, error) {
	given := c.Arguments
	if c.Method == mcp.MethodCallTool || c.Method == mcp.MethodGetPrompt {
		r := strictjson.Read(c.Arguments)
		given = nil
		for key := range r.Object() {
			switch {
			case string(key) == "arguments" && given == nil:
				given = r.Raw()
			case folded(string(key)) == "arguments": // which a server that ignores case takes
				return nil, twice("the params", string(key))
			}
		}
	}
	return Shown(given)
}

// Shown rewrites the arguments of a call as a policy sees them: without white space and needless escapes. It
// refuses arguments in which a name stands twice. It returns nil for a call without arguments.
func Shown(given json.RawMessage) (json.RawMessage, error) {
	if len(given) == 0 || string(given) == "null" {
		return nil, nil
	}
	if err := strictjson.Valid(given, 0); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	r := strictjson.Read(given)
	if r.Kind() != '{' {
		return nil, errors.New("the arguments are no object")
	}
	out, err := rewrite(make([]byte, 0, len(given)), r, "the arguments")
	if err == nil {
		err = r.Err()
	}
	return out, err
}

// rewrite appends the next value of r with no more space and escapes than JSON needs, so that a policy in a
// language without a library for JSON can compare texts as they are. It refuses an object with two names that
// differ in case alone: a server may take one for the other.
func rewrite(out []byte, r *strictjson.Reader, what string) ([]byte, error) {
	var err error
	switch r.Kind() {
	case '{':
		out = append(out, '{')
		seen := make(map[string]bool)
		for key := range r.Object() {
			name := string(key)
			if seen[folded(name)] {
				return nil, twice(what, name)
			}
			if len(seen) > 0 {
				out = append(out, ',')
			}
			seen[folded(name)] = true
			out = append(strictjson.AppendString(out, name), ':')
			if out, err = rewrite(out, r, what); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	case '[':
		out = append(out, '[')
		for i := range r.Array() {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = rewrite(out, r, what); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case '"':
		return strictjson.AppendString(out, r.String()), nil
	}
	return append(out, r.Raw()...), nil
}

// folded returns a name as those see it who ignore case.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }

func twice(what, name string) error {
	return fmt.Errorf("%s have the name %q twice, or in upper and lower case; write it once, and as the protocol spells it", what, cleantext.Line(name, 64))
}
