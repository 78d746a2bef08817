package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/wharf-mcp/wharf/host/policy"
)

// Permits reports whether a tool of the server may be called: EnabledTools names it or is
// nil, and DisabledTools does not.
func (s *Server) Permits(tool string) bool {
	fits := func(pattern string) bool { return policy.Fits(pattern, tool) }
	return !slices.ContainsFunc(s.DisabledTools, fits) && (s.EnabledTools == nil || slices.ContainsFunc(s.EnabledTools, fits))
}

// DisabledByFile returns the DisabledTools that a project's file, and the settings in the project, have. Others are from
// the person's own settings of the client, and no part of what a person approves.
func (s *Server) DisabledByFile() []string {
	return slices.DeleteFunc(slices.Clone(s.DisabledTools), func(tool string) bool { return slices.Contains(s.denied, tool) })
}

// EnabledByFile is DisabledByFile for EnabledTools.
func (s *Server) EnabledByFile() []string {
	if s.enabledByFile != nil {
		return *s.enabledByFile
	}
	return s.EnabledTools
}

// Restrict makes the server also forbid all that another one forbids.
func (s *Server) Restrict(other Server) {
	s.Disabled = s.Disabled || other.Disabled
	for _, tool := range other.DisabledTools {
		if slices.Contains(s.DisabledTools, tool) {
			continue
		}
		s.DisabledTools = append(slices.Clip(s.DisabledTools), tool)
		if slices.Contains(other.denied, tool) {
			s.denied = append(slices.Clip(s.denied), tool)
		}
	}
	if s.enabledByFile != nil || other.enabledByFile != nil {
		byFile := inBoth(s.EnabledByFile(), other.EnabledByFile())
		s.enabledByFile = &byFile
	}
	s.EnabledTools = inBoth(s.EnabledTools, other.EnabledTools)
}

// restrictBeside is Restrict by an entry for the same server in another file of a project.
func (s *Server) restrictBeside(other Server, p Project) {
	before, remedies := *s, maps.Clone(s.remedies)
	if remedies == nil {
		remedies = make(map[string]string)
	}
	s.Restrict(other)
	for _, tool := range s.DisabledTools {
		if !slices.Contains(before.DisabledTools, tool) {
			remedies[tool] = cmp.Or(other.Remedy(tool), fmt.Sprintf("take %q out of the entry of %s in %s", tool, other.Name, p.Path()))
		}
	}
	if s.Disabled && !before.Disabled {
		remedies[""] = cmp.Or(other.Remedy(""), "enable it in "+p.Path())
	}
	s.remedies = remedies
}

// inBoth returns the patterns for what two lists of enabled tools permit. nil permits all; a list that is empty and not nil
// permits none.
func inBoth(mine, theirs []string) []string {
	switch {
	case mine == nil:
		return theirs
	case theirs == nil:
		return mine
	}
	a, b := Server{EnabledTools: mine}, Server{EnabledTools: theirs}
	both := slices.DeleteFunc(slices.Clone(mine), func(pattern string) bool { return !b.Permits(pattern) })
	for _, pattern := range theirs {
		if a.Permits(pattern) && !slices.Contains(both, pattern) {
			both = append(both, pattern)
		}
	}
	return both
}

// runsAs reports whether another entry starts or reaches the same, with the same values.
func (s *Server) runsAs(other Server) bool {
	return s.Command == other.Command && slices.Equal(s.Args, other.Args) && maps.Equal(s.Env, other.Env) && s.EnvFile == other.EnvFile &&
		s.URL == other.URL && maps.Equal(s.Headers, other.Headers) && s.Address == other.Address
}

// WithToolsOf returns the entry with the tools that another one permits. What [Server.ToolsKey] and [Server.Remedy] say
// of them is as of the other.
func (s Server) WithToolsOf(other *Server) Server {
	s.EnabledTools, s.DisabledTools, s.lines, s.remedies = other.EnabledTools, other.DisabledTools, other.lines, other.remedies
	return s
}

// ToolsKey returns the key that EnabledTools, or else DisabledTools, has in the entry's file. It
// returns "" if the file forbids tools outside of the entry.
func (s *Server) ToolsKey(enabled bool) string {
	keys, own := slices.Concat(foreignKeys.disabledTools, []string{"tools"}), "disabled_tools"
	if enabled {
		keys, own = foreignKeys.enabledTools, "enabled_tools"
	}
	if s.lines == nil { // it comes from no file
		return own
	}
	for _, key := range keys {
		if _, given := s.lines[key]; given {
			return key
		}
	}
	return ""
}

// NoSandbox says what it means that a server is [Server.Sandboxed].
const NoSandbox = "wharf starts the server outside of the sandbox that its client has for it"

// Sandboxed reports whether the client of the entry's file starts the server in a sandbox, which Wharf does not.
func (s *Server) Sandboxed() bool { return s.sandbox }

// Remedy returns what to change in the file of another client, which forbids something outside of the
// entry: tools, for a pattern of DisabledTools, or the server, for "". It returns "" if the file does not.
func (s *Server) Remedy(pattern string) string { return s.remedies[pattern] }
