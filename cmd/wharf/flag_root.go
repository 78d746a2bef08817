package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// folders is the value of --root: the folders that servers are told of. Servers learn
// of no other folder, not even the working folder.
type folders []mcp.Root

func (f *folders) Type() string   { return "DIR" }
func (f *folders) String() string { return "" }

func (f *folders) Set(dir string) error {
	if dir == "" { // which filepath.Abs takes for the working folder
		return unnamed("folder")
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(whole)
	switch {
	case err != nil:
		return fmt.Errorf("expected a folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("expected a folder, %s is not one", dir)
	}
	path := filepath.ToSlash(whole)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	uri := url.URL{Scheme: "file", Path: path} // RFC 8089
	*f = append(*f, mcp.Root{URI: uri.String(), Name: filepath.Base(whole)})
	return nil
}

// letRoots lets a host tell servers the folders, if any were given.
func (f folders) letRoots(c *host.Config) {
	if len(f) > 0 {
		c.Client.Roots = func(context.Context, string) ([]mcp.Root, error) { return f, nil }
	}
}

// unnamed is the error of a file or a folder whose name is empty.
func unnamed(what string) error { return fmt.Errorf("expected the name of a %s", what) }
