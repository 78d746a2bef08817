package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// TestMain lets the test binary be a site.
func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case "serve":
		ServeWeb(os.Stdin, os.Stdout, Legacy, Tools)
	case "silent":
	default:
		os.Exit(m.Run())
	}
}

// post sends a body and returns the response, read to its end.
func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

func TestWebAnswersInBothForms(t *testing.T) {
	for _, era := range []Era{Legacy, Modern} {
		w, err := NewWeb(era, Tools)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, size := range []int{1, 10_000, 1_000_000} {
			text := strings.Repeat("x", size)
			request := call(Echo, `{"message":"`+text+`"}`)
			plain, message := post(t, w.URL(JSON), request)
			if kind := plain.Header.Get("Content-Type"); kind != "application/json" || plain.ContentLength != int64(len(message)) {
				t.Errorf("%s: a %s of %d bytes", era, kind, plain.ContentLength)
			}
			want := exchange(t, era, false, request)[0] + "\n"
			if message != want {
				t.Errorf("%s: JSON of %d bytes, want %d", era, len(message), len(want))
			}
			stream, events := post(t, w.URL(Events), request)
			if kind := stream.Header.Get("Content-Type"); kind != "text/event-stream" || events != "event: message\ndata: "+want+"\n" {
				t.Errorf("%s: %s with %d bytes", era, kind, len(events))
			}
			if got := string(Message([]byte(events))); !strings.HasPrefix(got, want) {
				t.Errorf("%s: the message in the event has %d bytes", era, len(got))
			}
		}
	}
}

func TestWebRefuses(t *testing.T) {
	w, err := NewWeb(Legacy, Tools)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	notification := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, f := range []Form{JSON, Events} {
		if r, _ := post(t, w.URL(f), notification); r.StatusCode != http.StatusAccepted {
			t.Errorf("%s: notification: %s", f, r.Status)
		}
		if _, body := post(t, w.URL(f), call(Flood, `{"count":1}`)); !strings.Contains(body, "not over HTTP") {
			t.Errorf("%s: flood: %s", f, body)
		}
	}
	if r, _ := post(t, w.URL("else"), notification); r.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %s", r.Status)
	}
	r, err := http.Get(w.URL(JSON))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", r.Status)
	}
}

// visited answers what comes over a connection, and returns the error at which
// it ended.
func visited(in io.Reader, out io.Writer) error {
	v := visit{requests: bufio.NewReaderSize(in, 4<<10), conn: conn{face: face{tools: []byte(`{}`)}}}
	for {
		reply, err := v.next()
		if err != nil {
			return err
		}
		if _, err := out.Write(reply); err != nil {
			return err
		}
	}
}

const ping = `{"id":1,"method":"ping"}`

// head0 is a request without its Content-Length.
const head0 = "POST /json HTTP/1.1\r\nhost: a\r\n"

func TestRequestsMayComeInPieces(t *testing.T) {
	request := head0 + "content-length: " + strconv.Itoa(len(ping)) + "\r\n\r\n" + ping
	var out bytes.Buffer
	if err := visited(iotest.OneByteReader(strings.NewReader(request+request)), &out); err != io.EOF {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"id":1,"result":{}`); n != 2 {
		t.Errorf("%d answers in %q", n, out.String())
	}
}

func TestWrongRequestsEndTheConnection(t *testing.T) {
	for name, request := range map[string]string{
		"not HTTP":        ping + "\n",
		"chunked":         head0 + "Transfer-Encoding: chunked\r\n\r\n",
		"negative length": head0 + "Content-Length: -1\r\n\r\n",
		"no number":       head0 + "Content-Length: many\r\n\r\n",
		"endless":         head0 + "Content-Length: 999999999999\r\n\r\n",
		"long line":       head0 + "X: " + strings.Repeat("x", 8<<10) + "\r\n\r\n",
		"short body":      head0 + "Content-Length: 9\r\n\r\n{}",
	} {
		var out bytes.Buffer
		if err := visited(strings.NewReader(request), &out); err == nil || err == io.EOF || out.Len() > 0 {
			t.Errorf("%s: error %v, answer %q", name, err, out.String())
		}
	}
}

// FuzzVisit wants that anything is answered or ends the connection.
func FuzzVisit(f *testing.F) {
	f.Add(head0 + "Content-Length: 24\r\n\r\n" + ping)
	f.Add("GET /events HTTP/1.1\n\n" + head0)
	f.Add("POST /events HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, stream string) {
		var out bytes.Buffer
		if visited(strings.NewReader(stream), &out); out.Len() > 0 && !strings.HasPrefix(out.String(), "HTTP/1.1 ") {
			t.Errorf("answered %q", out.String())
		}
	})
}

// site opens the test binary.
func site(t *testing.T, how string) (*Site, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return OpenSite([]string{self, how})
}

func TestSiteCountsConnections(t *testing.T) {
	s, err := site(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		if got, err := s.Opened(); got != want || err != nil {
			t.Errorf("got %d, error %v, want %d", got, err, want)
		}
		c := &http.Client{Transport: &http.Transport{}}
		r, err := c.Post(s.URL(JSON), "", strings.NewReader(ping))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		c.CloseIdleConnections()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Opened(); err == nil {
		t.Error("a closed site counts")
	}
}

func TestSiteThatDoesNotServeIsAnError(t *testing.T) {
	if _, err := site(t, "silent"); err == nil || !strings.Contains(err.Error(), "server ended") {
		t.Errorf("silent: got %v", err)
	}
	if _, err := OpenSite(nil); err == nil {
		t.Error("no command: no error")
	}
}

// TestSocketAnswersAsOverStdio has two connections at a time, each with requests of
// its own.
func TestSocketAnswersAsOverStdio(t *testing.T) {
	s, err := NewSocket(Legacy, 3)
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for range 2 {
		c, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	for i, c := range conns {
		request := call(Echo, `{"message":"`+strconv.Itoa(i)+`"}`)
		if _, err := io.WriteString(c, request+"\n"); err != nil {
			t.Fatal(err)
		}
		got, err := bufio.NewReader(c).ReadString('\n')
		if want := exchange(t, Legacy, false, request)[0] + "\n"; err != nil || got != want {
			t.Errorf("got %q, error %v, want %q", got, err, want)
		}
	}
	if s.Opened() != 2 {
		t.Errorf("%d connections, expected 2", s.Opened())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}
