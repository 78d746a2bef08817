package session

import (
	"bytes"
	"testing"
	"time"
)

// TestReadAgain keeps a large result twice: the second takes the place of the first, and
// there is room for another beside it.
func TestReadAgain(t *testing.T) {
	var r reads
	large, until := bytes.Repeat([]byte{' '}, maxReads/2+1), time.Now().Add(time.Hour)
	r.store("file:///small", []byte("{}"), until, 0)
	r.store("file:///large", large, until, 0)
	r.store("file:///large", large, until, 0)
	if _, _, ok := r.fresh("file:///small"); !ok {
		t.Error("a result went although there was room for it")
	}
	if want := len("file:///small") + len("{}") + len("file:///large") + len(large); r.bytes != want {
		t.Errorf("it counts %d bytes, want %d", r.bytes, want)
	}
}
