// Package captest has what the tests of capability and the packages below it share: a sink
// that records, tables with other graces, and helper processes. A helper is the test binary
// itself, started with a mode in its environment.
package captest

import (
	"net"
	"os"
	"testing"
)

// HelperEnv names a variable whose value is a mode. If it is set, the test binary runs as the helper
// of that mode.
const HelperEnv = "CAPABILITY_TEST_HELPER"

// leashEnv names a unix socket to which a helper connects when it starts. When that
// connection ends, a test knows that the helper is dead. A helper that outlives its test
// ends with the connection.
const leashEnv = "CAPABILITY_TEST_LEASH"

// LeashTo ties this process to the leash at path.
func LeashTo(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		panic(err)
	}
	go answer(conn)
}

// answer sends back what comes over the leash; a ! calls the helper as well.
func answer(conn net.Conn) {
	for buf := make([]byte, 1); ; {
		if _, err := conn.Read(buf); err != nil {
			os.Exit(0)
		}
		conn.Write(buf)
		if buf[0] == '!' {
			close(Called) // the helper may be gone with this
		}
	}
}

// Leash is the test's end of the connections that helpers make at their start.
type Leash struct {
	t        *testing.T
	Listener net.Listener
}

// NewLeash returns a leash that ends with the test.
func NewLeash(t *testing.T) Leash {
	t.Helper()
	l, err := net.Listen("unix", t.TempDir()+"/leash")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return Leash{t, l}
}

// Env is the variable that ties a helper to the leash.
func (l Leash) Env() string { return leashEnv + "=" + l.Listener.Addr().String() }

// Catch returns the connection of the next helper that starts.
func (l Leash) Catch() net.Conn {
	l.t.Helper()
	conn, err := l.Listener.Accept()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close() })
	return conn
}

// Caught returns the connections of the helpers that have started so far. One that
// was killed before that never comes, so it is not waited for.
func (l Leash) Caught() (conns []net.Conn) {
	l.t.Helper()
	at := l.Listener.Addr().(*net.UnixAddr)
	last := &net.UnixAddr{Net: at.Net, Name: at.Name + "-last"}
	own, err := net.DialUnix(at.Net, last, at)
	if err != nil {
		l.t.Fatal(err)
	}
	defer own.Close()
	for {
		conn := l.Catch()
		if conn.RemoteAddr().String() == last.Name {
			return conns
		}
		conns = append(conns, conn)
	}
}

// RunHelper runs the helper that the environment names, and ends the process; without
// one it returns. A TestMain calls it first.
func RunHelper() {
	mode := os.Getenv(HelperEnv)
	if mode == "" {
		return
	}
	if path := os.Getenv(leashEnv); path != "" {
		LeashTo(path)
	}
	Helpers[mode]()
	os.Exit(0)
}

// Helpers are the programs that a test binary can run as, by mode. A package adds its own.
var Helpers = map[string]func(){
	"deaf": func() { os.Stdout.WriteString("ready"); select {} },
	"crash": func() {
		os.Stderr.WriteString("no such table: users\n")
		os.Exit(3)
	},
}

// Called is closed when the test calls a helper over its leash.
var Called = make(chan struct{})
