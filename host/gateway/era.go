package gateway

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// eraOf returns the era of a client whose first request this is. It returns "" for a request
// that leaves the era open: a ping, or a request that is refused
// (2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions).
func eraOf(method string, params []byte) mcp.Era {
	if method == mcp.MethodInitialize {
		return mcp.Legacy
	}
	if mcp.EraOf(text(params, "_meta", mcp.MetaProtocolVersion)) == mcp.Modern {
		return mcp.Modern
	}
	return ""
}

// infoOf returns what a client of an era says of itself in a request, which is initialize in the legacy era.
func infoOf(era mcp.Era, params []byte) json.RawMessage {
	if era == mcp.Legacy {
		return member(params, "clientInfo")
	}
	return member(params, "_meta", mcp.MetaClientInfo)
}

// serveUndecided answers a request that leaves the era of its client open: a ping with a result, any
// other request with an error.
func serveUndecided(r *request) (json.RawMessage, error) {
	if r.method == mcp.MethodPing {
		return empty, nil
	}
	if version := meta(r.params, mcp.MetaProtocolVersion); version != nil {
		return nil, unsupportedVersion(version)
	}
	return nil, &rpc.Error{
		Code: mcp.CodeInvalidRequest,
		Message: r.method + " came before initialize: send initialize first, or " + mcp.MetaProtocolVersion +
			" " + mcp.LatestModern + " in the _meta of each request",
	}
}

var empty = json.RawMessage("{}")

// unsupportedVersion returns the error for a modern request in a revision that the gateway does not
// speak. requested is the JSON text of its protocolVersion.
func unsupportedVersion(requested json.RawMessage) *rpc.Error {
	return &rpc.Error{
		Code: mcp.CodeUnsupportedVersion, Message: "Unsupported protocol version",
		Data: edit(nil, change{"supported", supportedVersions}, change{"requested", requested}),
	}
}

// methodNotFound returns the error for a method that the revision of the client does not have.
func methodNotFound(method, revision string) *rpc.Error {
	return &rpc.Error{Code: mcp.CodeMethodNotFound, Message: fmt.Sprintf("Method not found: %s is not in protocol %s", method, revision)}
}

func invalidParams(format string, args ...any) *rpc.Error {
	return &rpc.Error{Code: mcp.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// Methods and notifications of clients that only one of the eras has.
var (
	legacyOnly = []string{
		mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodListTasks,
		mcp.MethodTaskResult, mcp.NotificationInitialized, mcp.NotificationRootsListChanged, mcp.NotificationTaskStatus,
		mcp.NotificationProgress,
	}
	modernOnly = []string{mcp.MethodDiscover, mcp.MethodListen, mcp.MethodUpdateTask}

	// taskMethods have the same names in both eras, but different meanings.
	taskMethods = []string{mcp.MethodGetTask, mcp.MethodCancelTask}
)

// supportedVersions are the modern ones, as JSON.
var supportedVersions = json.RawMessage(`["` + mcp.LatestModern + `"]`)

// legacyVersions are the revisions in which legacy clients are served, oldest first.
var legacyVersions = []string{mcp.Version20241105, mcp.Version20250326, mcp.Version20250618, mcp.Version20251125}

// negotiateVersion returns the revision for a legacy client: the revision that it asked for, unless
// the server speaks an older one. asked is the client's revision and spoken the server's. A client
// that asks for an unknown revision gets the newest
// (2025-11-25/basic/lifecycle#version-negotiation).
func negotiateVersion(asked, spoken string) string {
	if !slices.Contains(legacyVersions, asked) {
		asked = mcp.LatestLegacy
	}
	if mcp.EraOf(spoken) == mcp.Legacy {
		return min(asked, spoken)
	}
	return asked
}

// modernMeta is what the _meta of a modern request says about its client.
type modernMeta struct {
	info, capabilities, level, token json.RawMessage
}

// readMeta reads the _meta of a modern request (2026-07-28/basic/index#meta). refusal is the answer
// to a request whose _meta is not valid.
func readMeta(params []byte) (m modernMeta, refusal *rpc.Error) {
	own := member(params, "_meta")
	version := member(own, mcp.MetaProtocolVersion)
	m = modernMeta{
		info: member(own, mcp.MetaClientInfo), capabilities: member(own, mcp.MetaClientCapabilities),
		level: member(own, mcp.MetaLogLevel), token: member(own, mcp.MetaProgressToken),
	}
	switch {
	case version == nil:
		return m, invalidParams("params have no _meta[%q]", mcp.MetaProtocolVersion)
	case mcp.EraOf(text(own, mcp.MetaProtocolVersion)) != mcp.Modern:
		return m, unsupportedVersion(version)
	case !isObject(m.capabilities):
		return m, invalidParams("params have no _meta[%q], which is an object", mcp.MetaClientCapabilities)
	case m.info != nil && !isObject(m.info):
		return m, invalidParams("_meta[%q] is not an object", mcp.MetaClientInfo)
	}
	return m, nil
}
