package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// settings are the servers and plugins that a command line can use.
type settings struct {
	path     string // the file they come from; "" = there is none
	servers  []host.Server
	plugins  map[string]config.Plugin
	warnings []string
}

// load reads the configuration at the first call: the file of --config, or the
// user's own where there is one. A file of the working folder is never read by
// itself. The server demo is added, unless the file has one of that name.
func (a *app) load() (*settings, error) {
	if a.settings != nil {
		return a.settings, nil
	}
	s, err := readSettings(a.flags.config)
	if err != nil {
		return nil, err
	}
	if !s.has(demoName) {
		demo, err := demoServer()
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, demo)
	}
	a.settings = s
	return s, nil
}

func readSettings(path string) (*settings, error) {
	chosen := path != ""
	if !chosen {
		own, err := config.UserPath()
		if err != nil {
			return &settings{}, nil // no home, no file
		}
		path = own
	}
	file, err := config.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !chosen:
		return &settings{}, nil
	case err != nil:
		return nil, usage(fmt.Errorf("configuration: %w", err), "")
	}
	return &settings{path: path, servers: file.Servers, plugins: file.Plugins, warnings: file.Warnings}, nil
}

func (s *settings) find(name string) (host.Server, bool) {
	for _, server := range s.servers {
		if server.Name == name {
			return server, true
		}
	}
	return host.Server{}, false
}

func (s *settings) has(name string) bool {
	_, found := s.find(name)
	return found
}

func (s *settings) names() []string {
	names := make([]string, len(s.servers))
	for i, server := range s.servers {
		names[i] = server.Name
	}
	return names
}

// place says which file the servers come from, or where they would be looked
// for.
func (s *settings) place() string {
	if s.path != "" {
		return s.path
	}
	own, err := config.UserPath()
	if err != nil {
		return "none: " + err.Error()
	}
	return own + " (not there)"
}

// warn tells what of the configuration is not used.
func (s *settings) warn(to io.Writer) {
	for _, warning := range s.warnings {
		fmt.Fprintln(to, "warning:", plain(warning))
	}
}
