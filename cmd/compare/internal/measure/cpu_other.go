//go:build !unix

package measure

import "time"

// processorTime is only known on Unix; elsewhere it shows as 0.
func processorTime() time.Duration { return 0 }
