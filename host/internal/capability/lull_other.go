//go:build !linux && !darwin

package capability

// lull has nothing to keep: these systems read into a buffer that is there when
// they begin to wait.
type lull struct{}

func (in *inlet) await() (buf *Chunk, n int, err error) {
	buf = GetChunk()
	n, err = in.from.Read(buf[:])
	return buf, n, err
}
