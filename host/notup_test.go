package host_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

// Where the patience with a server ends before its plugin lets messages pass, the
// error says so: the server was sent nothing.
func TestPluginThatIsNotUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it takes connections, and never says a word of TLS
	h := newHost(t, host.Config{Files: pluginFile("socket", "../examples/transport-socket-c/socket.wasm")})
	entry := host.Server{Name: "mute", Transport: "socket", Address: "tls:" + l.Addr().String()}
	says := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "its plugin has not reported UP") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	h.Prepare(ctx, entry)
	_, err = h.Connect(ctx, entry)
	says("the caller's time", err)
	entry.StartTimeout = time.Second
	_, err = h.Connect(t.Context(), entry)
	says("the server's time", err)
}
