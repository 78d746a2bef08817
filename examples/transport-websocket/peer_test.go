//go:build !wasip1

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
)

// peer is the server's side of a WebSocket, which can also do what no server may.
type peer struct {
	conn net.Conn
	r    *bufio.Reader
	mu   sync.Mutex
}

// server is an HTTP server at which GET is upgraded and talked to.
type server struct {
	*httptest.Server
	token string // that a caller has to show; empty for none

	mu    sync.Mutex
	peers []*peer
	talks sync.WaitGroup
}

// serve starts a server. talk returns when it has no more to say.
func serve(t *testing.T, secure bool, talk func(p *peer)) *server {
	t.Helper()
	return start(t, nil, secure, talk)
}

// at starts a server at an address.
func at(t *testing.T, address string) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, l, false, speak(1000))
}

func start(t *testing.T, l net.Listener, secure bool, talk func(p *peer)) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.talks.Add(1)
		defer s.talks.Done()
		if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if p := s.upgrade(t, w, r); p != nil {
			defer p.conn.Close()
			talk(p)
		}
	}))
	if l != nil {
		s.Listener.Close()
		s.Listener = l
	}
	if s.EnableHTTP2 = true; secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.kill)
	return s
}

// upgrade does what section 4.2 asks of a server.
func (s *server) upgrade(t *testing.T, w http.ResponseWriter, r *http.Request) *peer {
	key := r.Header.Get("Sec-WebSocket-Key")
	if r.Method != "GET" || r.Header.Get("Sec-WebSocket-Version") != "13" || key == "" || r.Header.Get("Sec-WebSocket-Extensions") != "" ||
		!slices.Contains(r.Header["Sec-Websocket-Protocol"], "mcp") {
		t.Errorf("no opening handshake: %s %v", r.Method, r.Header)
		http.Error(w, "no opening handshake", http.StatusBadRequest)
		return nil
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return nil
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	p := &peer{conn: conn, r: rw.Reader}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers = append(s.peers, p)
	return p
}

// kill ends the server and all its connections, without a word.
func (s *server) kill() {
	s.Listener.Close()
	s.mu.Lock()
	for _, p := range s.peers {
		p.conn.Close()
	}
	s.mu.Unlock()
	s.CloseClientConnections()
	s.Close()
	s.talks.Wait()
}

func (p *peer) send(raw string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.conn, raw)
	return err
}

var errUnmasked = errors.New("a client must mask what it sends")

// next reads a frame.
func (p *peer) next() (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	var long [8]byte
	if extra := map[uint64]int{126: 2, 127: 8}[n]; extra > 0 {
		if _, err := io.ReadFull(p.r, long[8-extra:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(long[:])
	}
	var key [4]byte
	if _, err := io.ReadFull(p.r, key[:]); err != nil {
		return 0, nil, err
	}
	if head[1]&0x80 == 0 {
		return 0, nil, errUnmasked
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(p.r, payload)
	for i := range payload {
		payload[i] ^= key[i%4]
	}
	return head[0], payload, err
}

// message reads a message, answers pings and the close frame on the way.
func (p *peer) message() (message []byte, err error) {
	for {
		first, payload, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case first == 0x88:
			p.send(frame(0x88, string(payload)))
			return nil, io.EOF
		case first&0xf >= 8:
			continue
		}
		if message = append(message, payload...); first&final != 0 {
			return message, nil
		}
	}
}

// speak lets a server of the official SDK speak through the WebSocket: what it says
// goes out in fragments of up to size bytes, with a ping between them.
func speak(size int) func(p *peer) {
	return func(p *peer) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			s := restarttest.NewServer()
			s.Run(context.Background(), &mcp.IOTransport{Reader: inR, Writer: outW, MaxLineLength: -1})
			outW.Close()
		})
		wg.Go(func() {
			lines := bufio.NewReader(outR)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				p.send(fragments(strings.TrimSuffix(line, "\n"), size))
			}
		})
		for {
			message, err := p.message()
			if err != nil {
				break
			}
			inW.Write(append(bytes.ReplaceAll(message, []byte("\n"), nil), '\n'))
		}
		inW.Close()
		outR.Close()
		wg.Wait()
	}
}

// fragments frames a message.
func fragments(message string, size int) string {
	if len(message) <= size {
		return text(message)
	}
	var b strings.Builder
	first := byte(opText)
	for ; len(message) > size; message = message[size:] {
		b.WriteString(frame(first, message[:size]))
		b.WriteString(frame(0x89, "still there?"))
		first = opContinuation
	}
	return b.String() + frame(final|first, message)
}
