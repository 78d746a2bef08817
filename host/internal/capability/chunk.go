package capability

import "sync"

// ChunkSize is how many bytes a handle reads at a time, and the capacity of a fresh pipe.
const ChunkSize = 64 << 10

// Chunk is a buffer for bytes that a handle reads. A handle has one in flight. On systems that
// report readable descriptors, an idle handle has none.
type Chunk [ChunkSize]byte

var chunks = sync.Pool{New: func() any { return new(Chunk) }}

// GetChunk takes a chunk from the pool. PutChunk gives it back.
func GetChunk() *Chunk { return chunks.Get().(*Chunk) }

// PutChunk is described at [GetChunk].
func PutChunk(c *Chunk) { chunks.Put(c) }
