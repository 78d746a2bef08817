package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// KeepAlive is how often an idle connection is probed, to detect a peer that has vanished.
const KeepAlive = 15 * time.Second

// Explain adds to an error of a dial what the user should check.
func Explain(err error) error {
	why := capability.Cause(err)
	var op *net.OpError
	switch {
	case errors.As(err, &op) && strings.HasSuffix(op.Op, " error") && reflect.ValueOf(op.Err).Kind() == reflect.Uint8:
		// crypto/tls has a type of its own for an alert, and a public one of the same text
		alert := tls.AlertError(reflect.ValueOf(op.Err).Uint())
		if advice := ofAlert(alert); op.Op == "remote error" && advice != "" {
			return fmt.Errorf("%s: %w; %s", op.Op, alert, advice)
		}
		return fmt.Errorf("%s: %w", op.Op, alert)
	case op != nil && op.Op == "proxyconnect": // the name that net/http gives to this, for all urls
		at := ""
		var dial *net.OpError
		if errors.As(op.Err, &dial) && dial.Addr != nil {
			at = " " + dial.Addr.String()
		}
		return fmt.Errorf("the proxy%s: %w; it is that of the entry, or else of HTTPS_PROXY or HTTP_PROXY", at, capability.Cause(op.Err))
	case strings.HasSuffix(why.Error(), "http2: client conn could not be established"): // net/http keeps the alert to itself
		return fmt.Errorf("the server has closed the connection after the TLS handshake; %s", ofAlert(40))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w; is the server running?", why)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; is the server running, and is this its socket?", why)
	case capability.IsTimeout(err):
		return fmt.Errorf("no answer: %w", why)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; may this user open the socket?", why)
	}
	return why
}

// ofAlert says what to check where a server has sent an alert, or returns "". A server sends it about the client's
// certificate: handshake_failure where TLS 1.2 got none, bad_certificate to unknown_certificate, unknown_ca, and
// certificate_required (RFC 8446, 6.2; RFC 5246, 7.4.6).
func ofAlert(alert tls.AlertError) string {
	const write = `write one in the entry of the server: tls = { cert = "…", key = "…" }`
	switch alert {
	case 40:
		return "if the server wants a certificate of its client, " + write
	case 42, 43, 44, 45, 46, 48, 116:
		return "the server wants a certificate of its client, of an authority that it trusts: " + write
	}
	return ""
}
