package session

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// about does one thing about a resource, and answers for all others.
func about(uri string, a act) act {
	return func(p *process, m message) {
		if about := member(m.Params, "uri"); string(about) == `"`+uri+`"` {
			a(p, m)
			return
		}
		answer(`{}`)(p, m)
	}
}

// wishes returns what a server was asked about resources, in order.
func wishes(p *process) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, method := range p.seen {
		if what, ok := strings.CutPrefix(method, "resources/"); ok && what != "read" {
			var uri string
			json.Unmarshal(member(p.raw[i].Params, "uri"), &uri)
			all = append(all, what+" "+uri)
		}
	}
	return all
}

// TestStuckSubscribe has a server that does not answer for one resource, of a
// session whose requests have no timeout: it holds up no other, and is given up.
func TestStuckSubscribe(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(hub(mcp.Legacy).with("resources/subscribe", about("stuck", silent))).open()
		began, stuck := time.Now(), make(chan error, 1)
		go func() {
			_, err := s.Subscribe(t.Context(), mcp.Filter{URIs: []string{"a", "stuck"}})
			stuck <- err
		}()
		synctest.Wait()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Subscribe(soon, mcp.Filter{URIs: []string{"a", "free"}}); err != nil || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := s.Subscribe(soon, mcp.Filter{URIs: []string{"stuck"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the same again: %v", err)
		}
		if err := <-stuck; !errors.Is(err, rpc.ErrTimeout) || time.Since(began) != ackTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestStuckUnsubscribe leaves a server that does not answer the unsubscribe: only a caller
// that wants the same resource waits, and not for ever.
func TestStuckUnsubscribe(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(hub(mcp.Legacy).with("resources/unsubscribe", silent))
		s := d.open()
		u := subscribe(t, s, mcp.Filter{URIs: []string{"a", "b", "d"}})
		began := time.Now()
		u.Close()
		if _, err := u.Next(t.Context()); !errors.Is(err, ErrClosed) || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		synctest.Wait() // it is about to be taken off
		if subscribe(t, s, mcp.Filter{URIs: []string{"b", "c"}}); time.Since(began) > 0 {
			t.Errorf("others waited for %v", time.Since(began))
		}
		if subscribe(t, s, mcp.Filter{URIs: []string{"a"}}); time.Since(began) != ackTimeout {
			t.Errorf("the same waited for %v", time.Since(began))
		}
		time.Sleep(time.Minute) // it is not bothered with the others
		want := []string{"subscribe a", "subscribe b", "subscribe d", "unsubscribe a", "subscribe b", "subscribe c", "subscribe a"}
		if got := wishes(d.process(0)); !reflect.DeepEqual(got, want) {
			t.Errorf("asked %q", got)
		}
	})
}

// TestTurnsOfAResource has some come and go while the server takes its time: the last
// word about a resource is what those want who are left.
func TestTurnsOfAResource(t *testing.T) {
	slowly := after(time.Second, answer(`{}`))
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(hub(mcp.Legacy).with("resources/subscribe", slowly).with("resources/unsubscribe", slowly))
		s := d.open()
		x := mcp.Filter{URIs: []string{"x"}}
		first := subscribe(t, s, x)
		first.Close()
		synctest.Wait() // it is about to be taken off
		second := subscribe(t, s, x)
		third := subscribe(t, s, x)
		second.Close()
		third.Close()
		time.Sleep(time.Minute)
		want := []string{"subscribe x", "unsubscribe x", "subscribe x", "subscribe x", "unsubscribe x"}
		if got := wishes(d.process(0)); !reflect.DeepEqual(got, want) {
			t.Errorf("asked %q", got)
		}
		s.subscribers.mu.Lock()
		defer s.subscribers.mu.Unlock()
		if len(s.subscribers.uriSubs) > 0 {
			t.Errorf("%d uriSubs are left", len(s.subscribers.uriSubs))
		}
	})
}
