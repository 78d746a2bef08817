package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/trust"
)

// What is kept beside the configuration: decisions about servers of projects, plugins, sign-ins.

// now returns the configuration that is in use.
func (c *Control) now() *Configuration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.configuration
}

func (c *Control) decisions(method string) (*trust.Store, error) {
	t := c.trust(c.now())
	if t == nil {
		return nil, &fault{CodeFailed, method + ": this program keeps no decisions about servers of projects", ErrorData{Kind: KindUnsupported}}
	}
	return t, nil
}

// listTrust lists the servers of the project, and what was decided about them and others.
func listTrust(ctx context.Context, e *editor, _ *Empty) (*TrustList, error) {
	t, err := e.control.decisions("trust/list")
	if err != nil {
		return nil, err
	}
	var ofProject []config.Server
	for _, s := range e.control.now().Servers {
		if s.Project != nil {
			ofProject = append(ofProject, s)
		}
	}
	list, err := inventory.Decisions(ctx, t, ofProject)
	return &TrustList{list}, err
}

// allowServer asks the editor whether a server of the project may be used, also where the person has
// denied it before.
func allowServer(ctx context.Context, e *editor, s *server, _ *ServerParams) (*Trusted, error) {
	c := e.control
	t, a, err := c.looked(ctx, "trust/allow", s)
	switch {
	case err != nil:
		return nil, err
	case a.State != trust.Denied: // which the host does not ask about again
		err = c.host.Approve(ctx, s.entry)
	default:
		var d trust.Decision
		if d, err = c.approve(ctx, a); err == nil {
			err = t.Decide(ctx, a, d)
		}
		if err == nil && d != trust.Always {
			err = &trust.UnapprovedError{Approval: a}
		}
	}
	if errors.Is(err, errNoEditor) {
		return nil, &fault{CodeFailed, "trust/allow: the editor cannot ask whether the server may be used", ErrorData{
			Kind: KindDenied, Hint: "the editor has to answer approve, and say so in its capabilities"}}
	}
	return &Trusted{trust.Approved}, err
}

// denyServer has a server of the project not be used as it is, and ends its connection.
func denyServer(ctx context.Context, e *editor, s *server, _ *ServerParams) (*Trusted, error) {
	t, a, err := e.control.looked(ctx, "trust/deny", s)
	if err == nil {
		err = t.Decide(ctx, a, trust.Never)
	}
	if err == nil {
		err = s.session.Reload(s.entry)
	}
	if err != nil {
		return nil, err
	}
	return &Trusted{trust.Denied}, nil
}

// looked describes a server of the project as it is now.
func (c *Control) looked(ctx context.Context, method string, s *server) (*trust.Store, trust.Approval, error) {
	t, err := c.decisions(method)
	if err != nil {
		return nil, trust.Approval{}, err
	}
	if s.entry.Project == nil {
		return nil, trust.Approval{}, invalid(KindParams, "trust/list lists the servers that came with a project",
			"%s: %s is a server of the person's own, and needs no approval", method, s.entry.Name)
	}
	a, err := t.Look(ctx, s.entry)
	return t, a, err
}

// listPlugins lists the installed plugins.
func listPlugins(_ context.Context, e *editor, _ *Empty) (*PluginList, error) {
	src, err := e.control.source("plugins/list")
	if err != nil {
		return nil, err
	}
	list := &PluginList{Plugins: []pluginstore.Listed{}}
	if src.Installed == nil {
		return list, nil
	}
	all, err := src.Installed.List()
	for _, p := range all {
		list.Plugins = append(list.Plugins, src.Installed.Listed(p))
	}
	return list, err
}

// inspectPlugin describes a plugin that is part of the program, installed, or in the configuration.
func inspectPlugin(ctx context.Context, e *editor, p *PluginParams) (*pluginstore.Description, error) {
	c := e.control
	var info *pluginstore.Info
	var err error
	if builtin := c.kept.builtin[p.Plugin]; builtin != nil { // it overrides an installed one
		info, err = c.host.Inspect(ctx, "", builtin())
	} else if file := c.now().Plugins[p.Plugin].File; file != "" {
		info, err = c.host.Inspect(ctx, file, nil)
	} else {
		err = invalid(KindUnknownPlugin, "plugins/list lists those that are installed", "plugins/inspect: no plugin is called %q", p.Plugin)
	}
	if err != nil {
		return nil, err
	}
	d := info.Describe()
	return &d, nil
}

// signedIn lists the saved sign-ins and secrets, without their values.
func signedIn(ctx context.Context, e *editor, _ *Empty) (*inventory.SignIns, error) {
	v, err := e.control.vault()
	if err != nil {
		return nil, err
	}
	list, err := inventory.SignedIn(ctx, v, e.control.now().Servers)
	if err != nil {
		return nil, fmt.Errorf("auth/status: %w", err)
	}
	return list, nil
}
