//go:build !linux

package capability

import "time"

func processorTime(int) (time.Duration, bool) { return 0, false }
