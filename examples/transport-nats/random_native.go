//go:build !wasip1

package main

import "crypto/rand"

// fill is for builds outside of a sandbox, which are tests.
func fill(b *[12]byte) { rand.Read(b[:]) }
