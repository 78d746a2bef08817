package listener

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxStrangers is how many connections may be open of which no request was let in yet. Each costs a
// goroutine and its buffers, and its client has proven nothing.
const maxStrangers = 1024

// strangerTime is how long a stranger stays at least. A client that may be let in has sent its request by
// then, also where several hundred connect at once. Were it longer, strangers that say nothing and are followed
// by others would have a client wait longer.
const strangerTime = 250 * time.Millisecond

// maxUnread is how much is read of a client that has failed at the handshake.
const maxUnread = 256 << 10

// strangers is a listener that closes the oldest stranger where there are more than maxStrangers, but leaves
// each of them strangerTime. A client that is let in has sent its request at once, so it is rarely the oldest;
// were the newest closed instead, clients that say nothing would shut out all others.
type strangers struct {
	net.Listener
	secure bool          // they speak TLS
	fewer  chan struct{} // has a token when there may be fewer

	mu   sync.Mutex
	open []*stranger // oldest first
}

// stranger is a connection of which no request was let in yet.
type stranger struct {
	net.Conn
	among *strangers
	since time.Time
	known sync.Once // it is not among them any more

	shakesHands atomic.Bool // no request has come over TLS yet
	closing     sync.Once
}

// Accept takes the next connection, which is a stranger once there is room for it.
func (all *strangers) Accept() (net.Conn, error) {
	conn, err := all.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for oldest := all.inTheWay(); oldest != nil; oldest = all.inTheWay() {
		left := time.NewTimer(strangerTime - time.Since(oldest.since))
		select {
		case <-all.fewer:
		case <-left.C:
			oldest.drop()
		}
		left.Stop()
	}
	s := &stranger{Conn: conn, among: all, since: time.Now()}
	s.shakesHands.Store(all.secure)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open = append(all.open, s)
	return s, nil
}

// inTheWay returns the oldest stranger, or nil if there is room for another one.
func (all *strangers) inTheWay() *stranger {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.open) < maxStrangers {
		return nil
	}
	return all.open[0]
}

// Close closes the connection. After a handshake that has failed, the client may have sent its request already; a
// connection that is closed with unread bytes is reset, and the client would not read the alert that says what is
// wanted of it (RFC 9112, 9.6). So the rest is read for a moment, in the background.
func (s *stranger) Close() (err error) {
	s.closing.Do(func() {
		half, can := s.Conn.(interface{ CloseWrite() error })
		if !s.shakesHands.Load() || !can || half.CloseWrite() != nil {
			err = s.drop()
			return
		}
		go func() {
			defer s.drop()
			s.Conn.SetReadDeadline(time.Now().Add(strangerTime))
			io.CopyN(io.Discard, s.Conn, maxUnread)
		}()
	})
	return err
}

// drop closes the connection at once.
func (s *stranger) drop() error {
	s.leave()
	return s.Conn.Close()
}

// leave takes the connection from the strangers.
func (s *stranger) leave() {
	s.known.Do(func() {
		s.among.mu.Lock()
		defer s.among.mu.Unlock()
		s.among.open = slices.DeleteFunc(s.among.open, func(other *stranger) bool { return other == s })
		select {
		case s.among.fewer <- struct{}{}:
		default:
		}
	})
}

// strangerKey is the key of the connection in the context of its requests.
type strangerKey struct{}

// withStranger is [http.Server.ConnContext].
func withStranger(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, strangerKey{}, below(c))
}

// noteRequest is [http.Server.ConnState]. A connection is active once its first request has begun.
func noteRequest(c net.Conn, state http.ConnState) {
	if s, is := below(c).(*stranger); is && state == http.StateActive {
		s.shakesHands.Store(false)
	}
}

// below returns the connection below TLS, or c itself.
func below(c net.Conn) net.Conn {
	if t, is := c.(*tls.Conn); is {
		return t.NetConn()
	}
	return c
}

// LetIn returns a function that finds the principal of a request as find does. [Serve] then keeps the
// connection of a request that has one, however many others come.
func LetIn(find func(*http.Request) (string, error)) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		principal, err := find(r)
		if s, is := r.Context().Value(strangerKey{}).(*stranger); is && err == nil {
			s.leave()
		}
		return principal, err
	}
}
