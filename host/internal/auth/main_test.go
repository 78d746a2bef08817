package auth

import (
	"testing"

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

// brief is fuel for what a test lets providers do, so that those that loop end soon.
const brief = 200_000_000

// newEngine returns an engine that gives a call so much fuel.
func newEngine(t testing.TB, fuel int64) *Engine {
	t.Helper()
	e, err := NewEngine(EngineConfig{CacheDir: testenv.CodeDir(), Fuel: fuel})
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
