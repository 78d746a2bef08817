package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/policy"
)

func newACL(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acl",
		Short: "Say who may call what",
		Long: `Say who may call what, by the tables [access.NAME] of your configuration, by those of the
project around the working folder, and by the tools that entries of servers enable or
disable. They hold for every way to call: this command, wharf bridge, wharf serve, and
editors.`,
		Args: cobra.ArbitraryArgs,
		RunE: runGroup,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check CLIENT TOOL",
		Short: "Say whether a client may call a tool, and which rule decides",
		Long: `Say whether a client may call a tool, and which rule decides. It starts no server, and
does not look whether the server has the tool. The exit code is 6 if it may not.

CLIENT is what a client calls itself, or principal:NAME, or command, bridge, gateway or
control, the ways to call; a comma joins several of them. TOOL is SERVER/TOOL,
prompt:SERVER/NAME or resource:SERVER/URI.`,
		Example: "  wharf acl check claude-code demo/echo\n  wharf acl check principal:ci,bridge prompt:demo/greet",
		Args:    exactly("CLIENT", "TOOL"),
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
	Rule      string `json:"rule"`             // what decides
	Reason    string `json:"reason,omitempty"` // more about it
}

// deniedCall is the error of a call that is not allowed.
type deniedCall struct{ text string }

func (e *deniedCall) Error() string       { return e.text }
func (e *deniedCall) ExitKind() exit.Kind { return exit.Kind{Code: exit.CodeDenied, Name: "denied"} }

// checkAccess prints whether a client may call something, and the rule that decides.
func (a *app) checkAccess(ctx context.Context, client, target string) error {
	caller, err := readCaller(client)
	if err != nil {
		return exit.Usage(err, "CLIENT is what a client calls itself, principal:NAME, or one of command, bridge, gateway and control")
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
	rules, err := s.rules()
	if err != nil {
		return err
	}
	call.Caller = &caller
	d := host.Decide(ctx, &server, []policy.Decider{rules}, &call)
	if !a.forPeople() {
		err = a.PrintJSON(access{caller.Name, caller.Principal, string(caller.Kind), call.String(), d.Allow, d.Rule, d.Reason})
	} else if d.Allow {
		err = a.Print(fmt.Sprintf("%s may call %s: %s\n", plain.Line(caller.String()), plain.Line(call.String()), plain.Line(d.Rule)))
	}
	if err != nil || d.Allow {
		return err
	}
	why := d.Rule
	if d.Reason != "" {
		why += "; " + d.Reason
	}
	return &deniedCall{fmt.Sprintf("%s may not call %s: %s", caller.String(), call.String(), why)}
}

// readCaller reads CLIENT.
func readCaller(text string) (c policy.Caller, err error) {
	for word := range strings.SplitSeq(text, ",") {
		what, name, found := strings.Cut(word, ":")
		switch kind := policy.Kind(word); kind {
		case policy.Command, policy.Bridge, policy.Gateway, policy.Control:
			c.Kind = kind
			continue
		}
		switch {
		case found && what == "principal" && name != "":
			c.Principal = name
		case found && what == "client" && name != "":
			c.Name = name
		case word == "":
			return c, errors.New("a word of CLIENT is empty")
		default:
			c.Name = word
		}
	}
	c.Kind = cmp.Or(c.Kind, policy.Gateway)
	return c, nil
}

// rules returns who may call what, by the configuration and the files of the project. A file that was named
// is the only one that counts.
func (s *settings) rules() (*policy.Rules, error) {
	r, err := policy.New(s.access, s.narrowed()...)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("configuration: %w", err), "")
	}
	return r, nil
}

// narrowed returns the tables of the project around the working folder.
func (s *settings) narrowed() [][]policy.Table {
	if s.chosen {
		return nil
	}
	return config.DiscoverAccess(cmp.Or(s.folder, "."))
}
