package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// sends returns an act that refuses a request until the person has been to pages.
func sends(pages ...string) act {
	return refuse(mcp.CodeURLElicitationRequired, "go there first", `{"elicitations":[`+strings.Join(pages, ",")+`]}`)
}

// pageOf is a page that a refusal lists.
func pageOf(id string) string {
	return fmt.Sprintf(`{"mode":"url","url":"https://a.example/%s","elicitationId":%q,"message":"go"}`, id, id)
}

// guide is a person who goes, or not, to each page after a while.
type guide struct {
	mu    sync.Mutex
	shown []string
	left  int // questions that were taken back
	after time.Duration
	does  string
	deaf  chan struct{} // to the end of a question, until it is closed; nil is not
}

func (g *guide) elicit(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
	g.mu.Lock()
	g.shown = append(g.shown, e.URL)
	g.mu.Unlock()
	if g.deaf != nil {
		<-g.deaf
	}
	select {
	case <-time.After(g.after):
		return mcp.ElicitResult{Action: g.does}, nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		g.left++
		return mcp.ElicitResult{}, context.Cause(ctx)
	}
}

func (g *guide) saw() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.shown, " ")
}

// guided opens a session with such a person.
func guided(d *launcher, g *guide) *Session {
	return d.open(func(c *setup) { c.Elicit = g.elicit })
}

// TestPagesOfARefusal has a request refused a few times before it is answered.
func TestPagesOfARefusal(t *testing.T) {
	told := func(id string) func(p *process) {
		return func(p *process) {
			for range 2 {
				note(p, "notifications/elicitation/complete", `{"elicitationId":"`+id+`"}`)
			}
			note(p, "notifications/elicitation/complete", `{"elicitationId":1}`)
		}
	}
	tests := []struct {
		name  string
		turns []act
		later func(p *process) // two minutes on
		shown string
		took  time.Duration
	}{
		{"the server says when", []act{sends(pageOf("1")), answer(echoResult)}, told("1"),
			"https://a.example/1", 2 * time.Minute},
		{"it says so of another", []act{sends(pageOf("1")), answer(echoResult)}, told("2"),
			"https://a.example/1", time.Minute + time.Second},
		{"it does not say", []act{sends(pageOf("1")), sends(pageOf("1")), sends(pageOf("1")), answer(echoResult)}, nil,
			"https://a.example/1", time.Minute + (1+2+4)*time.Second},
		{"one after the other", []act{sends(pageOf("1")), sends(pageOf("2")), answer(echoResult)}, nil,
			"https://a.example/1 https://a.example/2", 2*time.Minute + 3*time.Second},
		{"twice the same", []act{sends(pageOf("1"), pageOf("1")), answer(echoResult)}, nil,
			"https://a.example/1", time.Minute + time.Second},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			n := 0
			d := launcher(oldServer().with("tools/call", func(p *process, m message) {
				n++
				test.turns[min(n, len(test.turns))-1](p, m)
			}))
			g := &guide{after: time.Minute, does: mcp.ElicitAccept}
			if test.name == "the server says when" {
				g.after = 2*time.Minute - time.Millisecond
			}
			s := guided(d, g)
			if test.later != nil {
				time.AfterFunc(g.after+time.Millisecond, func() { test.later(d.process(0)) })
			}
			began := time.Now()
			if _, err := call(t, s); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if took := time.Since(began); took != test.took || g.saw() != test.shown || n != len(test.turns) {
				t.Errorf("%s: took %v, showed %s, called %d times", test.name, took, g.saw(), n)
			}
			if len(s.pages.open) != 0 {
				t.Errorf("%s: %d pages are still open", test.name, len(s.pages.open))
			}
		})
	}
}

// TestPagesAreShownOnce refuses many requests for one page.
func TestPagesAreShownOnce(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var been atomic.Bool
		d := launcher(oldServer().with("tools/call", func(p *process, m message) {
			if been.Load() {
				answer(echoResult)(p, m)
				return
			}
			sends(pageOf("1"))(p, m)
		}))
		g := &guide{after: time.Minute, does: mcp.ElicitAccept}
		s := guided(d, g)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := call(t, s); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Minute + time.Millisecond)
		been.Store(true)
		wg.Wait()
		if g.saw() != "https://a.example/1" {
			t.Errorf("shown %s", g.saw())
		}
		been.Store(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.CallTool(ctx, "echo", nil); !errors.Is(err, context.DeadlineExceeded) || g.saw() != "https://a.example/1 https://a.example/1" {
			t.Errorf("%v; shown %s", err, g.saw())
		}
	})
}

// TestPagesWithoutVisit ends requests with the refusal, and why.
func TestPagesWithoutVisit(t *testing.T) {
	many := make([]string, mcp.MaxAsked+1)
	for i := range many {
		many[i] = pageOf(fmt.Sprint(i))
	}
	tests := []struct {
		name   string
		action string
		refuse act
		want   error
		text   string
	}{
		{"declined", mcp.ElicitDecline, sends(pageOf("1")), ErrInputRequired, "the person did not go to https://a.example/1"},
		{"cancelled", mcp.ElicitCancel, sends(pageOf("1")), ErrInputRequired, "did not go"},
		{"a form", mcp.ElicitAccept, sends(`{"mode":"form","elicitationId":"1","message":"?"}`), ErrInvalidResult, "want up to 64 pages"},
		{"no id", mcp.ElicitAccept, sends(`{"mode":"url","url":"https://a.example"}`), ErrInvalidResult, "elicitationId"},
		{"no pages", mcp.ElicitAccept, sends(), ErrInvalidResult, "names none"},
		{"no data", mcp.ElicitAccept, refuse(mcp.CodeURLElicitationRequired, "go", ""), ErrInvalidResult, "names none"},
		{"too many", mcp.ElicitAccept, sends(many...), ErrInvalidResult, "64"},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with("tools/call", test.refuse))
			_, err := call(t, guided(d, &guide{does: test.action}))
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || codeOf(err) != mcp.CodeURLElicitationRequired {
				t.Errorf("%s: %v", test.name, err)
			}
			if n := len(d.process(0).find("tools/call")); n != 1 {
				t.Errorf("%s: called %d times", test.name, n)
			}
		})
	}
	for _, s := range []server{able(mcp.Legacy, everything), able(mcp.Modern, everything)} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(s.with("tools/call", sends(pageOf("1"))))
			s := d.open()
			if _, err := call(t, s); codeOf(err) != mcp.CodeURLElicitationRequired || errors.Is(err, ErrInputRequired) {
				t.Errorf("without a callback: %v", err)
			}
		})
	}
}

// TestPagesWithoutEnd has a server send the person from page to page, or to one
// for ever.
func TestPagesWithoutEnd(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			n := 0
			d := launcher(oldServer().with("tools/call", func(p *process, m message) {
				n++
				id := "1"
				if fresh {
					id = fmt.Sprint(n)
				}
				sends(pageOf(id))(p, m)
			}))
			s := d.open(func(c *setup) {
				c.Elicit, c.Config.MaxTimeout = (&guide{does: mcp.ElicitAccept}).elicit, 2*time.Hour
			})
			_, err := call(t, s)
			if want := map[bool]error{true: ErrInputRequired, false: rpc.ErrTimeout}[fresh]; !errors.Is(err, want) || n > 300 {
				t.Errorf("%v after %d calls", err, n)
			}
		})
	}
}

// TestLeavingAPage takes the question back when no request waits for its answer.
func TestLeavingAPage(t *testing.T) {
	tests := []struct {
		name  string
		leave func(s *Session, cancel func())
		deaf  bool
		want  error
	}{
		{"the callers leave", func(_ *Session, cancel func()) { cancel() }, false, context.Canceled},
		{"the callers leave a deaf person", func(_ *Session, cancel func()) { cancel() }, true, context.Canceled},
		{"the session ends", func(s *Session, _ func()) { s.Close() }, false, ErrClosed},
		{"the session of a deaf person ends", func(s *Session, _ func()) { s.Close() }, true, ErrClosed},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with("tools/call", sends(pageOf("1"))))
			g := &guide{after: 100 * time.Hour}
			if test.deaf {
				g.deaf = make(chan struct{})
			}
			s := guided(d, g)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if _, err := s.CallTool(ctx, "echo", nil); !errors.Is(err, test.want) || errors.Is(err, ErrInputRequired) {
						t.Errorf("%s: %v", test.name, err)
					}
				})
			}
			synctest.Wait()
			began := time.Now()
			test.leave(s, cancel)
			wg.Wait()
			if took := time.Since(began); took != 0 {
				t.Errorf("%s: took %v", test.name, took)
			}
			if test.deaf {
				close(g.deaf)
			}
			synctest.Wait()
			if g.left != 1 || len(s.pages.open) != 0 {
				t.Errorf("%s: %d questions were taken back, %d pages are open", test.name, g.left, len(s.pages.open))
			}
		})
	}
}

// A request of a closed session ends with that, whatever the refusal lists.
func TestPagesOfAClosedSession(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := guided(launcher(oldServer()), &guide{})
		l := s.current()
		refusal := &rpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "go"}
		if _, err := s.elicitURLs(t.Context(), l, &request{}, refusal); !errors.Is(err, ErrInvalidResult) || errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		s.Close()
		if _, err := s.elicitURLs(t.Context(), l, &request{}, refusal); errors.Is(err, ErrInvalidResult) || !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// A request waits until all pages are done with, for the pause or until its caller
// leaves.
func TestWaitForAllPages(t *testing.T) {
	why := errors.New("enough")
	for _, test := range []struct {
		second, leaves, want time.Duration
		err                  error
	}{
		{500 * time.Millisecond, time.Hour, 500 * time.Millisecond, nil},
		{time.Minute, time.Hour, time.Second, nil},
		{time.Minute, 300 * time.Millisecond, 300 * time.Millisecond, why},
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			v := urlElicitation{session: launcher(oldServer()).open()}
			asked := []*webPage{{}, {}}
			for _, p := range asked {
				p.answered, p.complete = make(chan struct{}), make(chan struct{})
				close(p.answered)
			}
			close(asked[0].complete)
			time.AfterFunc(test.second, func() { close(asked[1].complete) })
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(test.leaves, func() { cancel(why) })
			began := time.Now()
			if err := v.await(ctx, asked, time.Second); err != test.err || time.Since(began) != test.want {
				t.Errorf("%v after %v, want %v after %v", err, time.Since(began), test.err, test.want)
			}
		})
	}
}
