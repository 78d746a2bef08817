package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/plugintest"
)

// testOptions are the flags of `wharf plugin test`.
type testOptions struct {
	profile  string
	settings []string
	only     []string
	own      []string
	recorded []string
	full     bool
	text     bool
}

const pluginTestLong = `Test a plugin against the conformance kit. Of a transport: the points of the
community's proposal for pluggable transports, what goes wrong between a host
and a server, what the plugin uses, and whether it always does the same. No
server is needed, and nothing outside the sandbox is touched.

The kit finds out by itself how messages look on the wire, for MCP's own ways
and for any framing that is the same in both directions. Where it cannot, it
says so; a profile then describes the wire (host/plugintest/README.md).

An auth provider is signed in with, in a world that is made up: what its settings
are, what is answered, and what a person does can stand in a profile too. A real
sign-in that was recorded (wharf --record FILE login SERVER) is run again with
--recording, without a network.

A policy is asked about calls of all kinds; what it has to answer stands in a profile.
The exit code is 2 when the plugin does not pass.`

func newPluginTest(a *app) *cobra.Command {
	var t testOptions
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Test a plugin against the conformance kit",
		Long:  pluginTestLong,
		Args:  exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPluginTest(cmd, args[0], &t)
		},
	}
	cmd.Flags().StringVar(&t.profile, "profile", "", "what the wire looks like, what is around a sign-in, or what a policy has to say, in a `FILE`")
	cmd.Flags().StringArrayVar(&t.settings, "setting", nil, "a setting of the server entry, as `KEY=VALUE`; may be given more than once")
	cmd.Flags().StringSliceVar(&t.only, "only", nil, "make these checks alone, by their `IDS`")
	cmd.Flags().StringArrayVar(&t.own, "scenario", nil, "play a scenario of one's own as well, from a `FILE`; may be given more than once")
	cmd.Flags().StringArrayVar(&t.recorded, "recording", nil, "run the sign-ins of a recording with an auth provider as well, from a `FILE` of --record; may be given more than once")
	cmd.Flags().BoolVar(&t.text, "text", false, "print the report for people, wherever it goes to")
	cmd.Flags().BoolVar(&t.full, "full", false, "show whole traces of what failed")
	return cmd
}

func (a *app) runPluginTest(cmd *cobra.Command, path string, t *testOptions) error {
	options, err := files.Until(cmd.Context(), func() (plugintest.Options, error) { return t.options(path) })
	if err != nil {
		return err
	}
	module, err := files.Read(cmd.Context(), path, pluginstore.MaxSize)
	if err != nil {
		return exit.Usage(err, "name the file of a plugin, which `wharf plugin build` makes")
	}
	report, err := plugintest.Run(cmd.Context(), module, options)
	if errors.As(err, new(*plugintest.OptionError)) {
		return exit.Usage(err, "")
	}
	if err != nil {
		return err
	}
	if err := a.printTestReport(report, t); err != nil {
		return err
	}
	if !report.OK {
		return exit.Usage(fmt.Errorf("plugin %s %s", path, report.Shortfall()), "")
	}
	return nil
}

// options returns the options of the kit.
func (t *testOptions) options(path string) (plugintest.Options, error) {
	o := plugintest.Options{Name: path, Worker: worker(), Settings: map[string]string{}, Only: t.only}
	for _, s := range t.settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return o, exit.Usage(fmt.Errorf("--setting %s: expected KEY=VALUE", s), "")
		}
		o.Settings[key] = value
	}
	for _, file := range t.own {
		s, err := plugintest.ReadScenario(file)
		if err != nil {
			return o, exit.Usage(err, "host/plugintest/README.md describes scenarios")
		}
		o.Scenarios = append(o.Scenarios, s)
	}
	for _, file := range t.recorded {
		r, err := plugintest.ReadRecording(file)
		if err != nil {
			return o, exit.Usage(err, "wharf --record FILE login SERVER records a sign-in; host/plugintest/README.md describes recordings")
		}
		o.Recordings = append(o.Recordings, r)
	}
	for _, id := range t.only {
		own := func(s *plugintest.Scenario) bool { return s.ID == id }
		if !plugintest.Known(id) && !slices.ContainsFunc(o.Scenarios, own) {
			return o, exit.Usage(fmt.Errorf("--only: there is no check called %q", id), "the report of all checks has their ids")
		}
	}
	if t.profile == "" {
		return o, nil
	}
	profile, err := plugintest.ReadProfile(t.profile)
	if err != nil {
		return o, exit.Usage(fmt.Errorf("profile: %w", err), "host/plugintest/README.md describes profiles")
	}
	o.Profile = profile
	return o, nil
}

// tracedLines is how much of each trace stands in a report for people.
const tracedLines = 24

func (a *app) printTestReport(r *plugintest.Report, t *testOptions) error {
	if !t.text && !a.forPeople() {
		return a.PrintJSON(r)
	}
	if t.full {
		return a.printLaidOut(r.Text(0))
	}
	return a.printLaidOut(r.Text(tracedLines))
}
