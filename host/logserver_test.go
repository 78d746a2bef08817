package host_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// logVariable names the file in which a logServer writes down what it is told.
const logVariable = "WHARF_TEST_LOG"

func init() {
	servers["log server"] = func() { serveRaw(true) }
	servers["old log server"] = func() { serveRaw(false) }
	servers["log server over TCP"] = func() { serveLogServer(true) }
	servers["old log server over TCP"] = func() { serveLogServer(false) }
}

// ship's log: one open file for the whole process, and whole lines at a time, so
// that a kill cuts none.
var serverLog = sync.OnceValue(func() *os.File {
	f, err := os.OpenFile(os.Getenv(logVariable), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	return f
})

// enter writes a call down, and returns what is answered to it.
func enter(message string) string {
	if _, err := serverLog().WriteString(message + "\n"); err != nil {
		panic(err)
	}
	return message + " " + strconv.Itoa(os.Getpid())
}

// inherited is the listener that a logServer is started with.
func inherited() net.Listener {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		panic(err)
	}
	return l
}

// serveLogServer is the raw server behind HTTP, on a listener that it inherits: the
// address outlives it.
func serveLogServer(modern bool) {
	session := strconv.Itoa(os.Getpid())
	http.Serve(inherited(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hello := bytes.Contains(body, []byte(`"initialize"`))
		switch {
		case r.Method != http.MethodPost:
			http.Error(w, "not here", http.StatusMethodNotAllowed)
			return
		case !modern && !hello && r.Header.Get("Mcp-Session-Id") != session && !bytes.Contains(body, []byte("server/discover")):
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		var said bytes.Buffer
		serveConn(bufio.NewReader(bytes.NewReader(append(body, '\n'))), bufio.NewWriter(&said), modern)
		status := http.StatusOK
		switch {
		case said.Len() == 0:
			status = http.StatusAccepted
		case bytes.Contains(said.Bytes(), []byte(`"code":-32601`)):
			status = http.StatusBadRequest
		case hello:
			w.Header().Set("Mcp-Session-Id", session)
		}
		w.Header().Set("Content-Type", mediaJSON)
		w.WriteHeader(status)
		w.Write(said.Bytes())
	}))
}

// serverProxy keeps a logServer at an address: when one is gone it launches the next. What
// comes to the address goes through the serverProxy's hands, which can cut it off.
type serverProxy struct {
	url        string // over tcp
	listener   net.Listener
	logServers *os.File // the listener of the logServers
	to         string
	stop       chan struct{}
	workers    sync.WaitGroup

	mu        sync.Mutex
	lines     map[net.Conn]struct{}
	logServer *os.Process
}

// newServerProxy listens on a unix socket, or over tcp, and starts the first logServer.
func newServerProxy(t testing.TB, network, kind, log, marker string) *serverProxy {
	t.Helper()
	inner, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close() // its duplicate stays
	b := &serverProxy{to: inner.Addr().String(), stop: make(chan struct{}), lines: make(map[net.Conn]struct{})}
	if b.logServers, err = inner.File(); err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(t.TempDir(), "loft.sock")
	}
	if b.listener, err = net.Listen(network, at); err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + b.listener.Addr().String()
	b.workers.Go(func() { b.launch(t, kind, log, marker) })
	b.workers.Go(b.moor)
	return b
}

// launch starts one logServer after another.
func (b *serverProxy) launch(t testing.TB, kind, log, marker string) {
	for {
		self := server(kind)
		cmd := exec.Command(self.Command)
		cmd.Env = append(os.Environ(), serverVariable+"="+kind, logVariable+"="+log, marker)
		cmd.ExtraFiles, cmd.Stderr = []*os.File{b.logServers}, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		if !b.launched(cmd.Process) {
			cmd.Process.Kill()
		}
		cmd.Wait()
		select {
		case <-b.stop:
			return
		default:
		}
	}
}

// launched notes the logServer of now, unless the serverProxy is closed.
func (b *serverProxy) launched(p *os.Process) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logServer = p
	select {
	case <-b.stop:
		return false
	default:
		return true
	}
}

// moor takes in what comes, and leads it to the logServer.
func (b *serverProxy) moor() {
	for {
		in, err := b.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", b.to)
		if err != nil {
			in.Close()
			continue
		}
		b.workers.Go(func() {
			b.mu.Lock()
			b.lines[in] = struct{}{}
			b.mu.Unlock()
			b.workers.Go(func() { lead(out, in); out.Close() })
			lead(in, out)
			in.Close()
			out.Close()
			b.mu.Lock()
			delete(b.lines, in)
			b.mu.Unlock()
		})
	}
}

// lead copies without the pipes of the kernel: the runtime keeps those for later,
// as open descriptors.
func lead(to io.Writer, from io.Reader) {
	io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
}

// cut resets a connection, if there is one.
func (b *serverProxy) cut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range b.lines {
		delete(b.lines, line)
		if tcp, ok := line.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		return line.Close() == nil
	}
	return false
}

func (b *serverProxy) close() {
	b.mu.Lock()
	close(b.stop)
	b.logServer.Kill()
	for line := range b.lines {
		line.Close()
	}
	b.mu.Unlock()
	b.listener.Close()
	b.workers.Wait()
	b.logServers.Close()
}
