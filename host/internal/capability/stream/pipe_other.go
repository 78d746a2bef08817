//go:build !linux

package stream

// heldBy returns false: only Linux tells the writer of a pipe what is in it.
func heldBy(rawConn) (n int, known bool) { return 0, false }

// growPipe returns false: only Linux lets a process size its pipes.
func growPipe(rawConn) bool { return false }
