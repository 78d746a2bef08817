package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// settings are the servers and plugins that a command line can use.
type settings struct {
	path     string                   // the file they come from; "" = there is none
	chosen   bool                     // the file was named: nothing else is looked at
	servers  []host.Server            // the user's own
	plugins  map[string]config.Plugin // of the file, and those that are installed
	lock     string                   // of those that are installed; "" = there are none
	warnings []string

	outranked []string // installed plugins whose name is that of a plugin of wharf's

	searched bool          // the files of the project were read
	projects []host.Server // what stands in them, and nobody has written here
}

// load reads the configuration at the first call: the file of --config, or the
// user's own where there is one. The server demo is added, unless the file has one
// of that name. What came with a project is read only when it is asked for, see
// [settings.project].
func (a *app) load() (*settings, error) {
	if a.settings != nil {
		return a.settings, nil
	}
	s, err := a.readSettings()
	if err == nil {
		err = s.addInstalled()
	}
	if err != nil {
		return nil, err
	}
	a.warnOutranked(s.outranked)
	if _, taken := among(s.servers, demoName); !taken {
		demo, err := demoServer()
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, demo)
	}
	a.settings = s
	return s, nil
}

// readSettings reads the file, until the program is interrupted.
func (a *app) readSettings() (*settings, error) {
	ctx := cmp.Or(a.Life, context.Background())
	return files.Until(ctx, func() (*settings, error) { return settingsOf(a.flags.config) })
}

func settingsOf(path string) (*settings, error) {
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
		return nil, exit.Usage(fmt.Errorf("configuration: %w", err), "")
	}
	return &settings{path: path, chosen: chosen, servers: file.Servers, plugins: file.Plugins, warnings: file.Warnings}, nil
}

// project returns the servers of the project that one stands in, beneath the
// user's own. They are names to show and to ask about: what may be used of them
// the host decides, by what the user has approved of.
func (s *settings) project() []host.Server {
	if s.searched || s.chosen {
		return s.projects
	}
	s.searched = true
	found := config.Discover(".")
	servers, warnings := found.Beneath(s.servers)
	s.projects = servers
	for _, name := range found.Isolated {
		s.isolate(name)
	}
	s.warnings = append(append(s.warnings, found.Warnings...), warnings...)
	return s.projects
}

// isolate has a plugin run in a process of its own.
func (s *settings) isolate(name string) {
	p := s.plugins[name]
	p.Name, p.Isolation = name, config.IsolationProcess
	if s.plugins == nil {
		s.plugins = make(map[string]config.Plugin)
	}
	s.plugins[name] = p
}

// find looks among the user's own servers first: a project is not even read for
// one of those.
func (s *settings) find(name string) (host.Server, bool) {
	if server, found := among(s.servers, name); found {
		return server, true
	}
	return among(s.project(), name)
}

func among(servers []host.Server, name string) (host.Server, bool) {
	for _, server := range servers {
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
	var names []string
	for _, server := range slices.Concat(s.servers, s.project()) {
		names = append(names, server.Name)
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

// warnOf tells what of the configuration is not used. A project may have written
// most of such a line.
func (a *app) warnOf(s *settings) {
	for _, warning := range s.warnings {
		a.Warn("%s", plain.Clip(plain.Line(warning), warningLetters))
	}
}

// warningLetters is how much of a warning about a file is printed.
const warningLetters = 1000

// addInstalled adds what the user installed to the plugins of a configuration,
// whose own go before. A lock that cannot be read is an error: without it, one
// would use a plugin that nobody pinned, or miss one.
func (s *settings) addInstalled() error {
	store, err := openStore()
	if err != nil {
		return nil // no home, no plugins
	}
	files, err := store.Files()
	if err != nil {
		return err
	}
	outranked, err := store.Outranked()
	if err != nil {
		return err
	}
	for _, p := range outranked {
		if s.plugins[p.Name].File == "" { // else neither of them is used
			s.outranked = append(s.outranked, p.Name)
		}
	}
	for name, p := range s.plugins {
		if installed := files[name]; p.File == "" { // it only says where the plugin runs
			installed.Name, installed.Isolation = name, p.Isolation
			p = installed
		}
		files[name] = p
	}
	s.plugins = files
	if _, err := os.Stat(store.Lockfile()); err == nil {
		s.lock = store.Lockfile()
	}
	return nil
}

// warnOutranked tells of installed plugins that are not used, once of each.
func (a *app) warnOutranked(names []string) {
	for _, name := range names {
		if slices.Contains(a.outranked, name) {
			continue
		}
		a.outranked = append(a.outranked, name)
		a.Warn("the installed plugin %s is not used: wharf has a plugin of that name now. To give it another name, "+
			"`wharf plugin remove %[1]s`, and add it again with --name", name)
	}
}

// files are what the settings were read from and refer to.
func (s *settings) files() []string {
	var paths []string
	if path, err := config.UserPath(); s.path != "" {
		paths = append(paths, s.path)
	} else if err == nil {
		paths = append(paths, path) // it may appear
	}
	if s.lock != "" {
		paths = append(paths, s.lock)
	}
	for _, p := range s.plugins {
		if p.File != "" {
			paths = append(paths, p.File)
		}
	}
	slices.Sort(paths)
	return paths
}
