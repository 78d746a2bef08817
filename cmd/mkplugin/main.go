// Command mkplugin prepares Wasm modules that the Go toolchain has built for
// use as plugins. It writes each file anew, in place:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o pigeon.wasm ./pigeon
//	go run github.com/wharf-mcp/wharf/cmd/mkplugin pigeon.wasm
//
// The module behaves as before, and starts in half the time: see pluginbuild.Join.
// `wharf plugin build` does both steps at once.
package main

import (
	"fmt"
	"os"

	"github.com/wharf-mcp/wharf/host/pluginbuild"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mkplugin FILE.wasm...")
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		if err := prepare(path); err != nil {
			fmt.Fprintf(os.Stderr, "mkplugin: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func prepare(path string) error {
	module, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	joined, before, after, err := pluginbuild.Join(module)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d data segments, now %d\n", path, before, after)
	return os.WriteFile(path, joined, 0o666)
}
