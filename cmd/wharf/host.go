package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/telemetry"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/plugins"
)

// newHost returns the host of a one-shot command, which the caller closes. The lines
// that servers print on stderr go to log, with their names. The options change its
// configuration.
func (a *app) newHost(ctx context.Context, log io.Writer, options ...func(*host.Config)) (*host.Host, error) {
	limit, err := a.flags.timeout.request()
	if err != nil {
		return nil, err
	}
	printer, err := trace.NewPrinter(os.Getenv("WHARF_TRACE"), a.Err)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("WHARF_TRACE: %w", err), "layers are rpc, abi and io, separated by commas")
	}
	tracer, recorder, err := a.recorders.open(&a.flags)
	if err != nil {
		return nil, err
	}
	tracer = cmp.Or(tracer, a.watched)
	c := host.Config{
		Plugins:    plugins.Builtin(),
		Timeout:    limit,
		Print:      printer,
		Trace:      tracer,
		Record:     recorder,
		Client:     host.Client{Info: ownInfo()},
		Stderr:     log,
		OneShot:    true,
		Streams:    a.streams,
		Event:      a.hear,
		NoValidate: a.flags.noValidate,
	}
	// A server given on the spot has no entry, but plugins may have one, which says
	// where they run.
	configured, err := a.load()
	if err != nil {
		return nil, err
	}
	a.warnUnread(configured)
	c.Files = configured.plugins
	c.Reconnect, c.MaxTimeout = configured.reconnect, configured.maxTimeout
	c.Client.Caller.Kind = policy.Command
	c.CatalogueDir = catalogueDir()
	if a.streams != nil { // the daemon decides who may call what, and keeps it; what was kept here would be told in place of its answer
		c.Reconnect, c.CatalogueDir = ofDaemon, ""
	} else if err := a.oversee(configured, &c); err != nil {
		return nil, err
	}
	// Without a cache the plugin is compiled each time: slower, not wrong.
	c.CacheDir, _ = host.DefaultCacheDir()
	if a.follows || a.logs { // it stays until it is ended
		c.Ping = time.Minute
	}
	c.VaultDir, _ = vault.DefaultDir()
	c.Worker, c.CompileTimeout = worker(), max(limit, 0)
	a.letApprove(&c)
	if a.CanAsk() {
		c.Confirm = a.askConsent
		c.Input = func(ctx context.Context, server string, in config.Input) (string, error) {
			return a.askQuestion(ctx, question{in, []string{server}})
		}
	}
	spans, err := a.tracing.open(func(err error) { a.Warn("%v", err) })
	if err != nil {
		return nil, err
	}
	if spans != nil {
		c.Observer = &telemetry.Observer{Tracer: spans}
	}
	for _, option := range options {
		option(&c)
	}
	h, err := host.New(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Audit.Close())
	}
	a.redact = h.Redact
	return h, nil
}

// oversee has a host decide who may call what, and keep it, as the configuration says.
func (a *app) oversee(s *settings, c *host.Config) error {
	rules, err := s.rules()
	if err != nil {
		return err
	}
	if !rules.Empty() {
		c.Deciders = []policy.Decider{rules}
	}
	c.Policies = s.policies
	if s.audit == nil {
		return nil
	}
	c.Audit, err = audit.Open(s.audit.File, audit.Options{Full: s.audit.Full, Required: s.audit.Required})
	switch {
	case err != nil && s.audit.Required:
		return exit.Usage(err, "the configuration has required = true in [audit], so no call is made without it")
	case err != nil:
		a.Warn("calls are not kept: %v", err)
	}
	return nil
}

// ownInfo is what the program says of itself, to servers and to clients.
func ownInfo() mcp.Implementation {
	return mcp.Implementation{Name: "wharf", Version: release.Version()}
}

// catalogueDir returns the folder in which hosts keep the lists of servers, or "" if there is no
// cache folder.
func catalogueDir() string {
	dir, err := host.DefaultCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "catalogue")
}
