//go:build !wasip1

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// The test binary is also a server in a process of its own: it is one when this
// variable says where it is to listen.
const listenVariable = "WHARF_TEST_LISTEN"

func TestMain(m *testing.M) {
	if network, at, ok := strings.Cut(os.Getenv(listenVariable), ":"); ok {
		l, err := net.Listen(network, at)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("listens")
		serveAll(l)
		return
	}
	os.Exit(m.Run())
}

// serveAll serves every connection, until the process is killed.
func serveAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go speak(conn, nil)
	}
}

// The same transport in three languages: what one of them passes, all must.
var modules = map[string]func(t *testing.T) string{
	"go": func(t *testing.T) string { return testenv.Plugin(t, ".") },
	"c":  func(*testing.T) string { return "../transport-socket-c/socket.wasm" },
	"as": func(*testing.T) string { return "../transport-socket-as/socket.wasm" },
}

// each runs a test for the module of each language, beside which sealer is a provider that gives
// what its setting "blob" says.
func each(t *testing.T, test func(t *testing.T, files map[string]string)) {
	if testing.Short() {
		t.Skip("builds a module, which takes a while")
	}
	for language, module := range modules {
		t.Run(language, func(t *testing.T) {
			test(t, map[string]string{"socket": module(t), "sealer": testenv.Plugin(t, "../../host/testdata/sealer")})
		})
	}
}

// eachHost is each with a host that has the module.
func eachHost(t *testing.T, test func(t *testing.T, h *host.Host)) {
	each(t, func(t *testing.T, files map[string]string) {
		test(t, exampletest.Host(t, exampletest.Config(t, files)))
	})
}

// server speaks MCP over each connection to a listener, through the official SDK.
type server struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

// serve starts a server. What it writes passes distort, if that is not nil.
func serve(t *testing.T, l net.Listener, distort distortion) *server {
	s := &server{Listener: l}
	t.Cleanup(s.kill)
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.wg.Go(func() { speak(conn, distort) })
		}
	})
	return s
}

// kill ends the server and all its connections, without a word.
func (s *server) kill() {
	s.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func speak(conn net.Conn, distort distortion) {
	defer conn.Close()
	m := restarttest.NewServer()
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if distort == nil {
			io.Copy(conn, r)
			return
		}
		lines := bufio.NewReader(r)
		for first := true; ; first = false {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			distort(conn, strings.TrimSuffix(line, "\n"), first)
		}
	}()
	m.Run(context.Background(), &mcp.IOTransport{Reader: conn, Writer: w, MaxLineLength: -1})
	w.Close()
	<-done
}

func listen(t *testing.T, network, at string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func say(t *testing.T, s *host.Session, message string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), "echo", map[string]any{"message": message})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Content[0].Text; got != "Echo: "+message {
		t.Errorf("%d bytes came back of %d", len(got), len(message))
	}
}

func connect(t *testing.T, h *host.Host, entry host.Server) *host.Session {
	t.Helper()
	entry.Name, entry.Transport = "loft", "socket"
	s, err := h.Connect(t.Context(), entry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// talk is what a session over a good socket does.
func talk(t *testing.T, s *host.Session) {
	t.Helper()
	if tools, err := s.ListTools(t.Context()); err != nil || len(tools) != 2 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	say(t, s, "Grüße, 世界 🚢")
	many := 100_000 // 700 KB: more than is read, queued or handed over at once
	if testenv.Long() {
		many = 500_000
	}
	say(t, s, strings.Repeat("世界\n", many))
}

func TestSandbox(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host.Host) {
		for _, network := range []string{"unix", "tcp"} {
			at := "127.0.0.1:0"
			if network == "unix" {
				at = filepath.Join(t.TempDir(), "loft.sock")
			}
			l := serve(t, listen(t, network, at), nil)
			talk(t, connect(t, h, host.Server{Address: network + ":" + l.Addr().String()}))
		}
	})
}

// authority signs for one name, and is the file that says so.
func authority(t *testing.T, name string) (pair tls.Certificate, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pair = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return pair, write(t, name+".pem", "CERTIFICATE", der)
}

// write writes a file of PEM.
func write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Over TLS each side knows the other, and the plugin of nothing.
func TestTLS(t *testing.T) {
	pair, ca := authority(t, "loft.example")
	us, cert := authority(t, "wharf.example")
	der, err := x509.MarshalPKCS8PrivateKey(us.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(us.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	clients.AddCert(leaf)
	known := config.TLS{CA: ca, Cert: cert, Key: write(t, "key.pem", "PRIVATE KEY", der), Name: "loft.example"}
	eachHost(t, func(t *testing.T, h *host.Host) {
		l := serve(t, tls.NewListener(listen(t, "tcp", "127.0.0.1:0"), &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
		}), nil)
		at := "tls:" + l.Addr().String()
		talk(t, connect(t, h, host.Server{Address: at, TLS: known}))
		for want, wrong := range map[string]config.TLS{
			"certificate required": {CA: known.CA, Name: known.Name},
			"127.0.0.1":            {CA: known.CA, Cert: known.Cert, Key: known.Key},
			"authority's file":     {Cert: known.Cert, Key: known.Key, Name: known.Name},
		} {
			_, err := h.Connect(t.Context(), host.Server{Name: want[:3], Transport: "socket", Address: at, TLS: wrong})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("connecting with %+v ended with %v, want %s", wrong, err, want)
			}
		}
	})
}

// The process of a server is killed, and comes back, at a unix socket and with TCP.
func TestRestart(t *testing.T) {
	each(t, func(t *testing.T, files map[string]string) {
		for network, at := range map[string]string{"unix": filepath.Join(t.TempDir(), "loft.sock"), "tcp": exampletest.Address(t)} {
			t.Run(network, func(t *testing.T) {
				t.Parallel()
				var server *exampletest.Process
				restarttest.Run(t, restarttest.Trial{
					Config: exampletest.Config(t, files),
					Entry:  host.Server{Name: "loft", Transport: "socket", Address: network + ":" + at},
					Start: func(t *testing.T) {
						if network == "unix" {
							os.Remove(at) // which a process that was killed leaves behind
						}
						cmd := exec.Command(os.Args[0])
						cmd.Env = append(os.Environ(), listenVariable+"="+network+":"+at)
						server = exampletest.StartProcess(t, "listens", cmd)
					},
					Kill: func(*testing.T) { server.Kill() },
				})
			})
		}
	})
}

// The command of a user carries it.
func TestCommand(t *testing.T) {
	each(t, func(t *testing.T, files map[string]string) {
		l := serve(t, listen(t, "tcp", "127.0.0.1:0"), nil)
		configuration := fmt.Sprintf("[servers.loft]\ntransport = \"socket\"\naddress = %q\n", "tcp:"+l.Addr().String())
		absolute, err := filepath.Abs(files["socket"])
		if err != nil {
			t.Fatal(err)
		}
		exampletest.NewCommand(t, configuration, map[string]string{"socket": absolute}).Carries(t, "loft")
	})
}

// What the entry does not name cannot be opened.
func TestGrant(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host.Host) {
		_, err := h.Connect(t.Context(), host.Server{Name: "loft", Transport: "socket", Command: "true"})
		if !errors.Is(err, host.ErrDenied) || !strings.Contains(host.Hint(err), "address = ") {
			t.Errorf("connecting ended with %v (hint %q)", err, host.Hint(err))
		}
	})
}

// distortion is how a server writes one line; first is true for the first of all.
type distortion func(w io.Writer, line string, first bool)

var distortions = map[string]distortion{
	"carriage returns": func(w io.Writer, line string, _ bool) { io.WriteString(w, line+"\r\n") },
	"blank lines":      func(w io.Writer, line string, _ bool) { io.WriteString(w, "\n \n\r\n"+line+"\n\n") },
	"noise":            func(w io.Writer, line string, _ bool) { io.WriteString(w, "npm WARN deprecated\n"+line+"\n") },
	"byte order mark": func(w io.Writer, line string, first bool) {
		if first {
			line = "\uFEFF" + line
		}
		io.WriteString(w, line+"\n")
	},
	"a mark in pieces": func(w io.Writer, line string, first bool) {
		if first {
			pieces(w, "\uFEFF", 1)
		}
		io.WriteString(w, line+"\n")
	},
	"half a mark": func(w io.Writer, line string, first bool) {
		if first {
			pieces(w, "\xEF\xBB\n", 1)
		}
		io.WriteString(w, line+"\n")
	},
	"pieces": func(w io.Writer, line string, _ bool) { pieces(w, line+"\n", 1+len(line)/50) },
}

func pieces(w io.Writer, s string, n int) {
	for ; len(s) > n; s = s[n:] {
		io.WriteString(w, s[:n])
	}
	io.WriteString(w, s)
}

func TestDistortions(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host.Host) {
		for name, distort := range distortions {
			t.Run(name, func(t *testing.T) {
				l := serve(t, listen(t, "tcp", "127.0.0.1:0"), distort)
				s := connect(t, h, host.Server{Address: "tcp:" + l.Addr().String()})
				say(t, s, "Grüße, 世界 🚢")
				say(t, s, strings.Repeat("世界\n", 10_000))
			})
		}
	})
}

// A last line without a newline is one all the same: the call that it answers ends
// well, though the server is gone.
func TestLastWords(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host.Host) {
		last := func(w io.Writer, line string, _ bool) {
			if strings.Contains(line, "goodbye") {
				io.WriteString(w, line)
				w.(io.Closer).Close()
				return
			}
			io.WriteString(w, line+"\n")
		}
		l := serve(t, listen(t, "tcp", "127.0.0.1:0"), last)
		say(t, connect(t, h, host.Server{Address: "tcp:" + l.Addr().String()}), "goodbye")
	})
}
