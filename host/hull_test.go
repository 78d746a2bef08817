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

// logVariable names the file in which a hull writes down what it is told.
const logVariable = "WHARF_TEST_LOG"

func init() {
	servers["hull"] = func() { serveRaw(true) }
	servers["old hull"] = func() { serveRaw(false) }
	servers["hull at sea"] = func() { serveHull(true) }
	servers["old hull at sea"] = func() { serveHull(false) }
}

// ship's log: one open file for the whole process, and whole lines at a time, so
// that a kill cuts none.
var shipsLog = sync.OnceValue(func() *os.File {
	f, err := os.OpenFile(os.Getenv(logVariable), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	return f
})

// enter writes a call down, and returns what is answered to it.
func enter(message string) string {
	if _, err := shipsLog().WriteString(message + "\n"); err != nil {
		panic(err)
	}
	return message + " " + strconv.Itoa(os.Getpid())
}

// inherited is the listener that a hull is started with.
func inherited() net.Listener {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		panic(err)
	}
	return l
}

// serveHull is the raw server behind HTTP, on a listener that it inherits: the
// address outlives it.
func serveHull(modern bool) {
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

// harbour keeps a hull at an address: when one is gone it launches the next. What
// comes to the address goes through the harbour's hands, which can cut it off.
type harbour struct {
	url     string // over tcp
	quay    net.Listener
	hulls   *os.File // the listener of the hulls
	to      string
	stop    chan struct{}
	workers sync.WaitGroup

	mu    sync.Mutex
	lines map[net.Conn]struct{}
	hull  *os.Process
}

// newHarbour listens on a unix socket, or over tcp, and starts the first hull.
func newHarbour(t testing.TB, network, kind, log, marker string) *harbour {
	t.Helper()
	inner, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close() // its duplicate stays
	b := &harbour{to: inner.Addr().String(), stop: make(chan struct{}), lines: make(map[net.Conn]struct{})}
	if b.hulls, err = inner.File(); err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(t.TempDir(), "loft.sock")
	}
	if b.quay, err = net.Listen(network, at); err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + b.quay.Addr().String()
	b.workers.Go(func() { b.launch(t, kind, log, marker) })
	b.workers.Go(b.moor)
	return b
}

// launch starts one hull after another.
func (b *harbour) launch(t testing.TB, kind, log, marker string) {
	for {
		self := server(kind)
		cmd := exec.Command(self.Command)
		cmd.Env = append(os.Environ(), serverVariable+"="+kind, logVariable+"="+log, marker)
		cmd.ExtraFiles, cmd.Stderr = []*os.File{b.hulls}, os.Stderr
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

// launched notes the hull of now, unless the harbour is closed.
func (b *harbour) launched(p *os.Process) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hull = p
	select {
	case <-b.stop:
		return false
	default:
		return true
	}
}

// moor takes in what comes, and leads it to the hull.
func (b *harbour) moor() {
	for {
		in, err := b.quay.Accept()
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
func (b *harbour) cut() bool {
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

func (b *harbour) close() {
	b.mu.Lock()
	close(b.stop)
	b.hull.Kill()
	for line := range b.lines {
		line.Close()
	}
	b.mu.Unlock()
	b.quay.Close()
	b.workers.Wait()
	b.hulls.Close()
}
