package process

import "time"

// Usage is what a process uses of its system.
type Usage struct {
	CPU        time.Duration // of all processors, since its start
	PageTables int64         // bytes of the kernel's page tables for its memory
}
