package guest_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

func init() {
	self, argument := "", ""
	argument = guest.SetApart(
		func() {
			if err := worker.Serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		},
		func(binary []byte) guest.Program {
			return &worker.Program{
				Binary: binary, Command: []string{self, argument}, Cache: codeCache, Hash: wasm.Hash(binary),
			}
		})
	var err error
	if self, err = os.Executable(); err != nil {
		panic(err)
	}
}

// codeCache is shared by the tests, and outlives them.
var codeCache = worker.NewCodeCache(filepath.Join(os.TempDir(), fmt.Sprintf("wharf-guest-cache-%d", os.Getuid())))
