package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// An interrupt ends the reading of a file that does not end.
func TestInterruptEndsWaitForAFile(t *testing.T) {
	dir := t.TempDir()
	pipe, plugin, empty := filepath.Join(dir, "pipe"), filepath.Join("..", "..", "plugins", "stdio", "stdio.wasm"), filepath.Join(dir, "empty")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"servers", "--config", pipe},
		{"call", "demo", "echo", "message=@" + pipe},
		{"trace", "show", pipe},
		{"plugin", "test", pipe},
		{"plugin", "test", plugin, "--profile", pipe},
		{"plugin", "replay", pipe, plugin},
		{"plugin", "replay", empty, pipe},
		{"plugin", "add", plugin, "--key", pipe},
	} {
		p := start(t, (*exec.Cmd).StderrPipe, "wharf", args...)
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for a reader
		if err != nil {
			t.Fatal(err)
		}
		p.interrupt()
		p.wantExit(exit.CodeInterrupted)
		writer.Close()
	}
}
