package httpclient

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

// serve carries out a request for an upgrade. It has no body and is sent at once. After a 101 the
// handle is a byte stream; any other answer is relayed as it is.
func (o request) serve(h *stream.Duplex) {
	c := &transaction{request: o, slot: &h.Slot}
	c.phaseTimer.limits, c.phaseTimer.cancel = h.Limits(), h.Cancel
	defer c.stop()
	key := c.handshake()
	resp, err := c.perform(h.Context)
	if err != nil {
		h.Fail(c.tell(h.Context, err))
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		c.readHead(resp)
		err = c.relay(&h.Events)
		c.close()
	} else if err = c.checkUpgrade(resp, key); err == nil {
		c.stop()
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			h.Fail(abi.Internal, fmt.Errorf("HTTP 101 without a connection"))
			return
		}
		h.Attach(stream.NewBlockingOutput(conn, conn.Close, conn.Close), "the connection")
		h.Events.Head(resp.StatusCode, visibleHeaders(resp.Header), -1, nil, false)
		h.Carry(conn, o.client.origin.display(o.url))
	}
	if err != nil {
		h.Fail(c.tell(h.Context, err))
	}
}

// handshake adds the headers that only the host sets. It returns the key that a WebSocket server
// must answer, or "".
func (c *transaction) handshake() (key string) {
	c.header["Connection"] = []string{"Upgrade"}
	if !strings.EqualFold(c.header.Get("Upgrade"), "websocket") {
		return ""
	}
	nonce := make([]byte, 16)
	rand.Read(nonce)
	key = base64.StdEncoding.EncodeToString(nonce)
	c.header["Sec-Websocket-Key"] = []string{key}
	return key
}

// checkUpgrade refuses a 101 that does not match the request (RFC 6455, section 4.1). It also
// refuses a WebSocket extension: a guest cannot ask for one, and would not learn that the server
// uses it.
func (c *transaction) checkUpgrade(resp *http.Response, key string) error {
	if want := c.header.Get("Upgrade"); !strings.EqualFold(resp.Header.Get("Upgrade"), want) {
		return capability.StatusErrorf(abi.ProtocolFailed, "HTTP 101, but not to %s", cleantext.Line(want, 64))
	}
	if extra := resp.Header.Get("Sec-Websocket-Extensions"); extra != "" && key != "" {
		return capability.StatusErrorf(abi.ProtocolFailed, "the server uses the WebSocket extension %s, which was not asked for", cleantext.Line(extra, 64))
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	accept := strings.TrimSpace(resp.Header.Get("Sec-Websocket-Accept"))
	if key != "" && accept != base64.StdEncoding.EncodeToString(sum[:]) {
		return capability.StatusErrorf(abi.ProtocolFailed, "HTTP 101, but what answered is no WebSocket server")
	}
	return nil
}
