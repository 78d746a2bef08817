// Package brig takes from a process what it does not need, for good: it is for
// processes that run what nobody trusts, and is called by them.
package brig

import "runtime/debug"

// Limits are what a process may take. Where the operating system has no such
// limits, whoever waits for the process has to end it.
type Limits struct {
	CPU    uint64 // seconds, of all processors; 0 is no limit
	Memory uint64 // bytes more than it has now; on Linux alone
	File   uint64 // bytes of each file that it writes
	Open   uint64 // descriptors; 0 is no limit
}

// Confine limits the process. It leaves no core behind, has nothing open that it
// inherited but its three streams, and what it starts, if anything, has no rights
// that it has not. Limits can be lowered again, and never be raised.
func Confine(l Limits) error {
	if l.Memory > 0 {
		debug.SetMemoryLimit(int64(l.Memory / 2)) // so that garbage goes before the limit is met
	}
	return confine(l)
}

// Seal takes all files, all connections, all processes and all programs from the
// process: from now on it computes, and reads and writes what it has open. It
// reports whether the system can do that, which is Linux on processors that Seal
// knows; elsewhere it does nothing. No goroutine is exempt.
func Seal() (sealed bool) { return seal() }
