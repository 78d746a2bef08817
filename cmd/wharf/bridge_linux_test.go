package main

import (
	"os"
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
	screen := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "serve", "--http", "0")
	screen.start()
	screen.await("/mcp/demo")
	screen.Process.Signal(os.Interrupt)
	screen.ends(exit.CodeInterrupted, "Served: 0 requests of 0 clients, 0 of them failed or were not valid; servers were connected 0 times")
}
