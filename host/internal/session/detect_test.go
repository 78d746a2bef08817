package session

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// What a process sees when all goes by the book.
const (
	probed      = "server/discover"
	greeted     = "initialize notifications/initialized"
	probedFirst = probed + " " + greeted
)

// What is turned away before it could ask anything is no legacy server that left:
// it is not knocked at twice.
func TestTurnedAway(t *testing.T) {
	for _, away := range []time.Duration{time.Second, 20 * time.Second} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(server{away: away})
			_, err := Open(t.Context(), d.config())
			if err == nil || !strings.Contains(err.Error(), "not welcome") || d.started() != 1 {
				t.Errorf("after %v: knocked %d times, %v", away, d.started(), err)
			}
			d.empty()
		})
	}
}

// ban is an error of a transport that knows who is not welcome.
type ban struct{}

func (ban) Error() string { return "the host refused the sign-in" }
func (ban) Final() bool   { return true }

// What a transport calls final is not tried in another era.
func TestBanned(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with(probed, func(p *process, _ message) { p.exit(ban{}) }))
		_, err := Open(t.Context(), d.config())
		if !errors.Is(err, ban{}) || d.started() != 1 {
			t.Errorf("knocked %d times, %v", d.started(), err)
		}
		d.empty()
	})
}

// fading closes the peer of a process that reads nothing more and has yet to be seen
// to end.
func fading(p *process, _ message) {
	p.peer.Close(errors.New("broken pipe"))
	time.Sleep(time.Second)
}

// Why a connection ended is always an error, and one of which no more is known than that
// the server was asked before is that of a peer that is gone.
func TestWhyAConnectionEnded(t *testing.T) {
	broken := errors.New("broken pipe")
	visit(t, oldHTTPScript(), func(t *testing.T, s *fakeHTTP) {
		h := &handshake{conn: s.open().current().Dialed}
		if err := h.left(t.Context(), broken); err != broken {
			t.Errorf("while the connection lasts: %v", err)
		}
		h.conn.Transport.Shutdown(t.Context())
		for _, err := range []error{broken, nil} {
			if got := h.left(t.Context(), err); !errors.As(got, new(*peerGoneError)) || err != nil && !errors.Is(got, err) {
				t.Errorf("after its end with %v: %v", err, got)
			}
		}
	})
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		h := &handshake{conn: launcher(oldServer()).open().current().Dialed}
		if err := h.left(t.Context(), broken); !errors.As(err, new(*peerGoneError)) || !errors.Is(err, broken) {
			t.Errorf("of a process that lasts: %v", err)
		}
	})
}

func TestDetection(t *testing.T) {
	unsupported := func(versions string) act {
		return refuse(mcp.CodeUnsupportedVersion, "no", `{"requested":"2026-07-28","supported":[`+versions+`]}`)
	}
	exited := exit("server exited with code 1")
	tests := []struct {
		name    string
		servers []server
		want    mcp.Era
		seen    []string
	}{
		{"refuses: -32601", []server{oldServer()}, mcp.Legacy, []string{probedFirst}},
		{"refuses: -32602", []server{oldServer().with(probed, refuse(-32602, "no", ""))}, mcp.Legacy, []string{probedFirst}},
		{"refuses: -32600", []server{oldServer().with(probed, refuse(-32600, "no", ""))}, mcp.Legacy, []string{probedFirst}},
		{"refuses: -32000", []server{oldServer().with(probed, refuse(-32000, "no", ""))}, mcp.Legacy, []string{probedFirst}},
		{"answers nonsense", []server{oldServer().with(probed, answer(`{}`))}, mcp.Legacy, []string{probedFirst}},
		{"answers no object", []server{oldServer().with(probed, answer(`"what?"`))}, mcp.Legacy, []string{probedFirst}},
		{"answers malformed", []server{oldServer().with(probed, func(p *process, m message) {
			p.print(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":""}}`, m.ID)
		})}, mcp.Legacy, []string{probedFirst}},
		{"odd names", []server{oldServer().with("initialize",
			answer(`{"protocolVersion":"2025-11-25","serverInfo":{"name":null,"version":1.0},"instructions":null}`))},
			mcp.Legacy, []string{probedFirst}},
		{"silent", []server{oldServer().with(probed, silent)}, mcp.Legacy, []string{probedFirst}},
		{"refuses late", []server{oldServer().with(probed, after(3*time.Second, refuse(-32601, "no", ""))).
			with("initialize", after(5*time.Second, answer(initializeResult(mcp.LatestLegacy))))}, mcp.Legacy, []string{probedFirst}},
		{"exits", []server{oldServer().with(probed, exited), oldServer()}, mcp.Legacy, []string{probed, greeted}},
		{"refuses and exits", []server{oldServer().with(probed, both(refuse(-32600, "no", ""), exited)), oldServer()},
			mcp.Legacy, []string{probed, greeted}},
		{"refuses and exits a little later", []server{oldServer().with("initialize", exited), oldServer()},
			mcp.Legacy, []string{probed + " initialize", greeted}},
		{"refuses and exits, which is known a moment later", []server{
			oldServer().with(probed, both(refuse(-32600, "no", ""), fading, exited)), oldServer(),
		}, mcp.Legacy, []string{probed, greeted}},
		{"exits late", []server{oldServer().with(probed, after(3*time.Second, exited)).with("initialize", silent), oldServer()},
			mcp.Legacy, []string{probed + " initialize", greeted}},
		{"banner", []server{{banner: "Welcome to my server!", on: oldServer().on}}, mcp.Legacy, []string{probedFirst}},
		{"starts in 40 s", []server{oldServer().slow(40 * time.Second)}, mcp.Legacy, []string{probedFirst}},
		{"starts in 40 s and is silent", []server{oldServer().with(probed, silent).slow(40 * time.Second)},
			mcp.Legacy, []string{probedFirst}},
		{"starts in 40 s and exits", []server{
			oldServer().with(probed, exited).slow(40 * time.Second),
			oldServer().slow(40 * time.Second),
		}, mcp.Legacy, []string{probed, greeted}},

		{"modern", []server{newServer()}, mcp.Modern, []string{probed}},
		{"modern in 40 s", []server{newServer().slow(40 * time.Second)}, mcp.Modern, []string{probed + " initialize"}},
		{"modern in 40 s, refusal of initialize first", []server{
			newServer().with(probed, after(time.Second, answer(discoverResult))).slow(40 * time.Second),
		}, mcp.Modern, []string{probed + " initialize"}},
		{"discover late, initialize pending", []server{
			newServer().with(probed, after(5*time.Second, answer(discoverResult))).with("initialize", silent),
		}, mcp.Modern, []string{probed + " initialize"}},
		{"both at once", []server{
			oldServer().with(probed, silent).with("initialize", func(p *process, m message) {
				answer(discoverResult)(p, p.find(probed)[0])
				answer(initializeResult(mcp.LatestLegacy))(p, m)
			}),
		}, mcp.Legacy, []string{probedFirst}},
		{"both at once, in the other order", []server{
			oldServer().with(probed, silent).with("initialize", func(p *process, m message) {
				answer(initializeResult(mcp.LatestLegacy))(p, m)
				answer(discoverResult)(p, p.find(probed)[0])
			}),
		}, mcp.Legacy, []string{probedFirst}},
		{"initialize accepted a second after the probe, as by the SDK in TypeScript", []server{
			oldServer().with(probed, answer(discoverResult)).with("initialize", after(time.Second, answer(initializeResult(mcp.LatestLegacy)))).slow(40 * time.Second),
		}, mcp.Legacy, []string{probedFirst}},
		{"both at once, on a busy machine", []server{
			oldServer().with(probed, after(2*time.Second+100*time.Millisecond, answer(discoverResult))),
		}, mcp.Legacy, []string{probedFirst}},
		{"discover later than initialize", []server{
			oldServer().with(probed, after(5*time.Second, answer(discoverResult))).
				with("initialize", after(2*time.Second, answer(initializeResult(mcp.LatestLegacy)))),
		}, mcp.Legacy, []string{probedFirst}},

		{"-32022, modern in common", []server{newServer().with(probed, func(p *process, m message) {
			if len(p.find(probed)) == 1 {
				unsupported(`"2027-01-01","2026-07-28"`)(p, m)
				return
			}
			answer(discoverResult)(p, m)
		})}, mcp.Modern, []string{probed + " " + probed}},
		{"-32022, nothing modern in common", []server{oldServer().with(probed, unsupported(`"2027-01-01","2025-11-25"`))},
			mcp.Legacy, []string{probedFirst}},
		{"-32022 without data", []server{oldServer().with(probed, refuse(mcp.CodeUnsupportedVersion, "no", ""))},
			mcp.Legacy, []string{probedFirst}},
		{"discovers other versions", []server{oldServer().with(probed, answer(`{"supportedVersions":["2027-01-01"],"capabilities":{}}`))},
			mcp.Legacy, []string{probedFirst}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(test.servers...)
				s := d.open()
				if got := s.Info().Era; got != test.want {
					t.Errorf("era %q, want %q", got, test.want)
				}
				if _, err := s.CallTool(t.Context(), "echo", nil); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute) // whatever is late comes now, and changes nothing
				want := slices.Clone(test.seen)
				want[len(want)-1] += " tools/call"
				if got := d.received(); !slices.Equal(got, want) {
					t.Errorf("processes saw %q, want %q", got, want)
				}
			})
		})
	}
}

// TestAskIsPending holds that no request of a handshake is yet to begin once it was
// asked: where nothing is pending, both have been answered.
func TestAskIsPending(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(oldServer().with("ping", silent)).open()
		h := &handshake{conn: s.current().Dialed}
		if h.ask(t.Context(), rpc.Call{Method: "ping"}, nil); h.conn.Peer.Quiet() {
			t.Error("nothing is pending")
		}
	})
}

// TestAnswersAndExits has a modern server leave behind its answer: it is not taken for
// a legacy one, whichever of the two is seen first.
func TestAnswersAndExits(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(newServer().with(probed, both(answer(discoverResult), exit("done"))), newServer())
			s := d.open()
			synctest.Wait()
			if _, err := call(t, s); err != nil {
				t.Error(err)
			}
			if got := d.received(); !slices.Equal(got, []string{probed, probed + " tools/call"}) {
				t.Errorf("processes saw %q", got)
			}
		})
	}
}

// The time in which the host itself is busy does not count as that of the server. What was spent on
// another transport before does.
func TestStartAside(t *testing.T) {
	for _, test := range []struct{ busy, spent, want time.Duration }{
		{90 * time.Second, 0, 150 * time.Second},
		{90 * time.Second, 20 * time.Second, 130 * time.Second},
		{0, 20 * time.Second, 40 * time.Second},
		{0, 2 * time.Minute, 0},
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(server{on: map[string]act{probed: silent, "initialize": silent}})
			cfg, began := d.config(), time.Now()
			cfg.StartTimeout, cfg.Spent = time.Minute, test.spent
			if test.busy > 0 {
				cfg.Aside = func(since time.Time) time.Duration { return min(time.Since(since), test.busy) }
			}
			_, err := Open(t.Context(), cfg)
			d.empty()
			if took := time.Since(began); !errors.Is(err, ErrNotReady) || !errors.Is(err, rpc.ErrTimeout) || took != test.want {
				t.Errorf("%+v: %v after %v", test, err, took)
			}
		})
	}
}

func TestConnectFails(t *testing.T) {
	exited := exit("server exited with code 3: no such module")
	refusal := refuse(-32603, "license expired", "")
	tests := []struct {
		name     string
		protocol string
		servers  []server
		want     string // in the error
		seen     []string
	}{
		{"initialize refused", "", []server{oldServer().with("initialize", refusal)},
			"connect files: the server refused initialize: MCP error -32603: license expired", []string{probed + " initialize"}},
		{"initialize refused while the probe is pending", "", []server{oldServer().with(probed, silent).with("initialize", refusal)},
			"license expired", []string{probed + " initialize"}},
		{"exits at every start", "", []server{oldServer().with(probed, exited).with("initialize", exited)},
			"connect files: server exited with code 3: no such module", []string{probed, "initialize"}},
		{"says nothing at all", "", []server{{on: map[string]act{probed: silent, "initialize": silent}}},
			"connect files: the server was not ready within 1m0s", []string{probed + " initialize"}},
		{"no server listens yet", "", []server{oldServer().with(probed, func(p *process, _ message) {
			p.peer.Failed(1, &rpc.StatusError{Refused: true, Err: errors.New("no server listens")})
		})}, "no server listens", []string{probed}},
		{"unknown version", "", []server{oldServer().with("initialize", answer(initializeResult("2099-01-01")))},
			`initialize: invalid result: the server wants protocol "2099-01-01"`, []string{probed + " initialize"}},
		{"modern version in a handshake", "", []server{oldServer().with("initialize", answer(initializeResult("2026-07-28")))},
			`the server wants protocol "2026-07-28"`, []string{probed + " initialize"}},
		{"initialize answered with an array", "", []server{oldServer().with("initialize", answer(`[]`))},
			"initialize: invalid result: want an object", []string{probed + " initialize"}},
		{"lists a version and refuses it", "",
			[]server{newServer().with(probed, refuse(mcp.CodeUnsupportedVersion, "no", `{"supported":["2026-07-28"]}`))},
			"lists protocol 2026-07-28 and does not speak it: MCP error -32022: no", []string{probed + " " + probed}},
		{"pinned modern, refused", "2026-07-28", []server{oldServer()},
			"does not speak 2026-07-28: MCP error -32601", []string{probed}},
		{"pinned modern, others listed", "2026-07-28", []server{newServer().with(probed, answer(`{"supportedVersions":["2027-01-01"]}`))},
			`does not speak 2026-07-28: it lists "2027-01-01"`, []string{probed}},
		{"pinned modern, exits", "2026-07-28", []server{newServer().with(probed, exited)}, "code 3", []string{probed}},
		{"legacy, exits", "legacy", []server{oldServer().with("initialize", exited)}, "code 3", []string{"initialize"}},
		{"no such protocol", "2042", []server{oldServer()}, `unknown protocol "2042": want auto, legacy or one of 2024-11-05,`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(test.servers...)
				cfg := d.config()
				cfg.Protocol = test.protocol
				_, err := Open(t.Context(), cfg)
				d.empty()
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %s", err, test.want)
				}
				if got := d.received(); !slices.Equal(got, test.seen) {
					t.Errorf("processes saw %q, want %q", got, test.seen)
				}
			})
		})
	}
}

// TestRefusedTwice holds that nothing is waited for once both requests are refused.
func TestRefusedTwice(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		no := refuse(-32603, "license expired", "")
		d := launcher(oldServer().with(probed, after(3*time.Second, no)).with("initialize", no))
		start := time.Now()
		if _, err := Open(t.Context(), d.config()); err == nil {
			t.Error("connected")
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPinnedProtocol(t *testing.T) {
	for protocol, want := range map[string]string{
		"legacy": greeted, "2024-11-05": greeted, "2025-06-18": greeted, "2026-07-28": probed,
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			script := newServer().with("initialize", func(p *process, m message) {
				offer := string(member(m.Params, "protocolVersion"))
				answer(initializeResult(strings.Trim(offer, `"`)))(p, m)
			})
			d := launcher(script)
			s := d.open(func(c *setup) { c.Protocol = protocol })
			synctest.Wait()
			if got := d.process(0).received(); got != want {
				t.Errorf("%s: server saw %s, want %s", protocol, got, want)
			}
			if got := s.Info().Protocol; got != protocol && protocol != LegacyOnly {
				t.Errorf("%s: protocol %s", protocol, got)
			}
		})
	}
}

func TestVersionsOfTheHandshake(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with("initialize", answer(initializeResult(version))))
			if got := d.open().Info().Protocol; got != version {
				t.Errorf("protocol %s, want %s", got, version)
			}
			offer := member(d.process(0).find("initialize")[0].Params, "protocolVersion")
			if string(offer) != `"2025-11-25"` {
				t.Errorf("offered %s", offer)
			}
		})
	}
}

func TestVersionOmitted(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var warned []string
		s := launcher(oldServer().with("initialize", answer(`{"capabilities":null}`))).open(func(c *setup) {
			c.Warn = func(text string) { warned = append(warned, text) }
		})
		synctest.Wait()
		if got := s.Info(); got.Protocol != mcp.Version20241105 || len(warned) != 1 {
			t.Errorf("protocol %s, warnings %q", got.Protocol, warned)
		}
	})
}

func TestInfo(t *testing.T) {
	want := map[mcp.Era]status.Info{
		mcp.Legacy: {
			Server: mcp.Implementation{Name: "old", Title: "Old", Version: "1"}, Protocol: "2025-11-25", Era: mcp.Legacy,
			Instructions: "be kind", Capabilities: []byte(`{"tools":{}}`),
		},
		mcp.Modern: {
			Server: mcp.Implementation{Name: "new", Version: "2"}, Protocol: "2026-07-28", Era: mcp.Modern,
			Instructions: "be kind", Capabilities: []byte(`{"tools":{}}`),
		},
	}
	for era, script := range map[mcp.Era]server{mcp.Legacy: oldServer(), mcp.Modern: newServer()} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			got := launcher(script).open().Info()
			if !equalInfo(got, want[era]) {
				t.Errorf("%+v, want %+v", got, want[era])
			}
			if raw := string(got.Raw); !strings.Contains(raw, `"be kind"`) || !strings.Contains(raw, want[era].Server.Version) {
				t.Errorf("of the whole answer it keeps %s", raw)
			}
		})
	}
}

func equalInfo(a, b status.Info) bool {
	same := string(a.Capabilities) == string(b.Capabilities)
	a.Capabilities, b.Capabilities = nil, nil
	return same && reflect.DeepEqual(a.Server, b.Server) && a.Protocol == b.Protocol && a.Era == b.Era && a.Instructions == b.Instructions
}

func TestDialFails(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		cfg := launcher(oldServer()).config()
		cause := errors.New("stdio: start process: no such file")
		cfg.Dial = func(context.Context, rpc.Handler) (*Dialed, error) { return nil, cause }
		_, err := Open(t.Context(), cfg)
		if !errors.Is(err, cause) || err.Error() != "connect files: stdio: start process: no such file" {
			t.Error(err)
		}
	})
}
