// Package extism runs plugins that compute and do nothing else: auth providers and policies. It is the only
// package that imports the Extism library.
//
//	Engine ── Load ──► Plugin ── Call(owner, input) ──► output
//	                     └─ instances: a few that run at a time, a few that are kept for the next call
//
// A plugin gets bytes and returns bytes. Extism's own HTTP, files and variables are off; there is its
// kernel, which holds input and output, and WASI with no folder, no socket and no argument. A plugin is
// metered, compiled once, and bounded in memory, time and instances.
//
// An instance that has taken a call of one [Owner] takes none of another, so what a plugin keeps in its
// memory does not pass from one to another. An instance is discarded after an error, and after some
// hundred calls.
package extism
