package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trust"
)

// trustCommand returns a command that runs on the user's decisions.
func (a *app) trustCommand(use, short string, names []string, run func(context.Context, *trust.Store, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: exactly(names...),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.trust()
			if err != nil {
				return err
			}
			return run(cmd.Context(), t, args)
		},
	}
	if len(names) > 0 {
		cmd.ValidArgsFunction = a.completeServers
	}
	return cmd
}

// trust returns the store of the user's decisions.
func (a *app) trust() (*trust.Store, error) {
	s, err := a.load()
	if err != nil {
		return nil, err
	}
	dir, err := trust.DefaultDir()
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("find the folder for approvals: %w", err), "approvals are kept in your own configuration folder")
	}
	return trust.Open(dir, s.plugins), nil
}

// selectProject returns the servers of this project that a word names: one server, or
// all of a file.
func (s *settings) selectProject(word string) ([]host.Server, error) {
	if server, found := among(s.servers, word); found {
		return nil, exit.Usage(fmt.Errorf("%s is a server of your own, and needs no approval", server.Name), "")
	}
	var servers []host.Server
	for _, server := range s.project() {
		if server.Name == word || samePath(server.Project.Path(), word) {
			servers = append(servers, server)
		}
	}
	if len(servers) == 0 {
		return nil, exit.Usage(fmt.Errorf("this project has no server and no file of servers %q", word), "`wharf trust list` shows what it has")
	}
	return servers, nil
}

// samePath reports whether a word names a path, as it is or through links.
func samePath(path, word string) bool {
	abs, err := filepath.Abs(word)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(abs)
	return path == abs || err == nil && path == real
}
