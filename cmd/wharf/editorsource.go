package main

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
	"github.com/wharf-mcp/wharf/host/control"
)

// editorSource is the configuration of editors. Those that share servers get none of a project.
type editorSource struct {
	app     *app
	shared  bool
	first   *settings                     // those with which the host was made
	watcher atomic.Pointer[configWatcher] // nil while the files are not followed
	rules   liveRules                     // of the configuration that was read last
}

// read reads the configuration anew, and follows the files that it names now.
func (s *editorSource) read() (*control.Configuration, error) {
	a := s.app.inFolder(s.app.folder)
	now, err := a.load()
	if err != nil {
		return nil, err
	}
	now.searched = s.shared
	rules, err := now.readRules()
	if rules != nil {
		s.rules.now.Store(rules)
	}
	if err != nil {
		return nil, err
	}
	c := &control.Configuration{Plugins: now.plugins, Reconnect: now.reconnect, Access: rules.tables}
	for _, server := range now.shown() {
		c.Servers = append(c.Servers, a.flags.withTimeout(server))
	}
	c.Warnings, c.Restart = now.warnings, now.differing(s.first)
	s.watcher.Load().follow(now)
	return c, nil
}

// differing returns the keys at the top of the file in which the settings differ from others and that a host
// goes by as long as it is there. Of [serve] a host knows nothing.
func (s *settings) differing(other *settings) (keys []string) {
	if !reflect.DeepEqual(s.audit, other.audit) {
		keys = append(keys, "audit")
	}
	if s.maxTimeout != other.maxTimeout {
		keys = append(keys, "max_timeout")
	}
	samePolicy := func(a, b config.Policy) bool {
		a.Place = b.Place // it moves with the lines before it
		return reflect.DeepEqual(a, b)
	}
	if !slices.EqualFunc(s.policies, other.policies, samePolicy) {
		keys = append(keys, "policy")
	}
	return keys
}

// follow calls changed for each change, until ctx ends, and first for one that came before it looked.
func (s *editorSource) follow(ctx context.Context, changed func()) {
	w := s.app.watchConfig()
	s.watcher.Store(w)
	w.again()
	w.run(ctx, changed)
}

// forget removes what `wharf add` has kept for an entry that is gone.
func (s *editorSource) forget(ctx context.Context, f *tomledit.File, was host.Server) error {
	s.app.forgetBundles(f, was)
	return s.app.forgetSecrets(ctx, f, was)
}

// source is what a control needs of it.
func (s *editorSource) source() (*control.Source, error) {
	path, err := s.app.configPath()
	if err != nil {
		return nil, err
	}
	installed, err := openStore()
	if err != nil {
		return nil, err
	}
	return &control.Source{Path: path, Read: s.read, Follow: s.follow, Forget: s.forget, Installed: installed}, nil
}
