package main

import (
	"os"
	"path/filepath"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// ownSocket stands for the path of socketPath.
const ownSocket = "own"

// socketPath returns where the socket is if the user names no path.
func socketPath() (string, error) {
	dir, err := socketFolder()
	return filepath.Join(dir, "serve.sock"), err
}

// socketFolder returns the folder of sockets.
func socketFolder() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "wharf"), nil
	}
	return serveFolder()
}

// serveFolder returns the folder of files that clients need to reach this program.
func serveFolder() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", exit.Usage(err, "what clients need to reach this program is kept in your own configuration folder")
	}
	return filepath.Join(dir, "wharf", "serve"), nil
}
