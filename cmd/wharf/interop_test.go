package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInterop runs testdata/interop against servers as people use them. It
// wants a folder with a node_modules in it, which holds the three servers of
// the specification's authors, and node in the PATH:
//
//	npm install --prefix servers @modelcontextprotocol/server-{everything,filesystem,memory}
//	WHARF_INTEROP=$PWD/servers go test -run Interop ./cmd/wharf
func TestInterop(t *testing.T) {
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	servers, err := filepath.Abs(filepath.Join(dir, "node_modules", "@modelcontextprotocol"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(servers); err != nil {
		t.Fatal(err)
	}
	runScripts(t, filepath.Join("testdata", "interop"), []string{"SERVERS=" + servers})
}
