package process

import "time"

// Usage is what a process takes of its system.
type Usage struct {
	CPU        time.Duration // of all processors, in its life
	PageTables int64         // bytes that the kernel needs to say where its memory is
}
