package egress

import (
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Bounds of those who come to a callback. What they cost together is what a
// local program can make it cost: a megabyte or two.
const (
	maxCallbackConns = 64              // at a time; one more, and the one who is there longest has to leave
	callbackTime     = 5 * time.Second // for a request, and again for its page
	maxCallbackHead  = 32 << 10        // bytes: browsers send the cookies of every program on this machine
)

// callbackRequest is what of a request counts.
type callbackRequest struct{ method, host, path, query string }

// page is what a client is shown: fixed text, with nothing of the request.
type page struct {
	status int
	text   string
}

const goBack = " You can close this page and go back to the terminal."

var (
	pageDone    = page{http.StatusOK, "Thank you, that is all." + goBack}
	pageBad     = page{http.StatusBadRequest, "This is not what Wharf is waiting for, and nothing has changed." + goBack}
	pageNone    = page{http.StatusNotFound, "There is nothing here." + goBack}
	pageMethod  = page{http.StatusMethodNotAllowed, "There is nothing here to send to." + goBack}
	pageTooLate = page{http.StatusGone, "This sign-in has come back already." + goBack}
)

// callbackServer serves the clients of a callback.
type callbackServer struct {
	http    http.Server
	respond func(*callbackRequest) (page, func())
	once    sync.Once // of open
	loops   sync.WaitGroup

	mu      sync.Mutex
	clients []*clientConn // those who came first are first
}

func (d *callbackServer) init(answer func(*callbackRequest) (page, func())) {
	d.respond = answer
	d.http = http.Server{
		Handler:                      d,
		DisableGeneralOptionsHandler: true,
		ReadTimeout:                  callbackTime,
		WriteTimeout:                 callbackTime,
		MaxHeaderBytes:               maxCallbackHead,
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
	d.http.SetKeepAlivesEnabled(false)
}

// serve starts to serve those who connect to listeners. The system has kept those
// waiting who came before. It may be called again.
func (d *callbackServer) serve(listeners []net.Listener) {
	d.once.Do(func() {
		for _, listener := range listeners {
			d.loops.Go(func() { d.http.Serve(&countingListener{listener, d}) })
		}
	})
}

// close hangs up on all clients. No connection is accepted after it returns.
func (d *callbackServer) close() {
	d.once.Do(func() {})
	d.http.Close()
	d.loops.Wait()
}

// ServeHTTP implements http.Handler.
func (d *callbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, after := d.respond(&callbackRequest{r.Method, r.Host, r.URL.EscapedPath(), r.URL.RawQuery})
	p.write(w)
	if after != nil {
		http.NewResponseController(w).Flush() // the client has it, even if the server closes now
		after()
	}
}

// write writes the page. It runs nothing, loads nothing, cannot be framed, and
// sends its address, which may hold a code, nowhere.
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

// countingListener is a listener that counts those who come in.
type countingListener struct {
	net.Listener
	server *callbackServer
}

// Accept implements net.Listener.
func (t *countingListener) Accept() (net.Conn, error) {
	conn, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return t.server.admit(conn), nil
}

// clientConn is a connection that its server knows of, to close it.
type clientConn struct {
	net.Conn
	server *callbackServer
}

// admit lets a client in. Those who come and say nothing cannot keep others
// out: they are the first who have to leave.
func (d *callbackServer) admit(conn net.Conn) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.clients) == maxCallbackConns {
		d.clients[0].Conn.Close()
		d.clients = d.clients[1:]
	}
	v := &clientConn{conn, d}
	d.clients = append(d.clients, v)
	return v
}

func (v *clientConn) Close() error {
	v.server.forget(v)
	return v.Conn.Close()
}

func (d *callbackServer) forget(v *clientConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, w := range d.clients {
		if w == v {
			d.clients = append(d.clients[:i], d.clients[i+1:]...)
			return
		}
	}
}
