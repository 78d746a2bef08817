package abi

// Limits that a guest can rely on and a host keeps to. A guest that stays within them never sees
// [LimitReached].
const (
	// MaxHandles bounds the handles that one connection may have open.
	MaxHandles = 128
	// MaxTimers bounds the timers that one connection may have armed.
	MaxTimers = 32
	// MinTimer is the shortest timer in milliseconds. A timer that is set to less waits this long.
	MinTimer = 10
	// ChunkSize is the most bytes that one DATA event, or the body in one HEAD
	// event, carries.
	ChunkSize = 64 << 10
	// UnreadChunks is how many chunks of a handle wait for a busy guest. Then the host stops
	// reading from the other side until the guest has taken one.
	UnreadChunks = 2
	// MaxSavedState is the most bytes that save keeps.
	MaxSavedState = 16 << 10
	// LastWords is the most bytes of a process's stderr that its EXIT
	// carries.
	LastWords = 4 << 10
)

// MaxGeneration is the last generation of a handle. With a greater one the handle would be negative, as a status is.
const MaxGeneration = 1<<23 - 1

// handleIndexBits is the width of the index in a handle.
const handleIndexBits = 8

// MakeHandle returns the handle of the index-th slot, counted from 1, in its generation-th
// use. Each use of a slot has another handle, so that a guest which kept an old one finds it
// closed.
func MakeHandle(index uint8, generation uint32) uint32 {
	return uint32(index) | generation<<handleIndexBits
}

// SplitHandle is the inverse of [MakeHandle].
func SplitHandle(handle uint32) (index uint8, generation uint32) {
	return uint8(handle), handle >> handleIndexBits
}
