package auth

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/pluginbuild"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guestBinary is the provider in testdata.
func guestBinary(t testing.TB) []byte {
	t.Helper()
	joined, _, _, err := pluginbuild.Join(testenv.Module(t, "./testdata/guest")) // as plugins are built
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// brief is enough for what a test lets providers do, whose others loop for ever.
var brief = bounds{fuel: 200_000_000, time: 20 * time.Second}

func newEngine(t testing.TB, b bounds) *Engine {
	t.Helper()
	e, err := openEngine(EngineConfig{}, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
