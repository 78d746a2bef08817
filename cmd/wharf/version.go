package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// protocols are the revisions of MCP that the host speaks, newest first.
var protocols = []string{
	mcp.Version20260728, mcp.Version20251125, mcp.Version20250618, mcp.Version20250326, mcp.Version20241105,
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program, its ABI and the protocol",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			if !a.forPeople() {
				return a.PrintJSON(map[string]any{
					"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
					"abi": abi.Module, "protocols": protocols,
				})
			}
			return a.Print(fmt.Sprintf("wharf     %s\ngo        %s %s/%s\nabi       %s\nprotocol  %s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, abi.Module, strings.Join(protocols, ", ")))
		},
	}
}

// version is that of the module the program was built from: a release for
// `go install …@v1.2.3`, and (devel) for a build from a working tree.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
