package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

var wanted3 = mcp.Filter{Tools: true, URIs: []string{"file:///b", "file:///a", "file:///b"}}

// listens acknowledges a stream, with all that it was asked for.
func listens(p *process, m message) {
	note(p, "notifications/subscriptions/acknowledged",
		fmt.Sprintf(`{"_meta":{%q:%s},"notifications":%s}`, mcp.MetaSubscriptionID, m.ID, member(m.Params, "notifications")))
}

// hub returns a server that lets one subscribe.
func hub(era mcp.Era) server {
	return able(era, everything).with("subscriptions/listen", listens).
		with("resources/subscribe", answer(`{}`)).with("resources/unsubscribe", answer(`{}`))
}

// tell has a process tell of a change; in the modern era on its nth stream.
func tell(p *process, nth int, method, uri string) {
	params := `{}`
	if uri != "" {
		params = fmt.Sprintf(`{"uri":%q}`, uri)
	}
	if streams := p.find("subscriptions/listen"); nth < len(streams) {
		comma := ","
		if uri == "" {
			comma = ""
		}
		params = fmt.Sprintf(`{"_meta":{%q:%s}%s%s`, mcp.MetaSubscriptionID, streams[nth].ID, comma, params[1:])
	}
	note(p, method, params)
}

func subscribe(t *testing.T, s *Session, f mcp.Filter) *Subscription {
	t.Helper()
	u, err := s.Subscribe(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// next returns what a subscription has heard so far.
func next(u *Subscription) (all []string) {
	synctest.Wait()
	for {
		c, ok := u.take()
		if !ok {
			return all
		}
		all = append(all, strings.TrimSpace(string(c.Kind)+" "+c.URI))
	}
}

func TestSubscribe(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era))
			u := subscribe(t, d.open(), wanted3)
			want := mcp.Filter{Tools: true, URIs: []string{"file:///a", "file:///b"}}
			if got := u.Honoured(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: honours %+v", era, got)
			}
			p := d.process(0)
			tell(p, 0, "notifications/resources/updated", "file:///b")
			tell(p, 0, "notifications/tools/list_changed", "")
			tell(p, 0, "notifications/prompts/list_changed", "")
			tell(p, 0, "notifications/resources/updated", "file:///b")
			tell(p, 0, "notifications/resources/updated", "file:///a/part")
			if got := next(u); !reflect.DeepEqual(got, []string{"resource file:///b", "tools", "resource file:///a/part"}) {
				t.Errorf("%s: heard %q", era, got)
			}
			u.Close()
			u.Close()
			if _, err := u.Next(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", era, err)
			}
			synctest.Wait()
			if seen := p.received(); !strings.Contains(seen, map[mcp.Era]string{
				mcp.Legacy: "resources/subscribe resources/subscribe resources/unsubscribe resources/unsubscribe",
				mcp.Modern: "subscriptions/listen notifications/cancelled",
			}[era]) {
				t.Errorf("%s: saw %s", era, seen)
			}
		})
	}
}

// TestSubscribersApart has two subscriptions with a resource in common.
func TestSubscribersApart(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era))
			s := d.open()
			a := subscribe(t, s, mcp.Filter{URIs: []string{"x", "both"}})
			b := subscribe(t, s, mcp.Filter{URIs: []string{"both", "y"}})
			p := d.process(0)
			tell(p, 0, "notifications/resources/updated", "x")
			tell(p, 1, "notifications/resources/updated", "y")
			tell(p, 9, "notifications/resources/updated", "both") // modern: on a stream of no subscription
			legacy := map[mcp.Era][]string{mcp.Legacy: {"resource both"}}[era]
			if got := next(a); !reflect.DeepEqual(got, append([]string{"resource x"}, legacy...)) {
				t.Errorf("%s: a heard %q", era, got)
			}
			if got := next(b); !reflect.DeepEqual(got, append([]string{"resource y"}, legacy...)) {
				t.Errorf("%s: b heard %q", era, got)
			}
			a.Close()
			synctest.Wait()
			if off := p.find("resources/unsubscribe"); era == mcp.Legacy && (len(off) != 1 || string(off[0].Params) != `{"uri":"x"}`) {
				t.Errorf("unsubscribed %s", off)
			}
			tell(p, 1, "notifications/resources/updated", "both")
			if got := next(b); len(got) != 1 || len(next(a)) > 0 {
				t.Errorf("%s: b heard %q", era, got)
			}
		})
	}
}

func TestSubscribeRefused(t *testing.T) {
	tests := []struct {
		name   string
		script server
		want   error
		text   string
	}{
		{"legacy, not declared", able(mcp.Legacy, `{"tools":{},"resources":{"subscribe":false}}`), ErrUnsupported, "any of the changes"},
		{"legacy, refused", hub(mcp.Legacy).with("resources/subscribe", refuse(-32602, "no such resource", "")), nil, "-32602: no such resource"},
		{"modern, no such method", able(mcp.Modern, everything), nil, "-32601"},
		{"modern, nothing honoured", hub(mcp.Modern).with("subscriptions/listen", func(p *process, m message) {
			note(p, "notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{%q:%s},"notifications":{"toolsListChanged":5}}`, mcp.MetaSubscriptionID, m.ID))
		}), ErrUnsupported, ""},
		{"modern, never acknowledged", hub(mcp.Modern).with("subscriptions/listen", silent), rpc.ErrTimeout, "did not acknowledge"},
		{"modern, ended at once", hub(mcp.Modern).with("subscriptions/listen", answer(`{}`)), errTornDown, ""},
		{"gone", hub(mcp.Modern).with("subscriptions/listen", exit("crashed")), rpc.ErrClosed, "crashed"},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			began := time.Now()
			_, err := launcher(test.script).open().Subscribe(t.Context(), wanted3)
			if took := time.Since(began); took > ackTimeout {
				t.Errorf("%s: took %v", test.name, took)
			}
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) ||
				!strings.HasPrefix(err.Error(), "subscribe on files: ") {
				t.Errorf("%s: %v", test.name, err)
			}
		})
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(hub(mcp.Modern).with("subscriptions/listen", silent)).open()
		if _, err := s.Subscribe(t.Context(), mcp.Filter{}); err == nil {
			t.Error("subscribed to nothing")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Subscribe(ctx, wanted3); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		s.Close()
		if _, err := s.Subscribe(t.Context(), wanted3); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// TestResubscribe loses the connection, or the stream, and hears again.
func TestResubscribe(t *testing.T) {
	ends := map[string]func(p *process){
		"crash":    func(p *process) { p.exit(errors.New("gone")) },
		"graceful": func(p *process) { answer(`{}`)(p, p.find("subscriptions/listen")[0]) },
		"cancelled": func(p *process) {
			note(p, "notifications/cancelled", fmt.Sprintf(`{"requestId":%s}`, p.find("subscriptions/listen")[0].ID))
		},
	}
	for name, end := range ends {
		for _, era := range eras {
			if era == mcp.Legacy && name != "crash" {
				continue
			}
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(hub(era), hub(era))
				u := subscribe(t, d.open(), wanted3)
				end(d.process(0))
				time.Sleep(time.Second)
				p, nth := d.process(d.started()-1), 0
				if name != "crash" {
					nth = 1
				}
				tell(p, nth, "notifications/tools/list_changed", "")
				if got := next(u); !reflect.DeepEqual(got, []string{"missed", "tools"}) {
					t.Errorf("%s, %s: heard %q", era, name, got)
				}
				tell(d.process(0), 0, "notifications/resources/updated", "file:///a")
				if got := next(u); name == "crash" && len(got) > 0 {
					t.Errorf("%s: heard %q of the dead", era, got)
				}
			})
		}
	}
}

// TestMissedAfterTheAnswer has a server take its time to agree anew: what was missed
// until then is told when nothing is missed any more.
func TestMissedAfterTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		slowly := after(time.Minute/4, answer(`{}`))
		d := launcher(hub(mcp.Legacy), hub(mcp.Legacy).with("resources/subscribe", slowly))
		u := subscribe(t, d.open(), wanted3)
		d.process(0).exit(errors.New("gone"))
		time.Sleep(time.Minute / 4)
		if got := next(u); len(got) > 0 {
			t.Errorf("heard %q before the server agreed", got)
		}
		time.Sleep(time.Minute)
		if got := next(u); !reflect.DeepEqual(got, []string{"missed"}) {
			t.Errorf("heard %q", got)
		}
	})
}

// TestEndedStreamIsNotHeard holds that a stream which has ended without an acknowledgement
// does not take that of the next one.
func TestEndedStreamIsNotHeard(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(hub(mcp.Modern).with("subscriptions/listen", answer(`{}`))).open()
		u := &Subscription{session: s, filter: wanted3, wake: make(chan struct{}, 1)}
		u.ctx, u.cancel = context.WithCancelCause(s.ctx)
		l := s.current()
		if err := u.holdModern(l, func() { t.Error("it was opened") }); !errors.Is(err, errTornDown) {
			t.Error(err)
		}
		if u.acknowledge(l.inbox, "2", wanted3, nil) {
			t.Error("it took the word for another")
		}
	})
}

// TestLateAcknowledgement has a server acknowledge a stream that was given up, while
// the next one waits for its own: that hears what it was opened for.
func TestLateAcknowledgement(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(hub(mcp.Modern).with("subscriptions/listen", after(2*time.Second, listens)))
		s := d.open()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Subscribe(soon, wanted3); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		given := s.current().Dialed.Peer.Last()
		u := subscribe(t, s, wanted3)
		if u.binding.after < given {
			t.Errorf("it listens to what comes after %d; the one before had %d", u.binding.after, given)
		}
		time.Sleep(time.Minute)
		tell(d.process(0), 1, "notifications/tools/list_changed", "")
		if got := next(u); !reflect.DeepEqual(got, []string{"tools"}) {
			t.Errorf("heard %q", got)
		}
	})
}

// TestResubscribeSlowly has a server that ends every stream: it is asked again
// with growing pauses, and never in a hurry.
func TestResubscribeSlowly(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(hub(mcp.Modern).with("subscriptions/listen", both(listens, after(time.Second, answer(`{}`)))))
		u := subscribe(t, d.open(), wanted3)
		time.Sleep(5 * time.Minute)
		if n := len(d.process(0).find("subscriptions/listen")); n < 10 || n > 20 {
			t.Errorf("%d streams in five minutes", n)
		}
		if got := next(u); !reflect.DeepEqual(got, []string{"missed"}) {
			t.Errorf("heard %q", got)
		}
	})
}

// TestResubscribeRefused ends a subscription when the next server has none.
func TestResubscribeRefused(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era), able(era, `{}`))
			u := subscribe(t, d.open(), wanted3)
			d.process(0).exit(errors.New("gone"))
			_, err := u.Next(t.Context())
			var fault *rpc.Error
			if era == mcp.Legacy && !errors.Is(err, ErrUnsupported) || era == mcp.Modern && !errors.As(err, &fault) {
				t.Errorf("%s: %v", era, err)
			}
		})
	}
}

// TestSlowSubscriber never reads, while a server tells of ever new resources.
func TestSlowSubscriber(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era))
			s := d.open()
			u := subscribe(t, s, wanted3)
			for i := range 10_000 {
				tell(d.process(0), 0, "notifications/resources/updated", fmt.Sprint("file:///", i))
			}
			if _, err := call(t, s); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if len(u.pending) > maxPending || u.pending[0].Kind != mcp.Missed {
				t.Errorf("%s: %d changes wait, the first is %+v", era, len(u.pending), u.pending[0])
			}
		})
	}
}

// TestSubscriptionOfAClosedSession holds that Close ends every Next, from
// the callback for notifications too.
func TestSubscriptionOfAClosedSession(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era))
			var s *Session
			s = d.open(func(c *setup) {
				c.Notify = func(method string, _ json.RawMessage, _ uint64) {
					if method == mcp.NotificationToolsListChanged {
						s.Close()
					}
				}
			})
			u := subscribe(t, s, wanted3)
			tell(d.process(0), 0, "notifications/tools/list_changed", "")
			if c, err := u.Next(t.Context()); err != nil || c.Kind != mcp.ToolsChanged {
				t.Errorf("%s: %v, %v", era, c, err)
			}
			for range 2 {
				if _, err := u.Next(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", era, err)
				}
			}
		})
	}
}

// TestCloseEndsSubscriptions holds that nothing of them is left when Close returns,
// and that no subscription is admitted meanwhile.
func TestCloseEndsSubscriptions(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(hub(era)).open()
			u := subscribe(t, s, wanted3)
			s.Close()
			select {
			case <-u.over:
			default:
				t.Errorf("%s: it goes on", era)
			}
			if s.subscribers.add(u) {
				t.Errorf("%s: the subscribers is open", era)
			}
		})
	}
}

// TestOtherConnections holds that what was said on one connection is not heard by
// a subscription on another, where ids may be the same.
func TestOtherConnections(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(hub(mcp.Legacy)).open()
		u := subscribe(t, s, wanted3)
		s.newInbox().Preempt(mcp.NotificationToolsListChanged, nil)
		if got := next(u); len(got) > 0 {
			t.Errorf("heard %q", got)
		}
	})
}

// TestSubscribeTooLate has the caller leave in the moment in which the server
// agrees: whichever of the two is seen first, Close has nothing to wait for.
func TestSubscribeTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(hub(mcp.Legacy)).open()
		late, cancel := context.WithCancel(t.Context())
		cancel()
		for range 64 { // a select picks either
			if u, err := s.Subscribe(late, mcp.Filter{Tools: true}); err == nil {
				u.Close()
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			synctest.Wait()
		}
		s.Close()
	})
}
