package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// protocols are the revisions of MCP that the host speaks, newest first.
var protocols = []string{
	mcp.Version20260728, mcp.Version20251125, mcp.Version20250618, mcp.Version20250326, mcp.Version20241105,
}

// versionInfo is what `wharf version` prints.
type versionInfo struct {
	ABI       string   `json:"abi"`
	Commit    string   `json:"commit,omitempty"` // that it was built from, where Go recorded it
	Date      string   `json:"date,omitempty"`   // of that commit
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Protocols []string `json:"protocols"`
	Version   string   `json:"version"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the versions of the program, its ABI and the protocol",
		Args:              exactly(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			commit, date := ownCommit()
			v := versionInfo{abi.Module, commit, date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, protocols, release.Version()}
			if !a.forPeople() {
				return a.PrintJSON(v)
			}
			facts := [][2]string{{"wharf", v.Version}}
			if commit != "" {
				facts = append(facts, [2]string{"commit", v.Commit + " " + v.Date})
			}
			facts = append(facts, [][2]string{{"go", v.Go + " " + v.Platform}, {"abi", v.ABI}, {"protocol", strings.Join(v.Protocols, ", ")}}...)
			return a.printFacts(facts)
		},
	}
}

// ownCommit returns the commit that the program was built from and its date, where it was
// built in a clone.
func ownCommit() (commit, date string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		}
	}
	return commit, date
}
