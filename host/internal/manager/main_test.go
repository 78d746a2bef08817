package manager

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// middle is a random number that leaves every wait as it is in the policy.
func middle() float64 { return 0.5 }
