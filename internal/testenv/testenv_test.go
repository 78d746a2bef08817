package testenv_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// What was built is not written again while its source stays.
func TestPluginIsKept(t *testing.T) {
	const pkg = "github.com/wharf-mcp/wharf/examples/transport-socket"
	file := testenv.Plugin(t, pkg)
	module, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(module, []byte("\x00asm")) {
		t.Fatalf("%s: %v", file, err)
	}
	if again := testenv.Plugin(t, pkg); again != file {
		t.Errorf("built again, as %s", again)
	}
	if other := testenv.Plugin(t, pkg, "-X main.name=other"); other == file {
		t.Error("with other flags it is the same file")
	}
}
