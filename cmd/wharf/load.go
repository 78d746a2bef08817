package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

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

// warnOf tells what of the configuration is not used. A project may have written
// most of such a line.
func (a *app) warnOf(s *settings) {
	for _, warning := range s.warnings {
		a.Warn("%s", plain.Clip(plain.Line(warning), warningLetters))
	}
}

// warningLetters is how much of a warning about a file is printed.
const warningLetters = 1000

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

// reload reads the configuration again. One that cannot be read changes nothing:
// the person is told why, and what there was goes on.
func (a *app) reload() (*settings, bool) {
	before := a.settings
	a.settings = nil
	s, err := a.load()
	if err != nil {
		a.settings = before
		a.Warn("not reloaded: %v", err)
		return nil, false
	}
	a.watcher.follow(s)
	a.warnOf(s)
	return s, true
}
