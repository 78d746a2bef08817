package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// resume is dial for a connection on which the server notices nothing. The ids go on.
func (s *fakeHTTP) resume(ctx context.Context, h rpc.Handler, after *Dialed) (*Dialed, error) {
	s.after = after.Peer.Last()
	defer func() { s.after = 0 }()
	s.resumed++
	return s.dial(ctx, h)
}

func resumes(s *fakeHTTP) func(*setup) { return func(c *setup) { c.Resume = s.resume } }

// drop ends the newest connection, as a plugin that traps does.
func (s *fakeHTTP) drop() { s.find("initialize")[0].hangUp() }

// After the connection has ended there is another one, without a handshake, on which a
// ping goes ahead of what is called: all in the epoch of before, and with new ids.
func TestResume(t *testing.T) {
	on := oldHTTPScript()
	on["ping"] = ok(`{}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open(resumes(s))
		before := session.Info()
		s.drop()
		if _, err := call(t, session); err != nil {
			t.Error(err)
		}
		if got := s.received(); got != oldOpening+" ping/1 tools/call/1" || s.dials != 2 || s.resumed != 1 {
			t.Errorf("%d dials, saw %s", s.dials, got)
		}
		if ping := s.find("ping")[0]; string(ping.ID) != "4" || ping.facts.Version != mcp.LatestLegacy {
			t.Errorf("the ping is %+v", ping.facts)
		}
		if after := session.Info(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("it knows %+v, and before %+v", after, before)
		}
	})
}

// Any answer shows that the server knows the session, and nothing else does. A
// handshake follows then, and it is the server's word alone that makes it one on the
// same connection.
func TestResumeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		ping reaction
		want string
	}{
		"no such method": {no(200, mcp.CodeMethodNotFound), " ping/1 tools/call/1"},
		"forgotten":      {gone, " ping/1 initialize/1 notifications/initialized/2 tools/call/2"},
		"moved":          {no(300, -32000), " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
		"bad request":    {no(400, -32000), " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
		"a page":         {respondHTTP(404), " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
		"away":           {unreachable, " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
		"lost":           {func(s *fakeHTTP, p post) { p.hangUp() }, " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
		"mute":           {mute, " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
		"no answer":      {unanswered, " ping/1 initialize/0 notifications/initialized/1 tools/call/1"},
	} {
		t.Run(name, func(t *testing.T) {
			on := oldHTTPScript()
			on["ping"] = c.ping
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				warnings := 0
				session := s.open(resumes(s), func(c *setup) { c.Warn = func(string) { warnings++ } })
				s.drop()
				for range 2 {
					if _, err := call(t, session); err != nil {
						t.Error(err)
					}
				}
				if begun := strings.Contains(c.want, "initialize/0"); (warnings == 1) != begun || warnings > 1 {
					t.Errorf("%d warnings", warnings)
				}
				want := oldOpening + c.want + c.want[strings.LastIndex(c.want, " "):]
				// The cancellation of the ping may be sent, if there is time for it.
				if got := strings.Replace(s.received(), " notifications/cancelled/1", "", 1); got != want || s.resumed != 1 {
					t.Errorf("%d attempts, saw %s", s.resumed, got)
				}
				for _, c := range s.conns[:s.dials-1] {
					if !c.ended() {
						t.Error("a connection was left open")
					}
				}
			})
		})
	}
}

// A server that does not answer the ping is not waited for longer than a session
// takes to be begun.
func TestResumeIsBounded(t *testing.T) {
	on := oldHTTPScript()
	on["ping"] = mute
	for timeout, want := range map[time.Duration]time.Duration{-1: pingTimeout, 0: pingTimeout, 3 * time.Second: 3 * time.Second, time.Minute: pingTimeout} {
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			session := s.open(resumes(s), func(c *setup) { c.Timeout, c.StartTimeout = timeout, -1 })
			s.drop()
			began := time.Now()
			if _, err := call(t, session); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("with a timeout of %v it took %v", timeout, took)
			}
		})
	}
}

// Where the caller of a new connection leaves, there is nothing to warn of.
func TestResumeIsLeft(t *testing.T) {
	on := oldHTTPScript()
	on["ping"] = mute
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open(resumes(s), func(c *setup) {
			c.StartTimeout, c.Warn = 5*time.Second, func(text string) { t.Error(text) }
		})
		s.drop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := session.CallTool(ctx, "echo", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// There is nothing to go on with where the server has none of it: on another way, in
// the modern era, and after its word that the session is over.
func TestNothingToResume(t *testing.T) {
	without := func(*fakeHTTP) func(*setup) { return func(*setup) {} }
	for name, c := range map[string]struct {
		on     map[string]reaction
		config func(*fakeHTTP) func(*setup)
		end    func(*fakeHTTP, *Session)
	}{
		"a way without": {oldHTTPScript(), without, func(s *fakeHTTP, _ *Session) { s.drop() }},
		"modern":        {newHTTPScript(), resumes, func(s *fakeHTTP, _ *Session) { s.find("server/discover")[0].hangUp() }},
		"forgotten": {oldHTTPScript(), resumes, func(s *fakeHTTP, _ *Session) {
			p := s.find("initialize")[0]
			p.peer.Expired(0)
			p.hangUp()
		}},
	} {
		visit(t, c.on, func(t *testing.T, s *fakeHTTP) {
			session := s.open(c.config(s))
			c.end(s, session)
			if _, err := call(t, session); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if s.resumed != 0 || s.dials != 2 {
				t.Errorf("%s: %d of %d connections went on", name, s.resumed, s.dials)
			}
		})
	}
}

// What was tried once is not tried again, also where the handshake that took its place
// went wrong as well.
func TestResumeIsTriedOnce(t *testing.T) {
	on := oldHTTPScript()
	on["ping"] = unreachable
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), unreachable, ok(initializeResult(mcp.LatestLegacy)))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open(resumes(s))
		s.drop()
		if _, err := call(t, session); err == nil {
			t.Error("no error")
		}
		if _, err := call(t, session); err != nil || s.resumed != 1 {
			t.Errorf("%d attempts: %v", s.resumed, err)
		}
	})
}

// A process that is started again knows nothing of the session, whatever its plugin has
// saved.
func TestNothingToResumeInAProcess(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", exit("out of cheese")), oldServer())
		session := d.open(func(c *setup) {
			c.Resume = func(context.Context, rpc.Handler, *Dialed) (*Dialed, error) {
				t.Error("it was to go on")
				return nil, nil
			}
		})
		if _, err := call(t, session); err == nil {
			t.Error("no error")
		}
		if _, err := call(t, session); err != nil || d.started() != 2 {
			t.Errorf("%d processes: %v", d.started(), err)
		}
	})
}

// What one transport left is nothing for another.
func TestResumeByAnotherTransport(t *testing.T) {
	visit(t, oldHTTPScript(), func(t *testing.T, s *fakeHTTP) {
		session := s.open(resumes(s))
		s.drop()
		before := session.current().Conn
		before.Close(false)
		c, err := session.Connect(t.Context(), &ConnectOptions{Dial: s.dial, Resume: s.resume, Transport: "other"}, before)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(false)
		if s.resumed != 0 || s.dials != 2 {
			t.Errorf("%d of %d connections went on", s.resumed, s.dials)
		}
	})
}

// A way may have nothing to go on with, or not be able to: then it dials.
func TestResumeWithoutConnection(t *testing.T) {
	for _, err := range []error{nil, errors.New("no engine")} {
		visit(t, oldHTTPScript(), func(t *testing.T, s *fakeHTTP) {
			session := s.open(func(c *setup) {
				c.Resume = func(context.Context, rpc.Handler, *Dialed) (*Dialed, error) { return nil, err }
			})
			s.drop()
			if _, err := call(t, session); err != nil {
				t.Error(err)
			}
			if n := len(s.find("initialize")); n != 2 {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

// A connection whose session is left to the next one is closed by leaving, where there is
// something to leave, and otherwise as ever. The next one goes on with it.
func TestHandOver(t *testing.T) {
	for name, c := range map[string]struct {
		on    map[string]reaction
		leave bool
		turn  func(*Conn)
		left  int
	}{
		"left":                {oldHTTPScript(), true, func(*Conn) {}, 1},
		"not left":            {oldHTTPScript(), false, func(*Conn) {}, 0},
		"forgotten after all": {oldHTTPScript(), true, func(c *Conn) { c.Peer.Expired(0) }, 0},
		"modern":              {newHTTPScript(), true, func(*Conn) {}, 0},
	} {
		visit(t, c.on, func(t *testing.T, s *fakeHTTP) {
			s.on["ping"] = ok(`{}`)
			session := s.open(resumes(s))
			old := session.current().Conn
			c.turn(old)
			if err := ownerOf(session).replace(t.Context(), c.leave); err != nil || s.leaves != c.left || !old.ended() {
				t.Errorf("%s: %d connections were left, %v", name, s.leaves, err)
			}
			if _, err := call(t, session); err != nil || s.resumed != c.left {
				t.Errorf("%s: %d connections went on, %v", name, s.resumed, err)
			}
		})
	}
}
