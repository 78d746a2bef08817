package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// call calls the tool echo and returns the text it answers.
func call(t *testing.T, s *Session) (string, error) {
	t.Helper()
	result, err := s.CallTool(t.Context(), "echo", nil)
	if err != nil {
		return "", err
	}
	return result.Content[0].Text, nil
}

func TestLostConnection(t *testing.T) {
	for era, script := range map[mcp.Era]server{mcp.Legacy: oldServer(), mcp.Modern: newServer()} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(script.with("tools/call", exit("server exited with code 9")), script)
			s := d.open()
			_, err := call(t, s)
			var lost *rpc.CallError
			if !errors.As(err, &lost) || lost.Sent != rpc.MaybeSent || !strings.Contains(err.Error(), "call echo on files: ") ||
				!strings.Contains(err.Error(), "code 9") {
				t.Errorf("%s: call in flight ended with %v", era, err)
			}
			if d.started() != 1 {
				t.Error("redialled without need")
			}
			if text, err := call(t, s); err != nil || text != "hi" {
				t.Errorf("%s: next call: %q, %v", era, text, err)
			}
			opening := map[mcp.Era]string{mcp.Legacy: greeted, mcp.Modern: probed}[era]
			if got := d.process(1).received(); got != opening+" tools/call" {
				t.Errorf("%s: second process saw %s", era, got)
			}
		})
	}
}

// TestMissedConnection has the connection end between the moment a call takes
// it and the moment its message would leave.
func TestMissedConnection(t *testing.T) {
	for method, send := range map[string]func(*testing.T, *Session) error{
		"tools/call": func(t *testing.T, s *Session) error { _, err := call(t, s); return err },
		"notifications/x": func(t *testing.T, s *Session) error {
			return s.Notify(t.Context(), "notifications/x", nil)
		},
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer())
			s := d.open()
			first := d.process(0)
			first.peer.Close(errors.New("server exited")) // before the transport reports it
			time.AfterFunc(time.Second, func() { first.exit(errors.New("server exited")) })
			if err := send(t, s); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if got := d.process(1).received(); got != greeted+" "+method {
				t.Errorf("second process saw %s", got)
			}
		})
	}
}

func TestRedialIsShared(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer(), oldServer().slow(10*time.Second))
		s := d.open()
		d.process(0).exit(errors.New("gone"))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := call(t, s); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d.started() != 2 {
			t.Errorf("%d processes for one redial", d.started())
		}
	})
}

// TestVerdict keeps the era that was detected while it holds, and asks again when it failed.
func TestVerdict(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer(), oldServer().with("initialize", refuse(-32603, "updating", "")), newServer())
		s := d.open()
		synctest.Wait()
		d.process(0).exit(errors.New("gone"))
		if _, err := call(t, s); err == nil || !errors.Is(err, rpc.ErrNotSent) ||
			!strings.Contains(err.Error(), "connect: the server refused initialize: MCP error -32603: updating") {
			t.Errorf("call ended with %v", err)
		}
		if _, err := call(t, s); err != nil {
			t.Error(err)
		}
		want := []string{probedFirst, "initialize", probed + " tools/call"}
		if got := d.received(); !slices.Equal(got, want) {
			t.Errorf("processes saw %q, want %q", got, want)
		}
		if got := s.Info().Era; got != mcp.Modern {
			t.Errorf("era %s", got)
		}
	})
}

// TestSlowModernRedial holds that a server known to be modern is not sent
// initialize when it takes its time.
func TestSlowModernRedial(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer(), newServer().slow(40*time.Second))
		s := d.open()
		d.process(0).exit(errors.New("gone"))
		if _, err := call(t, s); err != nil {
			t.Error(err)
		}
		if got := d.process(1).received(); got != probed+" tools/call" {
			t.Errorf("second process saw %s", got)
		}
	})
}

// TestConnectIsLeft has the one who connects leave: nothing is left of that, and
// the next call connects anew.
func TestConnectIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer(), oldServer().slow(20*time.Second), oldServer())
		s := d.open()
		d.process(0).exit(errors.New("gone"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.CallTool(ctx, "echo", nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, rpc.ErrNotSent) {
			t.Error(err)
		}
		d.empty()
		if _, err := call(t, s); err != nil {
			t.Error(err)
		}
		if d.started() != 3 {
			t.Errorf("%d processes", d.started())
		}
	})
}

// TestOpenIsLeft cancels Open at several stages of a slow start.
func TestOpenIsLeft(t *testing.T) {
	for _, stage := range []time.Duration{0, time.Second, 3 * time.Second, 41 * time.Second} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with("initialize", silent).slow(40 * time.Second))
			ctx, cancel := context.WithTimeout(t.Context(), stage)
			defer cancel()
			if _, err := Open(ctx, d.config()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v", stage, err)
			}
			d.empty()
		})
	}
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", silent))
		s := d.open()
		ended := make(chan error)
		go func() {
			_, err := call(t, s)
			ended <- err
		}()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				s.Close()
				d.empty()
			})
		}
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("call in flight ended with %v", err)
		}
		wg.Wait()
		_, err := call(t, s)
		if !errors.Is(err, ErrClosed) || !errors.Is(err, rpc.ErrNotSent) {
			t.Errorf("call of a closed session ended with %v", err)
		}
		if err := s.Notify(t.Context(), "notifications/x", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("notification of a closed session ended with %v", err)
		}
		if d.started() != 1 {
			t.Error("dialled for a closed session")
		}
	})
}

// TestCloseWhileConnecting closes during a redial, while the server starts and
// while it is asked.
func TestCloseWhileConnecting(t *testing.T) {
	for _, stage := range []time.Duration{0, time.Second, 21 * time.Second} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer(), oldServer().with("initialize", silent).slow(20*time.Second))
			s := d.open()
			d.process(0).exit(errors.New("gone"))
			ended := make(chan error)
			go func() {
				_, err := call(t, s)
				ended <- err
			}()
			time.Sleep(stage)
			s.Close()
			d.empty()
			if err := <-ended; !errors.Is(err, ErrClosed) {
				t.Errorf("after %v: call ended with %v", stage, err)
			}
		})
	}
}

// TestCloseWhileDialling closes while Dial has not returned yet.
func TestCloseWhileDialling(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer())
		s := d.open(func(c *setup) {
			c.Dial = func(ctx context.Context, h rpc.Handler) (*Dialed, error) {
				if d.started() == 0 {
					return d.dial(ctx, h)
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})
		d.process(0).exit(errors.New("gone"))
		time.AfterFunc(time.Second, func() { s.Close() })
		if _, err := call(t, s); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// TestCloseFromCallbacks closes the session from each of its callbacks, and because of a
// warning.
func TestCloseFromCallbacks(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var s *Session
		closed := make(chan string, 8)
		closeNow := func(from string) { s.Close(); closed <- from }
		configure := func(c *setup) {
			c.Warn = func(string) { go closeNow("Warn") }
			c.Notify = func(string, json.RawMessage, uint64) { closeNow("Notify") }
			c.Roots = func(context.Context) ([]mcp.Root, error) { closeNow("Roots"); return nil, nil }
		}
		triggers := map[string]func(p *process){
			"Notify": func(p *process) { p.print(`{"jsonrpc":"2.0","method":"notifications/x"}`) },
			"Roots":  func(p *process) { p.print(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`) },
			"Warn":   func(p *process) { p.exit(errors.New("gone")) }, // the next handshake warns
		}
		for from, trigger := range triggers {
			d := launcher(oldServer(), oldServer().with("initialize", answer(`{}`)))
			s = d.open(configure)
			trigger(d.process(0))
			if from == "Warn" {
				call(t, s)
			}
			if got := <-closed; got != from {
				t.Errorf("%s closed the session, want %s", got, from)
			}
			d.empty()
		}
	})
}

func TestCapabilities(t *testing.T) {
	elicit := func(context.Context, mcp.Elicitation) (mcp.ElicitResult, error) {
		return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "x"}}, nil
	}
	sample := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, &rpc.Error{Code: -1, Message: "user said no"}
	}
	roots := func(context.Context) ([]mcp.Root, error) { return nil, errors.New("disk /dev/sda1 is on fire") }
	const refused = `MCP error -32601: method not found`
	tests := []struct {
		name       string
		change     func(*setup)
		advertised string
		answers    []string // to roots/list, sampling/createMessage, elicitation/create
	}{
		{"none", func(*setup) {}, `{}`, []string{refused, refused, refused}},
		{"elicitation", func(c *setup) { c.Elicit = elicit }, `{"elicitation":{"form":{},"url":{}}}`,
			[]string{refused, refused, `{"action":"accept","content":{"name":"x"}}`}},
		{"sampling", func(c *setup) { c.Sample = sample }, `{"sampling":{}}`,
			[]string{refused, `MCP error -1: user said no`, refused}},
		{"roots", func(c *setup) { c.Roots = roots }, `{"roots":{"listChanged":true}}`,
			[]string{`MCP error -32603: the client could not answer`, refused, refused}},
	}
	requests := []string{"roots/list", "sampling/createMessage", "elicitation/create"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(oldServer())
				d.open(test.change)
				p := d.process(0)
				if got := member(p.find("initialize")[0].Params, "capabilities"); string(got) != test.advertised {
					t.Errorf("advertised %s, want %s", got, test.advertised)
				}
				p.print(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
				for i, method := range requests {
					p.print(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"message":"?"}}`, i, method)
				}
				synctest.Wait()
				got := make(map[string]string)
				for _, m := range p.find("reply") {
					if got[string(m.ID)] = string(m.Result); m.Error != nil {
						got[string(m.ID)] = m.Error.Error()
					}
				}
				want := map[string]string{`"ping"`: `{}`, "0": test.answers[0], "1": test.answers[1], "2": test.answers[2]}
				for id := range want {
					if got[id] != want[id] {
						t.Errorf("request %s: answered %s, want %s", id, got[id], want[id])
					}
				}
			})
		})
	}
}

func TestElicitation(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		asked := make(chan mcp.Elicitation, 9)
		d := launcher(oldServer())
		d.open(func(c *setup) {
			c.Elicit = func(_ context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
				asked <- e
				return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			}
		})
		p := d.process(0)
		p.print(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object"}}}`)
		if e := <-asked; e.Mode != mcp.ElicitForm || e.Message != "Name?" || string(e.RequestedSchema) != `{"type":"object"}` {
			t.Errorf("asked %+v", e)
		}
		p.print(`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","elicitationId":"7"}}`)
		if e := <-asked; e.Mode != mcp.ElicitURL || e.URL != "https://a.example" || e.ElicitationID != "7" {
			t.Errorf("asked %+v", e)
		}
		synctest.Wait()
		for _, bad := range []string{`{"mode":"telepathy"}`, `{"mode":5}`, `[]`} {
			p.print(`{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":%s}`, bad)
			synctest.Wait()
			replies := p.find("reply")
			if last := replies[len(replies)-1]; last.Error == nil || last.Error.Code != mcp.CodeInvalidParams {
				t.Errorf("%s: answered %+v", bad, last)
			}
		}
	})
}

func TestNotifications(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		heard := make(chan string, 9)
		d := launcher(newServer())
		d.open(func(c *setup) {
			c.Notify = func(method string, params json.RawMessage, _ uint64) { heard <- method + " " + string(params) }
		})
		p := d.process(0)
		p.print(`{"jsonrpc":"2.0","method":"notifications/logging/message","params":{"level":"info"}}`)
		p.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		for _, want := range []string{`notifications/message {"level":"info"}`, "notifications/tools/list_changed "} {
			if got := <-heard; got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		}
	})
}
