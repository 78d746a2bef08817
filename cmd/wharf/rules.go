package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/policy"
)

// rules returns who may call what, by the configuration and the files of the project. A file that was named
// is the only one that counts.
func (s *settings) rules() (*policy.Rules, error) {
	r, err := s.readRules()
	if err != nil {
		return nil, err
	}
	return r.Rules, nil
}

// readRules are rules, and the tables that they were made of.
type readRules struct {
	*policy.Rules
	tables [][]policy.Table
}

// readRules returns the rules. While a project's file that may have some cannot be read, the error is a
// [narrowingError], and the rules deny everything.
func (s *settings) readRules() (*readRules, error) {
	narrowed, unread := s.narrowed()
	if unread != nil {
		narrowed = [][]policy.Table{{{Name: "unread", Match: []string{"*"}, Deny: []string{"*"}, Place: "a file of the project cannot be read"}}}
		unread = exit.WithHint(exit.Configuration(fmt.Errorf("configuration: %w", narrowingError{unread})),
			"the file may have rules about who may call what, which hold only when it can be read: mend it")
	}
	r, err := policy.New(s.access, narrowed...)
	if err != nil {
		return nil, exit.Configuration(fmt.Errorf("configuration: %w", err))
	}
	return &readRules{r, append(narrowed, s.access)}, unread
}

// narrowingError is the error of a project's file that may have rules and cannot be read.
type narrowingError struct{ error }

func (e narrowingError) Unwrap() error { return e.error }

// standing is the warning of a program that runs while the configuration has a mistake. where is " in FOLDER", or "".
func standing(where string, mistake error) string {
	if errors.As(mistake, new(narrowingError)) {
		return fmt.Sprintf("nothing may be called%s: %v", where, mistake)
	}
	return fmt.Sprintf("who may call what%s is as before: %v", where, mistake)
}

// denies reports whether the rules deny a tool of a server to a command.
func (s *settings) denies(server host.Server, tool string) bool {
	rules, err := s.rules()
	return err == nil && denies(rules, server, policy.Tool, tool)
}

// denies reports whether the entry of a server or a rule denies a command something of the server.
func denies(rules *policy.Rules, server host.Server, target policy.Target, name string) bool {
	call := policy.Call{Caller: &policy.Caller{Kind: policy.Command}, Server: server.Name, Target: target, Name: name, Listed: true}
	return !host.Decide(context.Background(), &server, []policy.Decider{rules}, &call).Allow
}

// narrowed returns the tables of the project around the working folder. The error is that of a file which has such
// tables, and cannot be read.
func (s *settings) narrowed() ([][]policy.Table, error) {
	if s.chosen {
		return nil, nil
	}
	return config.DiscoverAccess(cmp.Or(s.folder, "."))
}

// narrowing returns the paths of the files of the project that may have tables.
func (s *settings) narrowing() []string {
	if s.chosen {
		return nil
	}
	return config.AccessFiles(cmp.Or(s.folder, "."))
}
