//go:build !unix

package measure

import (
	"math"
	"time"
)

// processorTime is known on Unix only; elsewhere it returns 0.
func processorTime() time.Duration { return 0 }

// descriptors returns no limit: only Unix has one.
func descriptors() uint64 { return math.MaxUint64 }
