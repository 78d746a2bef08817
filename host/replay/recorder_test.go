package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// Many connections at once, each in order, and all of them whole.
func TestManyConnections(t *testing.T) {
	var out memoryFile
	r := NewRecorder(&out)
	variant(t, "plain") // before the crowd
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Go(func() { play(t, r, "plain", small) })
	}
	crowd.Wait()
	r.Flush(t.Context())
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if report := replayWith(t, out.String(), "plain", all); !report.Same || report.Connections != 8 || report.Incomplete {
		t.Errorf("got %+v", report)
	}
}

// Where there is no room, a connection is cut, and its beginning still runs.
func TestFullFile(t *testing.T) {
	var out memoryFile
	r := newRecorder(&out, 4<<10)
	play(t, r, "plain", small)
	play(t, r, "plain", small)
	if err := r.Close(); !errors.Is(err, errCut) {
		t.Errorf("closing: %v", err)
	}
	text := out.String()
	if len(text) > 5<<10 || strings.Count(text, `{"kind":"cut"`) != 1 || !strings.HasSuffix(text, "{\"kind\":\"end\"}\n") {
		t.Errorf("got %d bytes: %s", len(text), text)
	}
	if report := replayWith(t, text, "plain", all); !report.Same || !report.Incomplete {
		t.Errorf("got %+v", report)
	}
}

func TestLargeEvent(t *testing.T) {
	var out memoryFile
	r := NewRecorder(&out)
	recording := r.Connect("s", "p", "")
	recording.Event(abi.EventDescribe, 0, 0, 0, nil)
	recording.Return(0, nil)
	recording.Event(abi.EventData, 0, 0, stepCap, make([]byte, stepCap))
	recording.Return(0, nil)
	recording.Event(abi.EventClose, 0, 0, 0, nil) // nothing is recorded any more
	recording.Call(abi.CallClose, []uint32{1}, nil, 0)
	recording.Return(0, nil)
	recording.Ended(nil)
	if err := r.Close(); !errors.Is(err, errCut) || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// A writer that stands still does not hold up a connection.
func TestFullQueue(t *testing.T) {
	q := &jsonl.Writer[line]{}
	recording := &Connection{queue: q, number: 1}
	for n := range 100 {
		recording.Event(abi.EventData, 0, 0, 1<<20, make([]byte, 1<<20))
		recording.Return(0, nil)
		if recording.cut {
			b := q.Acquire()
			defer q.Release()
			if last := b.Entries[len(b.Entries)-1]; n < 32 || last.kind != kindCut || b.Weight > queueCap+1<<21 {
				t.Errorf("cut after %d events of 1 MiB: %+v", n, last)
			}
			return
		}
	}
	t.Error("a queue takes more than there is room for")
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "session.ndjson")
	for range 2 { // the second takes the place of the first
		r, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	thesis := filepath.Join(dir, "thesis")
	if err := os.WriteFile(thesis, []byte("my thesis"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(thesis); err == nil || !strings.Contains(err.Error(), "not a recording") {
		t.Errorf("over a thesis: %v", err)
	}
	var none *Recorder
	none.Secrets().Hide("a secret")
	none.Secrets().HideRecent("a secret")
	none.Flush(t.Context())
	if none.Close() != nil {
		t.Error("nothing is something")
	}
	(*Connection)(nil).Ended(nil)
}

// What a guest takes beyond the recording is the same each time, too.
func TestSources(t *testing.T) {
	c := clock{given: []int64{5000, 7000}}
	if a, b, d := c.now().UnixNano(), c.now().UnixNano(), c.now().UnixNano(); a != 5000 || b != 7000 || d != 8000 {
		t.Errorf("the clock says %d, %d, %d", a, b, d)
	}
	var first [8]byte
	for range 2 {
		r := random{given: []byte{1, 2, 3}}
		var p [8]byte
		if n, err := r.Read(p[:]); n != 8 || err != nil || p[0] != 1 || p[2] != 3 {
			t.Errorf("%v, %v", p, err)
		}
		if first != ([8]byte{}) && first != p {
			t.Errorf("%v and %v", first, p)
		}
		first = p
	}
}
