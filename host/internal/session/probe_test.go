package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const (
	oldOpening = "server/discover/0 initialize/0 notifications/initialized/1"
	newOpening = "server/discover/0"
)

func TestProbe(t *testing.T) {
	const ours, theirs = `{"supported":["2026-07-28"]}`, `{"supported":["2025-11-25"]}`
	tests := []struct {
		name     string
		discover reaction
		want     mcp.Era
		seen     string
	}{
		{"discovers", ok(discoverResult), mcp.Modern, newOpening},
		{"discovers slowly", later(30*time.Second, ok(discoverResult)), mcp.Modern, newOpening},
		{"another version", inTurn(no(400, -32022, ours), ok(discoverResult)), mcp.Modern, newOpening + " " + newOpening},
		{"only old versions", no(400, -32022, theirs), mcp.Legacy, oldOpening},
		{"discovers only old versions", ok(`{"supportedVersions":["2025-11-25"]}`), mcp.Legacy, oldOpening},
		{"400 and an error", no(400, -32000), mcp.Legacy, oldOpening},
		{"400 and an overloaded code", no(400, -32020), mcp.Legacy, oldOpening},
		{"400 and another", no(400, -32001), mcp.Legacy, oldOpening},
		{"404 and an error", no(404, -32601), mcp.Legacy, oldOpening},
		{"200 and an error", no(200, -32601), mcp.Legacy, oldOpening},
		{"an error of unknown status", no(0, -32601), mcp.Legacy, oldOpening},
		{"400", respondHTTP(400), mcp.Legacy, oldOpening},
		{"404", respondHTTP(404), mcp.Legacy, oldOpening},
		{"405", respondHTTP(405), mcp.Legacy, oldOpening},
		{"422", respondHTTP(422), mcp.Legacy, oldOpening},
		{"200 and no answer", unanswered, mcp.Legacy, oldOpening},
		{"200 and a page", respondHTTP(200), mcp.Legacy, oldOpening},
		{"another id", func(s *fakeHTTP, p post) {
			p.peer.Deliver(p.exchange, []byte(`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}`), false)
		}, mcp.Legacy, oldOpening},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			on := oldHTTPScript()
			on["server/discover"] = test.discover
			on["tools/list"] = ok(`{"tools":[]}`)
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				session := s.open()
				if got := session.Info().Era; got != test.want {
					t.Errorf("era %q, want %q", got, test.want)
				}
				if got := s.received(); got != test.seen {
					t.Errorf("saw %s, want %s", got, test.seen)
				}
				if _, err := call(t, session); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestProbeTellsNothing has probes end in ways that say nothing about the era.
func TestProbeTellsNothing(t *testing.T) {
	discover := map[string]reaction{
		"connection refused": unreachable,
		"not ready within":   mute,
	}
	for _, code := range []int{301, 308, 401, 403, 407, 408, 429, 500, 502, 503} {
		discover[fmt.Sprintf("HTTP %d", code)] = respondHTTP(code)
	}
	for _, code := range []int{401, 403, 500, 503} {
		discover[fmt.Sprintf("MCP error -%d", code)] = no(code, -code)
	}
	for want, react := range discover {
		for _, protocol := range []string{Auto, mcp.LatestModern} {
			on := oldHTTPScript()
			on["server/discover"] = react
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				cfg := s.config()
				cfg.Protocol = protocol
				_, err := Open(t.Context(), cfg)
				if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrOtherTransport) ||
					strings.HasPrefix(want, "conn") && strings.Contains(err.Error(), "does not speak") {
					t.Errorf("%s: %v, want %s", protocol, err, want)
				}
				if got := s.received(); got != newOpening || s.dials != 1 {
					t.Errorf("%s, %s: %d dials, saw %s", want, protocol, s.dials, got)
				}
			})
		}
	}
}

// TestOtherTransport tells the places where an older transport may be.
func TestOtherTransport(t *testing.T) {
	tests := []struct {
		name                 string
		discover, initialize reaction
		want                 string
		other                bool
	}{
		{"400", respondHTTP(400), respondHTTP(400), "connect far: initialize: HTTP 400: <html>: there is no Streamable HTTP endpoint", true},
		{"404", respondHTTP(404), respondHTTP(404), "HTTP 404", true},
		{"405", respondHTTP(405), respondHTTP(405), "HTTP 405", true},
		{"400 and an error", no(400, -32000), no(400, -32000), "initialize: MCP error -32000", false},
		{"422", respondHTTP(422), respondHTTP(422), "HTTP 422", false},
		{"500", respondHTTP(404), respondHTTP(500), "HTTP 500", false},
		{"unreachable", respondHTTP(404), unreachable, "initialize: connection refused", false},
		{"200 and an error", respondHTTP(404), no(200, -32603), "the server refused initialize: MCP error -32603", false},
		{"method not found", no(404, -32601), no(404, -32601), "the server refused initialize: MCP error -32601", false},
		{"modern after all", no(400, -32020), no(400, -32602), "the server refused server/discover: MCP error -32020: no, and then initialize as well", false},
		{"modern after all, of unknown status", no(400, -32020), no(0, -32602), "the server refused server/discover: MCP error -32020: no, and then initialize as well", false},
		{"modern after all, and a page", no(400, -32020), respondHTTP(404), "the server refused server/discover: MCP error -32020: no, and then initialize as well", false},
		{"modern at last", respondHTTP(400), no(400, -32022), "the server refused initialize: MCP error -32022", false},
	}
	tests[3].other, tests[3].want = true, ""
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			on := map[string]reaction{"server/discover": test.discover, "initialize": test.initialize}
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				_, err := Open(t.Context(), s.config())
				if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, ErrOtherTransport) != test.other {
					t.Errorf("%v (other transport: %v), want %s", err, errors.Is(err, ErrOtherTransport), test.want)
				}
				if s.dials != 1 {
					t.Errorf("%d dials", s.dials)
				}
			})
		})
	}
}

// Elsewhere a status says nothing about Streamable HTTP.
func TestStatusOfAProcess(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("initialize", func(p *process, _ message) {
			p.peer.Failed(1, &rpc.StatusError{HTTP: 404, Refused: true, Err: errors.New("HTTP 404")})
		}))
		cfg := d.config()
		cfg.Protocol = LegacyOnly
		if _, err := Open(t.Context(), cfg); !strings.Contains(fmt.Sprint(err), "HTTP 404") || errors.Is(err, ErrOtherTransport) {
			t.Error(err)
		}
	})
}

// TestRequestsWaitForInitialized holds that no request leaves before the transport is done
// with the notification that ends the handshake: a listener may come first.
func TestRequestsWaitForInitialized(t *testing.T) {
	const wait = 250 * time.Millisecond
	on := oldHTTPScript()
	on["notifications/initialized"] = func(s *fakeHTTP, p post) { time.AfterFunc(wait, func() { unanswered(s, p) }) }
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		began := time.Now()
		if _, err := call(t, s.open()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != wait || s.received() != oldOpening+" tools/call/1" {
			t.Errorf("after %v: saw %s", took, s.received())
		}
	})
}

// A server that refuses the notification after initialize is warned of, and one that
// takes it is not.
func TestWarningOfInitialized(t *testing.T) {
	for name, test := range map[string]struct {
		react reaction
		want  int
	}{
		"taken":   {unanswered, 0},
		"refused": {respondHTTP(405), 1},
	} {
		on := oldHTTPScript()
		on["notifications/initialized"] = test.react
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			var warned []string
			s.open(func(c *setup) { c.Warn = func(text string) { warned = append(warned, text) } })
			synctest.Wait()
			if len(warned) != test.want {
				t.Errorf("%s: %q", name, warned)
			}
		})
	}
}

// TestOtherProbes holds that the rule of HTTP is for HTTP: elsewhere silence is
// not an error.
func TestOtherProbes(t *testing.T) {
	for _, probe := range []abi.Probe{abi.ProbeNone, abi.ProbeStdio} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with(probed, silent))
			s := d.open(func(c *setup) {
				dial := c.Dial
				c.Dial = func(ctx context.Context, h rpc.Handler) (*Dialed, error) {
					conn, err := dial(ctx, h)
					conn.Probe = probe
					return conn, err
				}
			})
			synctest.Wait()
			if got := d.process(0).received(); got != probedFirst || s.Info().Era != mcp.Legacy {
				t.Errorf("%v: saw %s", probe, got)
			}
		})
	}
}

// TestLeavingTheProbe says nothing to a server that may be a legacy one.
func TestLeavingTheProbe(t *testing.T) {
	on := oldHTTPScript()
	on["server/discover"] = mute
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		cfg := s.config()
		cfg.StartTimeout = time.Second
		if _, err := Open(t.Context(), cfg); !errors.Is(err, rpc.ErrTimeout) {
			t.Error(err)
		}
		synctest.Wait()
		if got := s.received(); got != newOpening {
			t.Errorf("saw %s", got)
		}
	})
}

// TestLeavingACall tells a legacy server in a message, and a modern one by
// closing the stream.
func TestLeavingACall(t *testing.T) {
	for era, on := range map[mcp.Era]map[string]reaction{mcp.Legacy: oldHTTPScript(), mcp.Modern: newHTTPScript()} {
		on["tools/call"] = mute
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			session := s.open(func(c *setup) { c.Timeout = time.Second })
			if _, err := call(t, session); !errors.Is(err, rpc.ErrTimeout) {
				t.Error(err)
			}
			synctest.Wait()
			if told := len(s.find(mcp.NotificationCancelled)) == 1; told != (era == mcp.Legacy) || len(s.left) != 1 {
				t.Errorf("%s: told %v, left %v", era, told, s.left)
			}
		})
	}
}

// TestUnusableAnswerToInitialize holds that an answer which cannot be used is not called a refusal.
func TestUnusableAnswerToInitialize(t *testing.T) {
	on := oldHTTPScript()
	on["initialize"] = func(s *fakeHTTP, p post) {
		p.peer.Deliver(p.exchange, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s","result":{}}`, p.ID), false)
		p.peer.Done(p.exchange)
	}
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		_, err := Open(t.Context(), s.config())
		if got := fmt.Sprint(err); !strings.Contains(got, "initialize: server changed the id's type") || strings.Contains(got, "refused") {
			t.Error(got)
		}
	})
}
