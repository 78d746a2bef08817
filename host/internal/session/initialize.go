package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// initialize sends the first request of the legacy era.
func (h *handshake) initialize(ctx context.Context) <-chan reply {
	offer := mcp.LatestLegacy
	if mcp.EraOf(h.options.Protocol) == mcp.Legacy {
		offer = h.options.Protocol
	}
	return h.ask(ctx, rpc.Call{
		Method:  mcp.MethodInitialize,
		Timeout: -1,
	}, written(fmt.Appendf(nil, `{%s,"protocolVersion":%q}`, h.session.represents.Load().client, offer)))
}

// discover sends the first request of the modern era.
func (h *handshake) discover(ctx context.Context, version string) <-chan reply {
	d := h.session.represents.Load().modern(version, false)
	call := rpc.Call{
		Method:  mcp.MethodDiscover,
		Version: version,
		Timeout: -1,
	}
	if h.conn.http() {
		call.Headers = standardHeaders(&request{method: call.Method})
		h.conn.Peer.Agree(rpc.Terms{StreamCancel: true, Epoch: h.epoch - 1}) // if the probe is given up, the server gets no cancellation
	}
	return h.ask(ctx, call, (&request{}).params(&d, d.meta))
}

// greet opens a legacy session: it sends initialize and reads the answer.
func (h *handshake) greet(ctx context.Context) (*agreedConn, error) {
	got, err := h.receive(ctx, h.initialize(ctx))
	if err != nil {
		return nil, err
	}
	return h.legacy(ctx, got)
}

// legacy opens the session with got, the answer to initialize
// (2025-11-25/basic/lifecycle#initialization).
func (h *handshake) legacy(ctx context.Context, got reply) (*agreedConn, error) {
	switch {
	case h.conn.http() && misplaced(got.err):
		return nil, fmt.Errorf("%w: %w", got.err, ErrOtherTransport)
	case got.err != nil && !answered(got.err):
		return nil, h.left(ctx, got.err)
	case errors.As(got.err, new(*rpc.Error)):
		return nil, fmt.Errorf("the server refused initialize: %w", got.err)
	case got.err != nil: // an answer that cannot be used
		return nil, got.err
	}
	r, err := readInitialize(got.result)
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	switch {
	case r.ProtocolVersion == "":
		r.ProtocolVersion = mcp.Version20241105
		h.session.cfg.Warn("the server named no protocolVersion; taking it for " + r.ProtocolVersion)
	case mcp.EraOf(r.ProtocolVersion) != mcp.Legacy:
		return nil, fmt.Errorf("initialize: %w: the server wants protocol %q, for which there is no handshake; known are %s",
			ErrInvalidResult, clip(r.ProtocolVersion), spoken)
	}
	h.conn.Peer.Agree(terms(h.conn, h.epoch, r.ProtocolVersion))
	send := h.conn.Peer.Notify
	if h.conn.http() {
		// Over HTTP every message is a request of its own. A message that overtook this
		// notification would meet a server that still expects the notification.
		send = h.conn.Peer.Announce
	}
	err = send(ctx, mcp.NotificationInitialized, nil)
	switch {
	case h.conn.http() && statusOf(err) != 0: // the next request shows whether the refusal matters
		h.session.cfg.Warn(fmt.Sprintf("the server refused %s: %v", mcp.NotificationInitialized, err))
	case err != nil:
		return nil, h.left(ctx, err)
	}
	return &agreedConn{dialect: dialect{era: mcp.Legacy, revision: r.ProtocolVersion}, info: status.Info{
		Server: r.ServerInfo, Protocol: r.ProtocolVersion, Era: mcp.Legacy,
		Instructions: r.Instructions, Capabilities: r.Capabilities, Raw: got.result,
	}}, nil
}

// terms returns the outcome of a handshake for the peer. Arrays of messages were part of the
// protocol up to 2025-03-26: earlier revisions have them from JSON-RPC
// (2025-03-26/basic/index#batching). To a modern server a client must write only requests and
// notifications, and so no refusals either (2026-07-28/basic/transports/stdio). To a legacy server
// the end of an HTTP stream means nothing, so a message must tell it that a caller has left
// (2025-11-25/basic/transports#sending-messages-to-the-server).
func terms(c *Dialed, epoch uint32, version string) rpc.Terms {
	modern := mcp.EraOf(version) == mcp.Modern
	return rpc.Terms{
		Version:      version,
		Epoch:        epoch,
		AllowBatch:   version <= mcp.Version20250326,
		StreamCancel: c.StreamCancel && (modern || !c.http()),
		NoReplies:    modern,
	}
}

// modern opens the session if got, an answer to discover, comes from a server with a modern
// revision that the session speaks. Otherwise it returns no connection, and an error only if the
// server contradicts itself.
func (h *handshake) modern(ctx context.Context, got reply) (*agreedConn, error) {
	supported, refused := refusedVersion(got.err)
	if !refused {
		return h.discovered(got), nil
	}
	version := common(supported)
	if version == "" {
		return nil, nil
	}
	got, err := h.wait(ctx, h.discover(ctx, version))
	if err != nil {
		return nil, err
	}
	if l := h.discovered(got); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("the server lists protocol %s and does not speak it: %w", version, discoverError(got))
}

// discovered returns the connection if got, an answer to discover, opens a modern session, and
// otherwise nil.
func (h *handshake) discovered(got reply) *agreedConn {
	if got.err != nil {
		return nil
	}
	r, err := readDiscover(got.result)
	version := common(r.SupportedVersions)
	if err != nil || version == "" {
		return nil
	}
	h.conn.Peer.Agree(terms(h.conn, h.epoch, version))
	return &agreedConn{dialect: h.session.represents.Load().modern(version, h.conn.http()), info: status.Info{
		Server: r.Meta.ServerInfo, Protocol: version, Era: mcp.Modern,
		Instructions: r.Instructions, Capabilities: r.Capabilities, Raw: got.result,
	}}
}

// discoverError returns the error that explains why an answer to discover opened no modern session.
func discoverError(got reply) error {
	if got.err != nil {
		return got.err
	}
	d, err := readDiscover(got.result)
	if err != nil {
		return err
	}
	return fmt.Errorf("it lists %q", clip(strings.Join(d.SupportedVersions, ", ")))
}

// readInitialize reads an InitializeResult. Missing members stay empty and are no error.
func readInitialize(result []byte) (i mcp.InitializeResult, err error) {
	r := strictjson.Read(result)
	for key := range r.Members() {
		switch string(key) {
		case "protocolVersion":
			i.ProtocolVersion = r.String()
		case "capabilities":
			i.Capabilities = r.Raw()
		case "serverInfo":
			i.ServerInfo = readImplementation(r.Raw())
		case "instructions":
			i.Instructions = r.String()
		}
	}
	return i, invalid(r.Err())
}

// readDiscover reads a DiscoverResult. For a result of another kind it returns no versions, because
// many legacy servers send some result to an unknown request. It returns an error if there are more
// versions than it reads.
func readDiscover(result []byte) (d mcp.DiscoverResult, err error) {
	r := strictjson.Read(result)
	for key := range r.Object() {
		switch string(key) {
		case "supportedVersions":
			for range r.Array() {
				d.SupportedVersions = append(d.SupportedVersions, r.String())
			}
		case "capabilities":
			d.Capabilities = r.Raw()
		case "instructions":
			d.Instructions = r.String()
		case "_meta":
			for key := range r.Object() {
				if string(key) == mcp.MetaServerInfo {
					d.Meta.ServerInfo = readImplementation(r.Raw())
				}
			}
		}
	}
	if many := (*strictjson.TooManyError)(nil); errors.As(r.Err(), &many) {
		return mcp.DiscoverResult{}, invalid(many)
	}
	return d, nil
}

// readImplementation reads a name and a version. Both are for display, so a value of another type
// is no error: some versions are numbers.
func readImplementation(text []byte) (i mcp.Implementation) {
	r := strictjson.Read(text)
	for key := range r.Object() {
		switch string(key) {
		case "name":
			i.Name = r.String()
		case "title":
			i.Title = r.String()
		case "version":
			i.Version = r.String()
		case "description":
			i.Description = r.String()
		case "websiteUrl":
			i.WebsiteURL = r.String()
		case "icons":
			i.Icons = r.Raw()
		}
	}
	return i
}

// refusedVersion reports whether err refuses the revision of a request, and returns the revisions
// of the server (2026-07-28/basic/versioning).
func refusedVersion(err error) (supported []string, refused bool) {
	var fault *rpc.Error
	if !errors.As(err, &fault) || fault.Code != mcp.CodeUnsupportedVersion {
		return nil, false
	}
	r := strictjson.Read(member(fault.Data, "supported"))
	for range r.Array() {
		supported = append(supported, r.String())
	}
	if errors.As(r.Err(), new(*strictjson.TooManyError)) {
		supported = nil // the error of the server tells all that there is
	}
	return supported, true
}
