package gateway

import (
	"encoding/json"
	"strings"

	"github.com/wharf-mcp/wharf/host/mcp"
)

const (
	maxInstructions = 8 << 10 // bytes, of all servers together
	maxOfServer     = 2 << 10 // bytes, of one server
)

// initialize answers the initialize of a legacy client. It starts no server.
func (a *aggregate) initialize(r *request) (json.RawMessage, error) {
	if err := a.handshake.check(r.id); err != nil {
		return nil, err
	}
	if err := checkInitialize(r.params); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.initializeParams = r.params
	a.mu.Unlock()
	version := negotiateVersion(text(r.params, "protocolVersion"), mcp.LatestLegacy)
	a.handshake.succeed(version)
	r.caller = a.legacyCaller()
	return edit(nil, change{"protocolVersion", quote(version)},
		change{"capabilities", a.capabilities(r)},
		change{"serverInfo", a.gateway.info},
		change{"instructions", a.instructions(r)}), nil
}

// discover answers the server/discover of a modern client. It starts no server.
func (a *aggregate) discover(r *request) json.RawMessage {
	return edit(nil, change{"resultType", quote(string(mcp.ResultComplete))},
		change{"supportedVersions", supportedVersions},
		change{"capabilities", a.capabilities(r)},
		change{"instructions", a.instructions(r)},
		change{"ttlMs", json.RawMessage("0")}, change{"cacheScope", quote("private")},
		change{"_meta", edit(nil, change{mcp.MetaServerInfo, a.gateway.info})})
}

// capabilities returns every capability that a server offers. It assumes that a server of which
// nothing is known offers all of them except tasks.
func (a *aggregate) capabilities(r *request) json.RawMessage {
	servers := a.reachable(r)
	offers := func(path ...string) bool {
		for _, s := range servers {
			info := a.servers.snapshot(s.Name).Info
			if info.Era == "" && path[0] != "tasks" && path[0] != "extensions" || member(info.Capabilities, path...) != nil {
				return true
			}
		}
		return false
	}
	var all []change
	for _, c := range []struct{ name, offer string }{
		{"completions", `{}`}, {"logging", `{}`}, {"prompts", `{"listChanged":true}`},
		{"resources", `{"subscribe":true,"listChanged":true}`}, {"tools", `{"listChanged":true}`},
	} {
		if offers(c.name) {
			all = append(all, change{c.name, json.RawMessage(c.offer)})
		}
	}
	switch {
	case a.era == mcp.Legacy && offers("tasks"):
		all = append(all, change{"tasks", json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)})
	case a.era == mcp.Modern && offers("extensions", mcp.ExtensionTasks):
		all = append(all, change{"extensions", edit(nil, change{mcp.ExtensionTasks, empty})})
	}
	return edit(nil, all...)
}

// instructions joins the instructions of the servers. Each has as its title the name that the
// server's tools begin with. Before them is a line about servers that cannot be reached. It returns nil if there is
// nothing to say.
func (a *aggregate) instructions(r *request) json.RawMessage {
	var all strings.Builder
	if line := a.gateway.lacking.line(a, r); line != "" {
		all.WriteString(line + "\n\n")
	}
	for _, s := range a.reachable(r) {
		own := strings.TrimSpace(a.servers.snapshot(s.Name).Info.Instructions)
		if own == "" {
			continue
		}
		if len(own) > maxOfServer {
			own = strings.ToValidUTF8(own[:maxOfServer], "") + "…"
		}
		part := "## " + replaceLetters(s.Name) + "\n\n" + own + "\n\n"
		if all.Len()+len(part) > maxInstructions {
			break
		}
		all.WriteString(part)
	}
	if all.Len() == 0 {
		return nil
	}
	return quote(strings.TrimSpace(all.String()))
}

// onlyServer returns the name of the only server that offers a capability, or may offer it. It
// returns "" if there is no such server, or more than one.
func (c *serverCache) onlyServer(capability string) (only string) {
	for _, s := range c.gateway.config.Servers {
		info := c.snapshot(s.Name).Info
		if info.Era != "" && member(info.Capabilities, capability) == nil {
			continue
		}
		if only != "" {
			return ""
		}
		only = s.Name
	}
	return only
}
