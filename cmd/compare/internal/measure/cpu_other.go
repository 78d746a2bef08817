//go:build !unix

package measure

import (
	"math"
	"time"
)

// processorTime is only known on Unix; elsewhere it shows as 0.
func processorTime() time.Duration { return 0 }

// descriptors is only limited on Unix.
func descriptors() uint64 { return math.MaxUint64 }
