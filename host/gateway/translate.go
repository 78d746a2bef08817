package gateway

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What differs between the eras in results and errors. What this file does not change reaches a
// client of the other era byte for byte.

// initializeResult translates the DiscoverResult of a modern server into an InitializeResult
// for a legacy client. If the server has not given its name, name is used.
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

// discoverResult translates the InitializeResult of a legacy server into a DiscoverResult for a
// modern client.
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

// withoutTasks returns capabilities without tasks, because the tasks of one era do not work in the
// other.
func withoutTasks(capabilities json.RawMessage) json.RawMessage {
	return edit(withoutTasksExtension(capabilities), change{"tasks", nil})
}

// withoutTasksExtension returns capabilities without the extension by which a modern server answers with tasks.
// A legacy server has no use for it, and the host itself offers it to each modern one.
func withoutTasksExtension(capabilities json.RawMessage) json.RawMessage {
	if !isObject(capabilities) {
		return empty
	}
	extensions := member(capabilities, "extensions")
	if member(extensions, mcp.ExtensionTasks) == nil {
		return capabilities
	}
	extensions = edit(extensions, change{mcp.ExtensionTasks, nil})
	if len(extensions) == len(empty) {
		extensions = nil
	}
	return edit(capabilities, change{"extensions", extensions})
}

// cacheable are the methods whose results in the modern era say how long they are fresh.
var cacheable = []string{
	mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources, mcp.MethodListTemplates, mcp.MethodReadResource,
}

// toModernResult adds to the result of a legacy server the members that a modern client needs. It
// says that the result is not fresh, because a legacy server does not say how long it is. A result that is
// no object stays as it is, so that the client sees what is wrong.
func toModernResult(method string, result json.RawMessage) json.RawMessage {
	if !isObject(result) {
		return result
	}
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

// eraError returns the error that a client of one era gets for err, the error of a request to a
// server of another era. Only the legacy era has a code of its own for a resource that does not
// exist.
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
