package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Errors about results that the protocol allows but this session cannot use.
var (
	// ErrInvalidResult says that the server answered with a result that does not fit the method.
	ErrInvalidResult = errors.New("invalid result")

	// ErrInputRequired says that the server asks for more input than the person or the model gives.
	ErrInputRequired = errors.New("the server asks for more input")
)

// UnansweredError is an [ErrInputRequired] for a request of a server that no callback answers.
type UnansweredError struct{ Method string }

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("%v: %s, and this client does not answer that", ErrInputRequired, clip(e.Method))
}

// Unwrap returns [ErrInputRequired].
func (e *UnansweredError) Unwrap() error { return ErrInputRequired }

// dialect holds how the requests and results of one era look once a session is open. It is
// immutable.
type dialect struct {
	era          mcp.Era
	revision     string
	meta         []byte // a whole member of every request's params, name included; nil for none
	paramHeaders bool   // headers repeat parts of a message, see headerparam.go
}

// admit returns an error for a result that the caller cannot use. In the legacy era a result has no
// type, and a member of that name is the server's own.
func (d *dialect) admit(t mcp.ResultType) error {
	if d.era == mcp.Legacy || t == "" || t == mcp.ResultComplete {
		return nil
	}
	return fmt.Errorf("%w: unknown resultType %q", ErrInvalidResult, clip(string(t)))
}

// others reports whether name is a member of _meta that the session writes itself. A relayed
// request may have this member from its client's own connection, and must not keep it.
func (d *dialect) others(name []byte) bool {
	switch string(name) {
	case mcp.MetaProgressToken:
		return true
	case mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaLogLevel:
		return d.era == mcp.Legacy // a modern request has its own, and perhaps a level
	}
	return false
}

// modern returns the dialect of a modern revision.
func (g *handshakeParams) modern(version string, paramHeaders bool) dialect {
	return dialect{era: mcp.Modern, revision: version, meta: g.meta[version], paramHeaders: paramHeaders}
}

// modernVersions are the modern revisions that a session speaks, the best first.
var modernVersions = []string{mcp.Version20260728}

// spoken lists all revisions that a session speaks, for errors.
var spoken = strings.Join([]string{
	mcp.Version20241105, mcp.Version20250326, mcp.Version20250618, mcp.Version20251125, mcp.Version20260728,
}, ", ")

// common returns the best modern revision that a server supports too, or "".
func common(supported []string) string {
	for _, version := range modernVersions {
		if slices.Contains(supported, version) {
			return version
		}
	}
	return ""
}

// handshakeParams holds the name, version and capabilities of the client, encoded once.
type handshakeParams struct {
	client []byte            // members of the params of initialize
	meta   map[string][]byte // by modern revision: "_meta":{…}
}

func newHandshakeParams(c *Config) (handshakeParams, error) {
	g := handshakeParams{meta: make(map[string][]byte)}
	if err := checkDeclared(c); err != nil {
		return g, err
	}
	offered := capabilities(c)
	if c.Roots != nil && c.Capabilities["roots"] == nil {
		offered["roots"] = map[string]bool{"listChanged": true} // see roots.go
	}
	client, err := json.Marshal(map[string]any{"capabilities": offered, "clientInfo": c.Client})
	if err != nil {
		return g, fmt.Errorf("client name: %w", err)
	}
	g.client = client[1 : len(client)-1]
	// A result may ask for what the capabilities in _meta offer (2026-07-28/basic/patterns/mrtr).
	offered = capabilities(c)
	extensions := map[string]json.RawMessage{mcp.ExtensionTasks: json.RawMessage("{}")} // see task.go
	maps.Copy(extensions, c.Extensions)
	offered["extensions"] = extensions
	for _, version := range modernVersions {
		meta, err := json.Marshal(map[string]any{
			mcp.MetaProtocolVersion: version, mcp.MetaClientCapabilities: offered, mcp.MetaClientInfo: c.Client,
		})
		if err != nil {
			return g, fmt.Errorf("client name: %w", err)
		}
		g.meta[version] = append([]byte(`"_meta":`), meta...)
	}
	return g, nil
}

// capabilities returns what a client offers: the capabilities of its callbacks, and those that it
// declares (2025-11-25/basic/lifecycle#capability-negotiation).
func capabilities(c *Config) map[string]any {
	offered := map[string]any{}
	if c.Roots != nil {
		offered["roots"] = struct{}{}
	}
	if c.Sample != nil {
		offered["sampling"] = struct{}{}
	}
	if c.Elicit != nil {
		offered["elicitation"] = map[string]any{mcp.ElicitForm: struct{}{}, mcp.ElicitURL: struct{}{}}
	}
	for name, settings := range c.Capabilities {
		offered[name] = settings
	}
	if len(c.Extensions) > 0 {
		offered["extensions"] = c.Extensions
	}
	return offered
}

// checkDeclared returns an error if a capability is declared that must not be.
func checkDeclared(c *Config) error {
	for what, declared := range map[string]map[string]json.RawMessage{"capability": c.Capabilities, "extension": c.Extensions} {
		for name, settings := range declared {
			if !json.Valid(settings) || strictjson.Read(settings).Kind() != '{' {
				return fmt.Errorf("%s %s of the client: want an object, got %s", what, name, clipText(settings))
			}
		}
	}
	if c.Capabilities["extensions"] != nil {
		return errors.New("capability extensions of the client: declare them as Extensions")
	}
	return nil
}

// elicits reports whether the client offers a mode of elicitation. A declaration without a mode
// offers forms (2025-11-25/client/elicitation#capabilities).
func (c *Config) elicits(mode string) bool {
	declared := c.Capabilities["elicitation"]
	switch {
	case c.Elicit == nil && (declared == nil || c.Handlers[mcp.MethodElicit] == nil && c.Other == nil):
		return false
	case declared == nil || member(declared, mode) != nil:
		return true
	}
	return mode == mcp.ElicitForm && member(declared, mcp.ElicitURL) == nil
}

// clip shortens a server's words for an error.
func clip(text string) string { return shorten(text, 200) }

// clipText is clip for a text of bytes, of which it copies no more than it needs.
func clipText(text []byte) string { return clip(string(text[:min(len(text), 201)])) }

// shorten returns text if it has at most most bytes, and otherwise its beginning.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
