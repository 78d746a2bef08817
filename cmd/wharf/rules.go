package main

import (
	"cmp"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/policy"
)

// rules returns who may call what, by the configuration and the files of the project. A file that was named
// is the only one that counts.
func (s *settings) rules() (*policy.Rules, error) {
	r, err := policy.New(s.access, s.narrowed()...)
	if err != nil {
		return nil, exit.Configuration(fmt.Errorf("configuration: %w", err))
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
