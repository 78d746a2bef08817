package capability

import "sync"

// ChunkSize is how much a handle reads at a time, and what a fresh pipe holds.
const ChunkSize = 64 << 10

// Chunk is a buffer that bytes of a handle are read into. A handle has one in flight. On
// systems that tell when something comes, it has none until then.
type Chunk [ChunkSize]byte

var chunks = sync.Pool{New: func() any { return new(Chunk) }}

// GetChunk returns a chunk of the pool, PutChunk gives it back.
func GetChunk() *Chunk { return chunks.Get().(*Chunk) }

// PutChunk is described at [GetChunk].
func PutChunk(c *Chunk) { chunks.Put(c) }
