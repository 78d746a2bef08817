// Package wasm runs untrusted modules. It validates a module before
// anything is compiled, rewrites it so that it pays for its work while it runs,
// keeps the result on disk, gives each instance a bounded memory, and implements
// the part of WASI that a guest needs. No other package imports wazero.
//
// The package knows nothing of Wharf's ABI. Its caller passes an ABI: the
// functions a module may import and the exports it must have.
//
// # Validation
//
// A file of up to 8 MB is validated within 64 MB and, on an idle machine, 100
// ms, whatever is in it: the first limit (limits.go) that is exceeded ends the
// reading, and nothing is allocated by a count that was not compared with a limit.
// Bodies are read one after the other, twice where the metered form is written;
// nothing of them is kept. The effort of compiling them is estimated on the way
// (effort.go). A metered form from the cache is read within the same limits, and must
// have the imports and exports of its module (cachematch.go).
//
// # Fuel
//
// A unit of fuel buys at most about a nanosecond of computing, and ten of waiting
// for memory (budget.go has the figures). The meter (meter.go) adds three mutable
// globals to each module and charges at the entry of each function, at each loop
// header and at the joins of large bodies, always with the summed weight of all
// the code that may run before the next charge: work is paid for before it
// starts. The check whether a charge at a join could be paid comes later, at the end
// of the function at the latest (mostOwed). Bulk operations pay by length, host
// calls by their price, a unit for each nanosecond they take. Recursion is paid for in
// bytes of native stack. The running module cannot reach the globals, functions and
// types that the meter adds: an index past what the original declares is refused.
//
// # Ownership
//
// An Engine and its Modules are safe for concurrent use. An Instance belongs to
// one goroutine at a time, its owner, and only its owner closes it. After a trap
// the instance is dead: every later call returns the same *Trap.
package wasm
