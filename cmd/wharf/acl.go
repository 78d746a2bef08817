package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/policy"
)

func newACL(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acl",
		Short: "Say who may call what",
		Long: `Say who may call what, by the tables [access.NAME] of your configuration, by those of the
project around the working folder, by the tools that entries of servers enable or
disable, and by policy plugins (the tables [policy.NAME]). They hold for every way to
call: this command, wharf bridge, wharf serve, and editors.`,
		Args: cobra.ArbitraryArgs,
		RunE: runGroup,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check CLIENT TOOL",
		Short: "Say whether a client may call a tool, and which rule decides",
		Long: `Say whether a client may call a tool, and which rule decides. It starts no server, and
does not look whether the server has the tool. The exit code is 6 if it may not.

Where the rules allow the call, the policy plugins for the server are asked, as far as the
tools of the server are known. One that is shown the arguments of calls is not asked: its
answer depends on them. If a policy wants a person to be asked, the client may not make the
call by itself, and the exit code is 6.

CLIENT is what a client calls itself, or principal:NAME, or command, bridge, gateway or
control, the ways to call; a comma joins what is all true of one caller. TOOL is SERVER/TOOL,
prompt:SERVER/NAME or resource:SERVER/URI.`,
		Example: "  wharf acl check claude-code demo/echo\n  wharf acl check principal:ci,bridge prompt:demo/greet",
		Args:    exactly("CLIENT", "TOOL"), ValidArgsFunction: a.completeAccess,
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.checkAccess(cmd.Context(), words[0], words[1])
		},
	})
	return cmd
}

// access is how the JSON output shows whether a call is allowed.
type access struct {
	Client    string `json:"client,omitempty"`    // what it calls itself
	Principal string `json:"principal,omitempty"` // who has proven to be there; absent for the user who runs wharf
	Kind      string `json:"kind"`                // the way to call: command, bridge, gateway or control
	Call      string `json:"call"`                // what is called, as a rule names it
	Allow     bool   `json:"allow"`
	Ask       bool   `json:"ask,omitempty"`    // a person is asked whether it may
	Rule      string `json:"rule"`             // what decides
	Reason    string `json:"reason,omitempty"` // more about it

	Policies []policySays `json:"policies,omitempty"` // the policy plugins that are asked about each call, if the rules allow it
}

// policySays is how the JSON output shows what a policy plugin says.
type policySays struct {
	Policy  string `json:"policy"`           // its table
	Verdict string `json:"verdict"`          // allow, deny or ask; arguments if it depends on the arguments of each call
	Reason  string `json:"reason,omitempty"` // why
}

// deniedCall is the error of a call that is not allowed.
type deniedCall struct{ text string }

func (e *deniedCall) Error() string       { return e.text }
func (e *deniedCall) ExitKind() exit.Kind { return exit.Kind{Code: exit.CodeDenied, Name: "denied"} }

// checkAccess prints whether a client may call something, and the rule that decides.
func (a *app) checkAccess(ctx context.Context, client, target string) error {
	caller, err := readCaller(client)
	if err != nil {
		return exit.Usage(err, "CLIENT is what a client calls itself, principal:NAME, or one of command, bridge, gateway and control; for several callers, check each by itself")
	}
	call, err := policy.ParseCall(target)
	if err != nil {
		return exit.Usage(err, "TOOL is SERVER/TOOL, prompt:SERVER/NAME or resource:SERVER/URI")
	}
	s, err := a.load()
	if err != nil {
		return err
	}
	server, found := s.find(call.Server)
	if !found {
		return s.unknownServer(call.Server, serversHint)
	}
	a.warnUnread(s)
	rules, err := s.rules()
	if err != nil {
		return err
	}
	call.Caller = &caller
	d := host.Decide(ctx, &server, []policy.Decider{rules}, &call)
	var foreseen []host.Foreseen
	if d.Allow && len(s.policies) > 0 {
		if foreseen, err = a.foresee(ctx, server, call); err != nil {
			return err
		}
	}
	for _, f := range foreseen {
		if denies := !f.ByArguments && !f.Allow; denies && (d.Allow || d.Ask && !f.Ask) { // a denial comes before a question
			d = f.Decision
		}
	}
	return a.printAccess(&call, d, foreseen)
}

// foresee asks the policy plugins about a call.
func (a *app) foresee(ctx context.Context, server host.Server, call policy.Call) ([]host.Foreseen, error) {
	h, err := a.newHost(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	session, err := h.Add(server)
	if err != nil {
		return nil, err
	}
	return session.Foresee(ctx, call), nil
}

// printAccess prints what is decided on a call. Its error is that the call is denied.
func (a *app) printAccess(call *policy.Call, d policy.Decision, foreseen []host.Foreseen) (err error) {
	out := access{call.Caller.Name, call.Caller.Principal, string(call.Caller.Kind), call.String(), d.Allow, d.Ask, d.Rule, d.Reason, nil}
	text := fmt.Sprintf("%s may call %s: %s\n", plain.Line(call.Caller.String()), plain.Line(call.String()), plain.Line(d.Rule))
	for _, f := range foreseen {
		says, verdict := "allows it", "allow"
		switch {
		case f.ByArguments:
			says, verdict = "is asked about each call too; what it says depends on the arguments", "arguments"
		case f.Ask:
			verdict = "ask"
		case !f.Allow:
			verdict = "deny"
		}
		out.Policies = append(out.Policies, policySays{f.Policy, verdict, f.Reason})
		text += plain.Line(f.Policy) + " " + says + "\n"
	}
	if !a.forPeople() {
		err = a.PrintJSON(out)
	} else if d.Allow {
		err = a.Print(a.paragraph(text, 0))
	}
	if err != nil || d.Allow {
		return err
	}
	why := d.Rule
	if d.Reason != "" {
		why += "; " + d.Reason
	}
	unless := ""
	if d.Ask {
		unless = " unless a person says yes"
	}
	return exit.WithHint(&deniedCall{fmt.Sprintf("%s may not call %s%s: %s", call.Caller.String(), call.String(), unless, why)}, d.Hint)
}

// readCaller reads CLIENT. A call has one way, one client and one principal, so each is given once at most.
func readCaller(text string) (c policy.Caller, err error) {
	ways := []policy.Kind{policy.Command, policy.Bridge, policy.Gateway, policy.Control}
	for word := range strings.SplitSeq(text, ",") {
		into, value := &c.Name, word
		switch what, name, found := strings.Cut(word, ":"); {
		case word == "", found && name == "" && (what == "principal" || what == "client"):
			return c, errors.New("a word or a name of CLIENT is empty")
		case word == "local": // the user, as every caller without a principal
			continue
		case slices.Contains(ways, policy.Kind(word)):
			into = (*string)(&c.Kind)
		case found && what == "principal":
			into, value = &c.Principal, name
		case found && what == "client":
			value = name
		}
		if *into != "" {
			return c, fmt.Errorf("CLIENT has %s and %s, and one caller cannot be both", cleantext.Word(*into), cleantext.Word(value))
		}
		*into = value
	}
	c.Kind = cmp.Or(c.Kind, policy.Gateway)
	return c, nil
}
