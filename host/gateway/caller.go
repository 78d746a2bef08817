package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// caller returns who sends the requests of a client of this origin that describes itself with info. It
// returns nil if that does not matter.
func (g *Gateway) caller(o *origin, era mcp.Era, info json.RawMessage) *policy.Caller {
	if g.host == nil || !g.host.NeedsCaller() {
		return nil
	}
	c := o.callerNamed(clientName(info), era)
	return &c
}

// clientName returns what a client calls itself, as rules, the audit and the list of clients have it.
func clientName(info json.RawMessage) string {
	return cleantext.Line(text(info, "name"), maxClientName)
}

// callerNamed returns who a client of an origin, which calls itself name, is to the rules. A command is this
// program, as where no daemon is between: it has no name.
func (o *origin) callerNamed(name string, era mcp.Era) policy.Caller {
	c := o.caller()
	if c.Kind != policy.Command {
		c.Name, c.Peer, c.Era = name, o.peer, string(era)
	}
	return c
}

// caller returns who the clients of an origin are, without the name of one.
func (o *origin) caller() policy.Caller {
	c := policy.Caller{Kind: o.kind}
	if !isOwner(o.principal) {
		c.Principal = strings.TrimPrefix(o.principal, httpPrincipal(""))
	}
	return c
}

// as returns a context whose requests are those of a caller, unless it has one or c is nil.
func as(ctx context.Context, c *policy.Caller) context.Context {
	if c == nil || policy.CallerOf(ctx) != nil {
		return ctx
	}
	return policy.WithCaller(ctx, c)
}

// reaches reports whether a caller may call anything of a server. What it may not reach is not started
// for it. c is nil if that does not matter.
func (g *Gateway) reaches(c *policy.Caller, server string) bool {
	return c == nil || g.host.Scope(c, server) != policy.Nothing
}

// checkReach returns the error for a request to a server that its caller may not reach.
func (g *Gateway) checkReach(c *policy.Caller, server string, r *request) error {
	if g.reaches(c, server) {
		return nil
	}
	why := ""
	if rule := g.host.Denied(c, server, r.method, r.params); rule != "" && c.Principal == "" {
		why = ": " + rule
	}
	data, _ := json.Marshal(errorData{Kind: host.ErrorKind(host.ErrDenied)}) // of texts, which always succeeds
	return &rpc.Error{Code: mcp.CodeInternalError, Message: fmt.Sprintf("%s may not call anything of %s%s", c, server, why), Data: data}
}

// reachable returns the servers that the sender of a request may reach.
func (a *aggregate) reachable(r *request) (servers []host.Server) {
	if r.caller == nil {
		return a.gateway.config.Servers
	}
	for _, s := range a.gateway.config.Servers {
		if a.gateway.reaches(r.caller, s.Name) {
			servers = append(servers, s)
		}
	}
	return servers
}

// visible returns what of a list of all servers the sender of a request may see.
func (a *aggregate) visible(r *request, l *listing, all mergedList) mergedList {
	if r.caller == nil {
		return all
	}
	for i, whole := range all {
		if source := a.gateway.host.Shown(r.caller, whole.server, l.kind, whole.source); len(source) != len(whole.source) {
			all[i] = newRenamedList(whole.server, source, l)
		}
	}
	return all
}
