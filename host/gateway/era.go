package gateway

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// eraOf returns the era in which a client begins with this request. It is "" for a request that
// leaves the era open: a ping, or a request that is refused
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

// serveUndecided answers a request of a client whose era is open.
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

// unsupportedVersion refuses a request in a revision that no modern client can be served in. requested is
// its protocolVersion as it is written.
func unsupportedVersion(requested json.RawMessage) *rpc.Error {
	return &rpc.Error{
		Code: mcp.CodeUnsupportedVersion, Message: "Unsupported protocol version",
		Data: edit(nil, change{"supported", json.RawMessage(`["` + mcp.LatestModern + `"]`)}, change{"requested", requested}),
	}
}

// methodNotFound refuses a method that the revision of the client does not have.
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

	// taskMethods have the same names in both eras and mean different things.
	taskMethods = []string{mcp.MethodGetTask, mcp.MethodCancelTask}
)

// legacyVersions are the revisions in which legacy clients are served, oldest first.
var legacyVersions = []string{mcp.Version20241105, mcp.Version20250326, mcp.Version20250618, mcp.Version20251125}

// negotiateVersion returns the revision of a legacy client that asked for one: that one, unless the
// server speaks an older one. spoken is the server's. A client that asks for an unknown revision is
// offered the newest (2025-11-25/basic/lifecycle#version-negotiation).
func negotiateVersion(asked, spoken string) string {
	if !slices.Contains(legacyVersions, asked) {
		asked = mcp.LatestLegacy
	}
	if mcp.EraOf(spoken) == mcp.Legacy {
		return min(asked, spoken)
	}
	return asked
}

// modernMeta is what a modern request says of its client.
type modernMeta struct {
	info, capabilities, level, token json.RawMessage
}

// readMeta reads the _meta of a modern request (2026-07-28/basic/index#meta).
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
