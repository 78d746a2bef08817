package capability

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// tailWriter is where a test lets stderr go.
type tailWriter struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func TestTailKeepsTheEnd(t *testing.T) {
	for _, sizes := range [][]int{
		{0}, {1}, {tailSize}, {tailSize + 1}, {3*tailSize + 5}, {10, tailSize - 10}, {10, tailSize}, {tailSize, 1, 1, 1}, {7, 2 * tailSize, 9},
	} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			tail := NewTail()
			var all []byte
			rnd := rand.New(rand.NewPCG(1, 2))
			for _, n := range sizes {
				piece := make([]byte, n)
				for i := range piece {
					piece[i] = byte(rnd.Uint32())
				}
				all = append(all, piece...)
				tail.Write(piece)
			}
			if want := all[max(0, len(all)-tailSize):]; !bytes.Equal(tail.Bytes(), want) {
				t.Errorf("%d bytes kept, want the last %d", len(tail.Bytes()), len(want))
			}
		})
	}
}

// slowWriter lets the first Write in and holds it until it is let go.
type slowWriter struct {
	tailWriter
	entered, release chan struct{}
	once             sync.Once
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.entered); <-w.release })
	return w.tailWriter.Write(p)
}

func TestTailDoesNotWaitForItsFollower(t *testing.T) {
	w := &slowWriter{entered: make(chan struct{}), release: make(chan struct{})}
	tail := NewTail()
	var followed sync.WaitGroup
	followed.Go(func() { tail.follow(w) })
	tail.Write([]byte("first"))
	<-w.entered
	tail.Write(bytes.Repeat([]byte("x"), 2*tailSize))
	tail.Write([]byte("last"))
	close(w.release)
	tail.Close()
	followed.Wait()
	got := w.text.String()
	missed := fmt.Sprintf("first\n[%d bytes of stderr left out]\nxx", tailSize+4)
	if !strings.HasPrefix(got, missed) || !strings.HasSuffix(got, "xlast") {
		t.Errorf("the follower got %d bytes: %.60q", len(got), got)
	}
}

// promptWriter says what it got, each time.
type promptWriter chan []byte

func (w promptWriter) Write(p []byte) (int, error) {
	w <- bytes.Clone(p)
	return len(p), nil
}

// A follower that keeps up gets all of it, also of more than is kept.
func TestFollowerThatKeepsUp(t *testing.T) {
	w := make(promptWriter, 100)
	tail := NewTail()
	var followed sync.WaitGroup
	followed.Go(func() { tail.follow(w) })
	for size, left := 1, 3*tailSize; left > 0; size, left = size*3, left-size {
		piece := bytes.Repeat([]byte{byte(size)}, min(size, left, tailSize))
		tail.Write(piece)
		if got := <-w; !bytes.Equal(got, piece) {
			t.Errorf("of %d bytes it got %d", len(piece), len(got))
		}
	}
	tail.Close()
	followed.Wait()
	if len(w) > 0 {
		t.Errorf("it got more: %q", <-w)
	}
}
