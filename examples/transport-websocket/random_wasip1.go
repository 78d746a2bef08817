package main

// fill asks the host for random bytes, each time anew: a mask protects only if the next
// one cannot be guessed. crypto/rand does the same in the end, with half a
// megabyte of cryptography.
func fill(key *[4]byte) {
	if randomGet(key, uint32(len(key))) != 0 {
		panic("the host has no randomness")
	}
}

//go:wasmimport wasi_snapshot_preview1 random_get
//go:noescape
func randomGet(buf *[4]byte, size uint32) uint32
