package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say how Wharf is set up on this machine",
		Long: `Say how Wharf is set up on this machine: which files it reads and keeps, and
what keeps your secrets. Nothing is started, and no secret is shown. The exit code
is 2 when it finds a problem.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDoctor(cmd) },
	}
}

// finding is one thing that was checked.
type finding struct {
	What    string `json:"what"`
	Value   string `json:"value"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) runDoctor(cmd *cobra.Command) error {
	findings := []finding{{What: "platform", Value: runtime.GOOS + "/" + runtime.GOARCH}}
	s, err := a.load()
	if err != nil {
		findings = append(findings, finding{"configuration", a.flags.config, err.Error()})
	} else {
		findings = append(findings, finding{What: "configuration", Value: s.place()},
			finding{What: "servers", Value: fmt.Sprint(len(s.servers))})
	}
	if err == nil {
		s.project()
		a.warnOf(s)
		a.noteOf(s)
	}
	findings = append(findings, cacheFinding(), a.vaultFinding())
	var problems problemError
	rows := plain.Table{{"WHAT", "IS"}}
	for _, f := range findings {
		value := f.Value
		if f.Problem != "" {
			problems = append(problems, f.What)
			value += ": " + f.Problem
		}
		rows = append(rows, []string{f.What, plain.Line(value)})
	}
	if err := a.printList(findings, rows); err != nil || len(problems) == 0 {
		return err
	}
	return problems
}

// problemError names what has a problem.
type problemError []string

func (e problemError) Error() string { return "there is a problem with: " + strings.Join(e, ", ") }

// Is gives it the exit code of a configuration error.
func (e problemError) Is(target error) bool { return target == host.ErrConfig }

func cacheFinding() finding {
	dir, err := host.DefaultCacheDir()
	if err != nil {
		return finding{"cache", "none", err.Error()}
	}
	f := finding{What: "cache", Value: dir}
	if err := host.CheckCache(dir); err != nil {
		f.Problem = err.Error()
	}
	return f
}

func (a *app) vaultFinding() finding {
	v, err := a.vault()
	if err != nil {
		return finding{"vault", "none", err.Error()}
	}
	status := v.Status()
	problem := status.Problem
	status.Problem = ""
	return finding{"vault", vaultLine(status), problem}
}
