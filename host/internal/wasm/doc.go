// Package wasm runs modules nobody has to trust. It looks at a module before
// anything is compiled, rewrites it so that work is paid for while it runs,
// keeps the result on disk, gives each instance a bounded memory, and answers
// the little of WASI a guest needs. It is the only door to wazero.
//
// The package knows nothing of Wharf's ABI. Its caller passes a Surface: the
// functions a module may import and the exports it must have.
//
// # Looking
//
// A file of up to 8 MB is looked at within 64 MB and, on a machine that is idle, 100
// ms, whatever is in it: the first limit (limits.go) that is exceeded ends the
// reading, and nothing is allocated by a count that was not held against one. Bodies
// are read one after the other, twice where the metered form is written; nothing of
// them is kept. What compiling them will take is estimated on the way (effort.go).
// What the cache holds is read within the same limits, and has to have the imports
// and exports of the module that it stands for (cached.go).
//
// # Fuel
//
// A unit of fuel buys at most about a nanosecond of computing, and ten of waiting
// for memory (budget.go has the figures). The meter (meter.go) adds three mutable
// globals to each module and charges at the entry of each function, at each loop
// header and at the joins of large bodies, always with the summed weight of all
// the code that may run before the next charge: work is paid for before it
// starts. Bulk operations pay by length, host calls by their price, a unit for
// each nanosecond they take. Recursion is paid for in bytes of native stack. The
// running module can reach none of it: indices past what the original declares,
// which in the metered form would name the added globals, functions and types,
// are refused.
//
// # Ownership
//
// An Engine and its Modules are safe for concurrent use. An Instance belongs to
// one goroutine at a time, its owner, and only its owner closes it. After a trap
// the instance is dead: every later call returns the same *Trap.
package wasm
