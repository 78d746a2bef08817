//go:build unix

package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// keyed is a server that wants a key in a header, and has the entry with it.
type keyed struct {
	status         int // of a refusal
	wanted, there  atomic.Value
	refused, reads atomic.Int32
	broken         error
}

func (k *keyed) serve(t *testing.T) (*Origin, func() *captest.Recorder) {
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got := r.Header.Get("X-Key"); got != k.wanted.Load() || r.Header.Get("User-Agent") != UserAgent {
			k.refused.Add(1)
			http.Error(w, "no", k.status)
			return
		}
		w.Write(body)
	})
	o.Headers, _ = k.headers(t.Context())
	o.Reread = func(ctx context.Context) ([]abi.Pair, error) {
		k.reads.Add(1)
		if k.broken != nil {
			return nil, k.broken
		}
		return k.headers(ctx)
	}
	table := captest.NewTable(t, captest.Patient(grant))
	return o, func() *captest.Recorder {
		return post(t, table, "hello", abi.Pair{Key: "accept", Value: "application/json"})
	}
}

func (k *keyed) headers(context.Context) ([]abi.Pair, error) {
	return []abi.Pair{{Key: "X-Key", Value: k.there.Load().(string)}, {Key: "Host", Value: "configured.example"}}, nil
}

// A header that is another one by now is sent when the server refuses the old, and from then on at once. One that
// is the same is sent once.
func TestARefusedHeaderIsReadAnew(t *testing.T) {
	for _, status := range []int{401, 403} {
		k := &keyed{status: status}
		k.there.Store("1")
		_, send := k.serve(t)
		for i, s := range []struct {
			there, wanted  string
			refused, reads int32
		}{
			{"1", "1", 0, 0}, {"2", "2", 1, 1}, {"2", "2", 1, 1}, {"2", "3", 2, 2}, {"3", "4", 4, 4}, {"4", "4", 5, 5},
		} {
			k.there.Store(s.there)
			k.wanted.Store(s.wanted)
			r := send()
			if k.refused.Load() != s.refused || k.reads.Load() != s.reads {
				t.Errorf("%d, step %d: refused %d times and read %d times", status, i, k.refused.Load(), k.reads.Load())
			}
			if s.there == s.wanted {
				if string(r.Bytes) != "hello" {
					t.Errorf("%d, step %d: %v", status, i, r.Err)
				}
				continue
			}
			var refusal *Refusal
			if !errors.As(r.Err, &refusal) || refusal.HTTP != status || !refusal.Reread || refusal.Err != nil {
				t.Errorf("%d, step %d: %+v", status, i, r.Err)
			}
		}
	}
}

// Of many requests that are refused at once, none fails.
func TestARefusedHeaderOfManyRequests(t *testing.T) {
	k := &keyed{status: 401}
	k.there.Store("1")
	k.wanted.Store("1")
	_, send := k.serve(t)
	send()
	k.there.Store("2")
	k.wanted.Store("2")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if r := send(); string(r.Bytes) != "hello" {
				t.Error(r.Err)
			}
		})
	}
	all.Wait()
}

// Where the header cannot be read any more, a 401 says so.
func TestARefusedHeaderThatIsGone(t *testing.T) {
	gone := errors.New("the file is gone")
	for status, want := range map[int]string{401: "sign in: the file is gone; it answered HTTP 401: no", 403: "HTTP 403 to a request with X-Key: no"} {
		k := &keyed{status: status, broken: gone}
		k.there.Store("1")
		k.wanted.Store("2")
		o, send := k.serve(t)
		if status == 403 {
			o.Keys = []string{"X-Key"}
		}
		if r := send(); !strings.Contains(fmt.Sprint(r.Err), want) || errors.Is(r.Err, gone) != (status == 401) {
			t.Errorf("%d: %v, want %q", status, r.Err, want)
		}
	}
}

// Credentials are asked after the header, and sent with it.
func TestARefusedHeaderBesideCredentials(t *testing.T) {
	k := &keyed{status: 401}
	k.there.Store("1")
	k.wanted.Store("2")
	o, send := k.serve(t)
	creds := &token{ask: func(_ context.Context, c *Challenge) (bool, error) {
		k.there.Store("2") // too late for the first refusal
		return c.Number == 1, nil
	}}
	o.Credentials = creds
	if r := send(); string(r.Bytes) != "hello" || creds.asked.Load() != 1 || k.refused.Load() != 2 {
		t.Errorf("%v, asked %d times, refused %d times", r.Err, creds.asked.Load(), k.refused.Load())
	}
}
