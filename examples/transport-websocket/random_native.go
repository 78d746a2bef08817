//go:build !wasip1

package main

import "crypto/rand"

// fill fills key with random bytes, in builds outside of a sandbox, which are tests.
func fill(key *[4]byte) { rand.Read(key[:]) }
