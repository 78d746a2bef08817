package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/internal/nearest"
	"github.com/wharf-mcp/wharf/plugins"
)

// settings are the servers and plugins that a command line can use.
type settings struct {
	path       string                   // the file they come from; "" = it does not exist
	chosen     bool                     // the file was named: no other is read
	unread     error                    // why it is not known where the user's own file is; nil if it is
	servers    []host.Server            // the user's own
	demo       bool                     // the last of them is the demo, which stands in no file
	plugins    map[string]config.Plugin // of the file, and those that are installed
	lock       string                   // the lockfile of installed plugins; "" = it does not exist
	reconnect  config.Reconnect
	maxTimeout time.Duration
	access     []policy.Table  // who may call what, by the file
	policies   []config.Policy // plugins that decide on calls
	audit      *config.Audit   // where calls are kept
	serve      *config.Serve   // how clients over HTTP are served; nil if the file does not say

	leftOut  map[string]error // what is wrong with servers of the file that cannot be used
	warnings []string
	notes    []string // what does no harm; for commands that look at the configuration itself

	outranked []string // installed plugins that are not used: wharf has a plugin of that name

	folder   string           // the working folder; "" is that of this process
	searched bool             // the files of the project were read
	projects []host.Server    // their servers
	behind   map[string]error // what is wrong with files of the project that may have one of them too, and would go first; by name
	refused  map[string]error // what is wrong with those of their servers that cannot be used; a line with the file
}

func settingsOf(path string) (*settings, error) {
	chosen := path != ""
	if !chosen {
		own, err := config.UserPath()
		if err != nil {
			return &settings{unread: err}, nil
		}
		path = own
	}
	file, err := config.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !chosen:
		return &settings{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.Usage(fmt.Errorf("configuration: there is no file %s", path), "%s", otherFile(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, exit.Usage(fmt.Errorf("configuration: %w", err), "`ls -ld %s` shows who may read it", plain.ShellWord(path))
	case err != nil && isFolder(path):
		return nil, exit.Usage(fmt.Errorf("configuration: %w", err), "%s", fileWithin(path))
	case err != nil:
		return nil, exit.Configuration(fmt.Errorf("configuration: %w", err))
	}
	return &settings{path: path, chosen: chosen, servers: file.Servers, plugins: file.Plugins, reconnect: file.Reconnect, maxTimeout: file.MaxTimeout, access: file.Access, policies: file.Policies, audit: file.Audit, serve: file.Serve, warnings: file.Warnings, leftOut: file.LeftOut, notes: file.Notes}, nil
}

// otherFile returns a hint for a path at which there is no file.
func otherFile(path string) string {
	folder, name := filepath.Split(path)
	if folder != "" && !isFolder(folder) {
		return fmt.Sprintf("there is no folder %s either", filepath.Clean(folder))
	}
	if near := nearest.Name(name, configurationsIn(folder), 2); near != "" {
		return fmt.Sprintf("did you mean %s?", folder+near)
	}
	if own, err := config.UserPath(); err == nil {
		return "without --config, wharf reads your own, " + own
	}
	return ""
}

// fileWithin returns a hint for a folder that was given in place of a file in it.
func fileWithin(folder string) string {
	for _, name := range configurationsIn(folder) {
		if path := filepath.Join(folder, name); config.IsNamed(path) {
			return "write --config " + plain.Word(path)
		}
	}
	return "no file in it is a configuration by its name"
}

// configurationsIn returns the files of a folder, "" being the current one, that are
// configurations by their endings.
func configurationsIn(folder string) (names []string) {
	entries, _ := os.ReadDir(cmp.Or(folder, "."))
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".toml", ".json", ".jsonc", ".yaml", ".yml":
			if !e.IsDir() {
				names = append(names, e.Name())
			}
		}
	}
	return names
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// project returns the servers of the project around the working folder, except those whose names
// the user's own servers have. A command may show them and ask about them; the host decides by
// the user's approvals which may be used.
func (s *settings) project() []host.Server {
	if s.searched || s.chosen {
		return s.projects
	}
	s.searched = true
	found := config.Discover(cmp.Or(s.folder, "."))
	servers, warnings := found.Beneath(s.servers)
	s.projects, s.behind, s.refused = servers, found.Behind, found.LeftOut
	for _, name := range found.Isolated {
		if s.plugins == nil {
			s.plugins = make(map[string]config.Plugin)
		}
		p := s.plugins[name]
		p.Name, p.Isolation = name, config.IsolationProcess
		s.plugins[name] = p
	}
	s.warnings = append(append(s.warnings, found.Warnings...), warnings...)
	s.notes = append(s.notes, found.Notes...)
	return s.projects
}

// find returns the server of that name. The user's own servers come first; the files of the
// project are read only if none of those has the name.
func (s *settings) find(name string) (host.Server, bool) {
	if server, found := among(s.servers, name); found {
		return server, true
	}
	return among(s.project(), name)
}

// isForeign reports whether the entry of a server is in the notation of another client.
func isForeign(server host.Server) bool { return server.Longer("max_timeout", 0) == "" }

func among(servers []host.Server, name string) (host.Server, bool) {
	i := slices.IndexFunc(servers, func(s host.Server) bool { return s.Name == name })
	if i < 0 {
		return host.Server{}, false
	}
	return servers[i], true
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

// shown returns the servers for a command that takes all: the user's own and those of the
// project.
func (s *settings) shown() []host.Server { return slices.Concat(s.own(), s.project()) }

// own returns the user's own servers. It has the demo only if there is no other server, in the
// project neither, because the demo is for a person who has none yet.
func (s *settings) own() []host.Server {
	if s.demo && len(s.servers)+len(s.project()) > 1 {
		return s.servers[:len(s.servers)-1]
	}
	return s.servers
}

// wanted returns the servers of shown that are enabled.
func (s *settings) wanted() []host.Server {
	return slices.DeleteFunc(s.shown(), func(server host.Server) bool { return server.Disabled })
}

// place names the file that the servers come from, or would come from. It is "none" if unread says why.
func (s *settings) place() string {
	if s.path != "" {
		return s.path
	}
	own, err := config.UserPath()
	if err != nil {
		return "none"
	}
	return own + " (not there)"
}

// addInstalled adds the installed plugins to those of the configuration, which override
// them. A lockfile that cannot be read is an error: without it, a plugin would be
// missing or its hash unchecked.
func (s *settings) addInstalled() error {
	store, err := openStore()
	if err != nil {
		if s.path != "" { // else it is told that there is no configuration
			s.warnings = append(s.warnings, fmt.Sprintf("installed plugins are not used: %v", err))
		}
		return nil
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
		if s.plugins[p.Name].File == "" { // else the one of the configuration is used
			s.outranked = append(s.outranked, p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.plugins)) {
		p := s.plugins[name]
		if installed := files[name]; p.File == "" { // the entry only says where the plugin runs
			installed.Name, installed.Isolation = name, p.Isolation
			p = installed
		}
		if builtin := plugins.Builtin(); p.File == "" && builtin[name] == nil {
			s.warnings = append(s.warnings, fmt.Sprintf("%s: plugin %s: isolation does nothing, since no plugin is called that; there are %s",
				s.path, name, strings.Join(slices.Sorted(maps.Keys(builtin)), ", ")))
		}
		files[name] = p
	}
	s.plugins = files
	if _, err := os.Stat(store.Lockfile()); err == nil {
		s.lock = store.Lockfile()
	}
	return nil
}

// files returns the paths of the files that the settings were read from or refer to.
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

// nameConfiguration is the hint where it is not known where the user's own file is.
const nameConfiguration = "name a file with --config, or set the variable to a whole path"

// serversHint is the hint of an unknown name.
const serversHint = "`wharf servers` lists the servers"

// misspelt returns the note about a key of a server that looks like a misspelt form of another, or "".
func (s *settings) misspelt(server string) string {
	for _, note := range s.notes {
		if strings.Contains(note, ": server "+server+": ") && strings.Contains(note, "did you mean") {
			return note
		}
	}
	return ""
}

// whyLeftOut returns the error for a name of which there is an entry that cannot be used, or nil.
func (s *settings) whyLeftOut(name string) error {
	wrong := s.leftOut[name]
	if wrong != nil {
		wrong = fmt.Errorf("%s: %w", s.path, wrong)
	} else if s.project(); s.refused[name] != nil {
		wrong = s.refused[name]
	} else {
		return nil
	}
	return exit.Configuration(fmt.Errorf("server %q was left out of %w", name, wrong))
}

// unknownServer is the error for an unknown name, with the name that was probably meant, or else a hint.
func (s *settings) unknownServer(name, hint string) error {
	if err := s.whyLeftOut(name); err != nil {
		return err
	}
	err := fmt.Errorf("unknown server %q", name)
	if near := meant(name, s.names()); near != "" {
		return exit.Usage(err, "did you mean %q?", near)
	}
	if strings.ContainsAny(name, ":/") {
		return exit.Usage(err, "an address begins with http:// or https://; `wharf servers` lists the names")
	}
	return s.notFound(err, hint)
}

// notFound is the error for a name that nothing has, with a hint. If it is not known where the user's own file
// is, that is the reason, and its hint counts.
func (s *settings) notFound(err error, hint string) error {
	if s.unread != nil {
		return exit.WithHint(exit.Configuration(fmt.Errorf("%w, as no configuration is read: %w", err, s.unread)), nameConfiguration)
	}
	return exit.Usage(err, "%s", hint)
}

// from returns the file that an entry comes from.
func (s *settings) from(server host.Server) string {
	if server.Project != nil {
		return server.Project.Path()
	}
	return s.path
}
