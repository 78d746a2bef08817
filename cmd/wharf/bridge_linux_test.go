package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// A person who starts a bridge is told what it is for, and what they may want in its place.
func TestBridgeWantsAProgram(t *testing.T) {
	screen := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "bridge", "demo")
	screen.start()
	screen.ends(exit.CodeUsage, "wharf bridge --print-config=CLIENT demo")
}

// So is one who starts serve without an address.
func TestServeWantsAProgram(t *testing.T) {
	screen := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "serve")
	screen.start()
	screen.ends(exit.CodeUsage, "wharf serve --print-config=CLIENT")
}

// And one who starts control.
func TestControlWantsAProgram(t *testing.T) {
	screen := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "control")
	screen.start()
	screen.ends(exit.CodeUsage, "wharf control --schema")
}

// A person who ends serve is told what it has served.
func TestServeTellsItsCounts(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock") // of t.TempDir the path would be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	screen := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "serve", "--unix", path)
	screen.start()
	screen.await(path)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, greeting("demo__add"))
	for answers := bufio.NewScanner(conn); answers.Scan() && !strings.Contains(answers.Text(), `"sum":3`); {
	}
	screen.Process.Signal(os.Interrupt)
	screen.ends(exit.CodeInterrupted, "Served: 2 requests of 1 client, 0 of them failed or were not valid; servers were connected 1 time, and")
}
