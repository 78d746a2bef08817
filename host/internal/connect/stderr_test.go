package connect

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/redact"
)

func TestStderrLines(t *testing.T) {
	long := strings.Repeat("x", lineCap)
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"one\ntwo\n"}, "[s] one\n[s] two\n"},
		{[]string{"o", "n", "e\r", "\nt", "wo\n"}, "[s] one\n[s] two\n"},
		{[]string{"\n\n"}, "[s] \n[s] \n"},
		{[]string{"last words"}, "[s] last words\n"},
		{[]string{""}, ""},
		{[]string{long + "y\n"}, "[s] " + long + "\n[s] y\n"},
		{[]string{long, "y\n"}, "[s] " + long + "\n[s] y\n"},
	} {
		var out strings.Builder
		p := newStderrWriter(&stderrLog{to: &out}, "s", new(redact.Set).Stream())
		for _, piece := range c.pieces {
			if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("%.20q: %d, %v", piece, n, err)
			}
		}
		p.flush()
		p.flush()
		if out.String() != c.want {
			t.Errorf("%.20q makes %.40q", c.pieces, out.String())
		}
	}
}

// Servers share one writer, which need not be good for more than one at a time.
func TestStderrIsShared(t *testing.T) {
	var out strings.Builder
	shared := &stderrLog{to: &out}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p := newStderrWriter(shared, "s", new(redact.Set).Stream())
			for range 100 {
				p.Write([]byte("line\n"))
			}
		})
	}
	wg.Wait()
	if want := strings.Repeat("[s] line\n", 800); out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestStderrBrokenWriter(t *testing.T) {
	p := newStderrWriter(&stderrLog{to: brokenWriter{}}, "s", new(redact.Set).Stream())
	if _, err := p.Write([]byte("line\n")); err == nil {
		t.Error("no error")
	}
}
