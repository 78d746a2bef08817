package main

// fill asks the host for randomness, each time anew: what a mask is good for
// depends on the next one being impossible to guess. It is what crypto/rand
// does in the end, without half a megabyte of cryptography.
func fill(key *[4]byte) {
	if randomGet(key, uint32(len(key))) != 0 {
		panic("the host has no randomness")
	}
}

//go:wasmimport wasi_snapshot_preview1 random_get
//go:noescape
func randomGet(buf *[4]byte, size uint32) uint32
