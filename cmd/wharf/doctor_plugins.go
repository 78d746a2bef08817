package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/plugins"
)

// pluginProblem says why the file of a plugin would not be loaded: it is not there, or is another than it was.
func pluginProblem(p config.Plugin) string {
	again := ""
	if p.Installed != nil {
		again = fmt.Sprintf("; `wharf plugin update %s` fetches it again", p.Name)
	}
	if err := pluginstore.CheckFile(p); err != nil {
		return strings.TrimPrefix(err.Error(), "plugin "+p.Name+": ") + again
	}
	return ""
}

// noPolicy says that no policy plugin has the name that a policy gives, or returns "". What a file contains is not
// looked at.
func noPolicy(name string, files map[string]config.Plugin) string {
	if files[name].File != "" {
		return ""
	}
	if plugins.Builtin()[name] != nil {
		return fmt.Sprintf("%s is a part of wharf, and no policy plugin", name)
	}
	if near := meant(name, slices.Collect(maps.Keys(files))); near != "" {
		return fmt.Sprintf("no plugin is called %q; did you mean %q?", name, near)
	}
	return fmt.Sprintf("no plugin is called %q; `wharf plugin add` adds the file of one", name)
}

// transportProblem says that the plugin which an entry names as its transport is of another kind, or returns "". That
// its file cannot be read is told of the plugin.
func (a *app) transportProblem(ctx context.Context, s *settings, server host.Server) string {
	p, named := s.plugins[server.Transport]
	if server.Transport == "" || named && pluginProblem(p) != "" {
		return ""
	}
	h, err := a.newHost(ctx, nil)
	if err != nil {
		return err.Error()
	}
	defer h.Close()
	if err := h.CheckTransport(server.Transport); err != nil {
		return err.Error()
	}
	return ""
}

// settingsProblem says which setting of an entry its transport or its auth provider does not
// know or lacks, or returns "". It asks only plugins that are part of wharf: a mistake in an
// entry is no reason to compile another plugin.
func (a *app) settingsProblem(ctx context.Context, server host.Server) string {
	transport, provider := plugins.Builtin()[server.Via()], plugins.Builtin()[server.Auth.Provider]
	if (len(server.Settings) == 0 || transport == nil) && provider == nil {
		return ""
	}
	h, err := a.newHost(ctx, nil)
	if err != nil {
		return err.Error()
	}
	defer h.Close()
	if len(server.Settings) > 0 && transport != nil {
		info, err := h.Inspect(ctx, "", transport())
		if err != nil || info.Manifest == nil {
			return fmt.Sprintf("the plugin %s cannot be asked: %v", server.Via(), err)
		}
		var known []string
		for _, setting := range info.Manifest.Settings {
			known = append(known, setting.Key)
		}
		if key := stranger(slices.Sorted(maps.Keys(server.Settings)), known); key != "" {
			return fmt.Sprintf("settings.%s: transport %s has no such setting; it has %s", key, server.Via(), cmp.Or(strings.Join(known, ", "), "none: take it out"))
		}
	}
	if provider == nil {
		return ""
	}
	info, err := h.Inspect(ctx, "", provider())
	if err != nil || info.Provider == nil {
		return fmt.Sprintf("the auth provider %s cannot be asked: %v", server.Auth.Provider, err)
	}
	var known []string
	for _, setting := range info.Provider.Settings {
		known = append(known, setting.Key)
	}
	if key := stranger(slices.Sorted(maps.Keys(server.Auth.Settings)), known); key != "" {
		return fmt.Sprintf("auth.%s: there is no such key; there are %s", key, strings.Join(known, ", "))
	}
	for _, setting := range info.Provider.Settings {
		if server.Auth.Settings[setting.Key] == nil && setting.Required {
			return fmt.Sprintf("auth.%s is missing: %s", setting.Key, setting.About)
		}
	}
	return ""
}

// stranger returns the first of some names that is not known, or "".
func stranger(names, known []string) string {
	if at := slices.IndexFunc(names, func(name string) bool { return !slices.Contains(known, name) }); at >= 0 {
		return names[at]
	}
	return ""
}
