package main

import (
	"context"
	"fmt"
	"os"
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
		cmd.ValidArgsFunction = a.completeProject
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
	isNamed := sameAs(word)
	for _, server := range s.project() {
		if server.Name == word || isNamed(server.Project.Path()) {
			servers = append(servers, server)
		}
	}
	if err := s.whyLeftOut(word); len(servers) == 0 && err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, exit.Usage(fmt.Errorf("this project has no server and no file of servers %q", word), "`wharf trust list` shows what it has")
	}
	return servers, nil
}

// sameAs returns a function that reports whether a path is the one that a word names, as it
// is or through links. A link that the system does not follow to its end is not resolved.
func sameAs(word string) func(path string) bool {
	abs, err := filepath.Abs(word)
	if err != nil {
		return func(string) bool { return false }
	}
	real := abs
	if _, err := os.Stat(abs); err == nil {
		real, _ = filepath.EvalSymlinks(abs)
	}
	return func(path string) bool { return path == abs || path == real }
}
