package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
)

// load reads the configuration at the first call: the file of --config, or else the
// user's own, which need not exist. It adds the server demo, unless the file has a
// server of that name or hides it. Files of a project are read later, by [settings.project].
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
	s.folder = a.folder
	a.warnOutranked(s.outranked)
	own, taken := among(s.servers, demoName)
	switch {
	case taken && own.Disabled && own.Via() == "": // it names no server of its own
		s.servers = slices.DeleteFunc(s.servers, func(server host.Server) bool { return server.Name == demoName })
		if s.leftOut == nil {
			s.leftOut = make(map[string]error)
		}
		s.leftOut[demoName] = errDemoHidden
	case !taken:
		demo, err := demoServer()
		if err != nil {
			return nil, err
		}
		s.servers, s.demo = append(s.servers, demo), true
	}
	a.settings = s
	return s, nil
}

// errDemoHidden is why the demo server cannot be used where an entry of its name is disabled.
var errDemoHidden = errors.New("its entry is disabled, and hides it")

// readSettings reads the file. It ends when the program is interrupted.
func (a *app) readSettings() (*settings, error) {
	ctx := cmp.Or(a.Life, context.Background())
	return files.Until(ctx, func() (*settings, error) { return settingsOf(a.flags.config) })
}

// warnOf warns of what is wrong with the configuration. Warnings are clipped, because a
// project may have written most of their text.
func (a *app) warnOf(s *settings) {
	for _, warning := range s.warnings {
		a.Warn("%s", plain.Clip(plain.Line(warning), warningLetters))
	}
}

// warnUnread warns that a command goes on without the user's own file. Its rules would hold for servers of
// a project, and for those that are given on the spot.
func (a *app) warnUnread(s *settings) {
	if s.unread != nil {
		a.Warn("no configuration is read, so that none of its rules holds and no call is kept: %v; %s", s.unread, nameConfiguration)
	}
}

// noteOf reports harmless parts of the configuration that mean nothing here.
func (a *app) noteOf(s *settings) {
	if a.Quiet {
		return
	}
	for _, note := range s.notes {
		a.Tell(term.Dim, "note:", plain.Clip(plain.Line(note), warningLetters), "")
	}
}

// warningLetters is how much of a warning about a file is printed.
const warningLetters = 1000

// warnOutranked warns of installed plugins that are not used, once of each.
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

// reload reads the configuration again. If it cannot be read, the user is told why and
// the settings stay as they are.
func (a *app) reload() (*settings, bool) {
	before := a.settings
	a.settings = nil
	s, err := a.load()
	if err != nil {
		a.settings = before
		a.Warn("not reloaded: %v", err)
		a.watcher.unread = true
		return nil, false
	}
	if a.watcher.unread {
		a.watcher.unread = false
		a.Tell(term.Dim, "note:", "the configuration is reloaded", "")
	}
	a.watcher.follow(s)
	a.warnOf(s)
	return s, true
}
