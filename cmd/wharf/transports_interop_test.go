package main

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// TestInteropTransports runs testdata/transports: the transports under examples
// against servers as people use them. Beside what TestInterop wants it needs a
// gateway from stdio to WebSocket:
//
//	npm install --prefix servers supergateway@4.0.0
func TestInteropTransports(t *testing.T) {
	everything, gateway := gatewayScripts(t)
	at, _ := startGateway(t, gateway, everything, "0")
	address, ca := listenTLS(t, everything)
	examples := filepath.Join("..", "..", "examples")
	runScripts(t, filepath.Join("testdata", "transports"), []string{
		"GATEWAY=ws://" + at,
		"WEBSOCKET_WASM=" + testenv.Plugin(t, "../../examples/transport-"+"websocket"),
		"SOCKET_C_WASM=" + absolute(t, filepath.Join(examples, "transport-socket-c", "socket.wasm")),
		"SOCKET_AS_WASM=" + absolute(t, filepath.Join(examples, "transport-socket-as", "socket.wasm")),
		"TLS_SOCKET=" + address,
		"TLS_CA=" + ca,
	})
}

// A gateway to server-everything is killed, and comes back.
func TestInteropSeaTrial(t *testing.T) {
	everything, gateway := gatewayScripts(t)
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	var kill func()
	restarttest.Run(t, restarttest.Trial{
		Config: host.Config{
			Plugins: plugins.Builtin(),
			Files:   map[string]config.Plugin{"websocket": {Name: "websocket", File: testenv.Plugin(t, "../../examples/transport-"+"websocket")}},
		},
		Entry: host.Server{Name: "board", Transport: "websocket", URL: "ws://localhost:" + port + "/message"},
		Start: func(t *testing.T) { _, kill = startGateway(t, gateway, everything, port) },
		Kill:  func(*testing.T) { kill() },
	})
}

func gatewayScripts(t *testing.T) (everything, gateway string) {
	t.Helper()
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	modules := absolute(t, filepath.Join(dir, "node_modules"))
	gateway = filepath.Join(modules, "supergateway", "dist", "index.js")
	if _, err := os.Stat(gateway); err != nil {
		t.Skip("supergateway is not in the folder with servers: npm install supergateway@4.0.0")
	}
	return filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js"), gateway
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startGateway puts server-everything behind WebSocket, at a port or at a free one,
// and returns where, when it listens. It ends with the test, if it is not killed.
func startGateway(t *testing.T, gateway, everything, port string) (at string, kill func()) {
	t.Helper()
	if port == "0" {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
	}
	cmd := exec.Command("node", gateway, "--stdio", "node "+everything+" stdio", "--outputTransport", "ws", "--port", port, "--messagePath", "/message")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for line := ""; err == nil && !strings.Contains(line, "WebSocket endpoint"); {
		line, err = lines.ReadString('\n')
	}
	if err != nil {
		t.Errorf("the gateway ended: %v", err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(io.Discard, lines)
	}()
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		<-drained
		cmd.Wait()
	})
	t.Cleanup(kill)
	return "localhost:" + port, kill
}

// listenTLS starts server-everything for each connection over TLS, and returns the
// address and the file of the authority.
func listenTLS(t *testing.T, everything string) (address, ca string) {
	t.Helper()
	web := httptest.NewUnstartedServer(nil) // which has a certificate
	web.StartTLS()
	web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				cmd := exec.Command("node", everything, "stdio")
				cmd.Stdout = conn
				stdin, err := cmd.StdinPipe()
				if err != nil || cmd.Start() != nil {
					t.Error("server-everything does not start")
					return
				}
				io.Copy(stdin, conn)
				stdin.Close()
				cmd.Wait()
			})
		}
	})
	ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return "tls:" + l.Addr().String(), ca
}
