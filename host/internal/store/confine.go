package store

import "runtime/debug"

// What a process that looks at a plugin for the first time may take. Compiling
// cannot be called off from within, so whoever waits for the process ends it; the
// processor time is for one that nobody waits for any more.
const (
	confinedCPU    = 60       // seconds, of all processors
	confinedMemory = 1 << 30  // bytes more than it has at the start
	confinedFile   = 64 << 20 // bytes of a file that it writes
)

// Confine limits the process that calls it, for good. Where the operating system
// has no such limits there is only the deadline of whoever waits; the memory has a
// limit on Linux alone.
func Confine() error {
	debug.SetMemoryLimit(confinedMemory / 2) // so that garbage goes before the limit is met
	return confine()
}
