package wasm

import (
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// guestBinary is testdata/guest, a plain Go guest.
func guestBinary(t testing.TB) []byte {
	t.Helper()
	return testenv.Module(t, "./testdata/guest")
}
