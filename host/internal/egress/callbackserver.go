package egress

import (
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Bounds of the connections to a callback. All together cost a megabyte or two, which
// is what a local program can make them cost.
const (
	maxCallbackConns = 64              // at a time; with one more the oldest is closed
	callbackTime     = 5 * time.Second // for a request, and again for its page
	maxCallbackHead  = 32 << 10        // bytes: browsers send the cookies of every program on this machine
)

// page is a page for a client of a callback. It is fixed text, and has nothing of the request.
type page struct {
	status int
	text   string
}

const goBack = " You can close this page and go back to the terminal."

var (
	pageDone    = page{http.StatusOK, "Thank you, that is all." + goBack}
	pageDenied  = page{http.StatusOK, "The sign-in was not granted." + goBack}
	pageBad     = page{http.StatusBadRequest, "This is not what Wharf is waiting for, and nothing has changed." + goBack}
	pageNone    = page{http.StatusNotFound, "There is nothing here." + goBack}
	pageMethod  = page{http.StatusMethodNotAllowed, "There is nothing here to send to." + goBack}
	pageTooLate = page{http.StatusGone, "This sign-in has come back already." + goBack}
)

// callbackServer serves the clients of a callback.
type callbackServer struct {
	http    http.Server
	respond func(*http.Request) (page, func())
	once    sync.Once // for serve
	loops   sync.WaitGroup

	mu      sync.Mutex
	clients []net.Conn // the oldest first
}

func (s *callbackServer) init(respond func(*http.Request) (page, func())) {
	s.respond = respond
	s.http = http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true,
		ReadTimeout:                  callbackTime,
		WriteTimeout:                 callbackTime,
		MaxHeaderBytes:               maxCallbackHead,
		ErrorLog:                     log.New(io.Discard, "", 0),
		ConnState:                    s.count,
	}
	s.http.SetKeepAlivesEnabled(false)
}

// serve starts to accept connections of listeners. The system has kept earlier connections waiting.
// serve may be called again.
func (s *callbackServer) serve(listeners []net.Listener) {
	s.once.Do(func() {
		for _, listener := range listeners {
			s.loops.Go(func() { s.http.Serve(listener) })
		}
	})
}

// close hangs up on all clients. No connection is accepted after it returns.
func (s *callbackServer) close() {
	s.once.Do(func() {})
	s.http.Close()
	s.loops.Wait()
}

// ServeHTTP implements http.Handler.
func (s *callbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, after := s.respond(r)
	p.write(w)
	if after != nil {
		http.NewResponseController(w).Flush() // the client has it, even if the server closes now
		after()
	}
}

// write writes the page. The page runs nothing, loads nothing and cannot be framed. It sends its
// address, which may hold a code, nowhere.
func (p page) write(w http.ResponseWriter) {
	body := "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Wharf</title></head>\n" +
		"<body><h1>Wharf</h1><p>" + p.text + "</p></body></html>\n"
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET")
	}
	w.WriteHeader(p.status)
	io.WriteString(w, body)
}

// count bounds the connections: with one too many it closes the oldest, so that clients that
// connect and send nothing cannot keep others out.
func (s *callbackServer) count(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew: // called before the next connection is accepted
		if len(s.clients) == maxCallbackConns {
			s.clients[0].Close()
			s.clients = slices.Delete(s.clients, 0, 1)
		}
		s.clients = append(s.clients, conn)
	case http.StateClosed:
		if i := slices.Index(s.clients, conn); i >= 0 {
			s.clients = slices.Delete(s.clients, i, i+1)
		}
	}
}
