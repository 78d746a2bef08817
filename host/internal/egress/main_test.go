package egress

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

func TestMain(m *testing.M) {
	captest.RunHelper()
	goleak.VerifyTestMain(m)
}
