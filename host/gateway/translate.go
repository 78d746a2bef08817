package gateway

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What a client of one era is told of a server of the other. Everything that this file leaves alone
// reaches the other era byte for byte.

// initializeResult returns what a modern server says of itself, its DiscoverResult, to a legacy
// client. name is used for a server that does not say its own.
func initializeResult(discovered json.RawMessage, name string, version json.RawMessage) json.RawMessage {
	info := member(discovered, "_meta", mcp.MetaServerInfo)
	if !isObject(info) {
		info = edit(nil, change{"name", quote(name)}, change{"version", quote("")})
	}
	return edit(nil, change{"protocolVersion", version},
		change{"capabilities", withoutTasks(member(discovered, "capabilities"))},
		change{"serverInfo", info},
		change{"instructions", member(discovered, "instructions")})
}

// discoverResult returns what a legacy server says of itself, its InitializeResult, to a modern
// client.
func discoverResult(initialized json.RawMessage) json.RawMessage {
	var about json.RawMessage
	if info := member(initialized, "serverInfo"); info != nil {
		about = edit(nil, change{mcp.MetaServerInfo, info})
	}
	return edit(nil, change{"resultType", quote(string(mcp.ResultComplete))},
		change{"supportedVersions", supportedVersions},
		change{"capabilities", withoutTasks(member(initialized, "capabilities"))},
		change{"instructions", member(initialized, "instructions")},
		change{"ttlMs", json.RawMessage("0")}, change{"cacheScope", quote("private")},
		change{"_meta", about})
}

var supportedVersions = json.RawMessage(`["` + mcp.LatestModern + `"]`)

// withoutTasks returns capabilities without tasks, which each era has in its own way.
func withoutTasks(capabilities json.RawMessage) json.RawMessage {
	if !isObject(capabilities) {
		return empty
	}
	if extensions := member(capabilities, "extensions"); member(extensions, mcp.ExtensionTasks) != nil {
		extensions = edit(extensions, change{mcp.ExtensionTasks, nil})
		capabilities = edit(capabilities, change{"extensions", extensions})
	}
	return edit(capabilities, change{"tasks", nil})
}

// cacheable are the methods whose modern results say how long they are fresh.
var cacheable = []string{
	mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources, mcp.MethodListTemplates, mcp.MethodReadResource,
}

// toModernResult returns the result of a legacy server as a modern client wants it. Nothing is known
// about how long it is fresh.
func toModernResult(method string, result json.RawMessage) json.RawMessage {
	changes := []change{{"resultType", quote(string(mcp.ResultComplete))}}
	if slices.Contains(cacheable, method) {
		changes = append(changes, change{"ttlMs", json.RawMessage("0")}, change{"cacheScope", quote("private")})
	}
	added := edit(nil, changes...)
	for _, c := range changes {
		if member(result, c.name) != nil {
			return edit(result, changes...)
		}
	}
	rest := result[1:]
	if len(members(result)) > 0 {
		added = append(added[:len(added)-1], ',')
		return append(added, rest...)
	}
	return added
}

// eraError returns the error that a client of one era gets for err, the outcome of a request to a
// server of another. A resource that is not there has a code of its own in the legacy era only.
func (g *Gateway) eraError(err error, method string, server, client mcp.Era) error {
	var no *rpc.Error
	if !errors.As(err, &no) || server == client || method != mcp.MethodReadResource {
		return g.clientError(err)
	}
	code := no.Code
	switch {
	case client == mcp.Modern && code == mcp.CodeResourceNotFound:
		code = mcp.CodeInvalidParams
	case client == mcp.Legacy && code == mcp.CodeInvalidParams:
		code = mcp.CodeResourceNotFound
	}
	if code == no.Code {
		return no
	}
	return &rpc.Error{Code: code, Message: no.Message, Data: no.Data}
}
