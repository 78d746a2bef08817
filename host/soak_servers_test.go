package host_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
)

func init() {
	servers["sse server"] = func() { http.Serve(inherited(), &site{legacy: true, sse: true, reply: enter}) }
	servers["socket server"] = func() {
		l := inherited()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveLines(conn)
		}
	}
	servers["websocket server"] = func() { http.Serve(inherited(), http.HandlerFunc(upgrade)) }
}

// serveLines is the raw server on a connection, which it closes.
func serveLines(conn net.Conn) {
	defer conn.Close()
	serveConn(bufio.NewReader(conn), bufio.NewWriterSize(conn, 1<<16), true)
}

// upgrade is the raw server behind a WebSocket (RFC 6455, section 4.2).
func upgrade(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	serveLines(&framed{Conn: conn, in: rw.Reader})
}

// framed is a server's side of a WebSocket as a stream of lines: each text frame is a
// line, and each Write is a whole line. Messages are one frame of less than 64 KiB.
type framed struct {
	net.Conn
	in   *bufio.Reader
	line []byte // what is left of the last frame
}

func (f *framed) Read(p []byte) (int, error) {
	for len(f.line) == 0 {
		first, payload, err := f.next()
		switch {
		case err != nil:
			return 0, err
		case first == 0x88: // close
			return 0, io.EOF
		case first == 0x81: // text
			f.line = append(payload, '\n')
		}
	}
	n := copy(p, f.line)
	f.line = f.line[n:]
	return n, nil
}

// next reads a frame, which a client has masked.
func (f *framed) next() (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return 0, nil, err
	}
	size := uint16(head[1] & 0x7f)
	if size == 126 {
		if err := binary.Read(f.in, binary.BigEndian, &size); err != nil {
			return 0, nil, err
		}
	}
	masked := make([]byte, 4+int(size))
	_, err = io.ReadFull(f.in, masked)
	payload = masked[4:]
	for i := range payload {
		payload[i] ^= masked[i%4]
	}
	return head[0], payload, err
}

func (f *framed) Write(line []byte) (int, error) {
	n := len(line) - 1 // without its end
	frame := []byte{0x81, 126, byte(n >> 8), byte(n)}
	if n < 126 {
		frame = []byte{0x81, byte(n)}
	}
	_, err := f.Conn.Write(append(frame, line[:n]...))
	return len(line), err
}
