package plugintest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

// errEnough ends a run early that has gone well so far.
var errEnough = errors.New("enough")

// verbs are what a step of a scenario for transports can do or expect. An error is an
// expectation that was not met; README.md describes each verb.
var verbs = map[string]func(*harness, string) error{
	// The host.
	"open": openUp, "begin": func(g *harness, _ string) error { return g.open() },
	"greet": greet, "send": onExchange((*harness).send), "cancel": onExchange(cancel), "withdraw": onExchange(withdraw),
	"strange": strange, "wait": wait, "shut": shut,

	// The server.
	"says":   onExchange(func(g *harness, n uint32, m string) error { return g.says(n, m, false) }),
	"begins": onExchange(func(g *harness, n uint32, m string) error { return g.says(n, m, true) }),
	"ends":   onExchange(func(g *harness, n uint32, _ string) error { g.write(g.halves[n]); return g.pump() }),
	"raw":    func(g *harness, text string) error { g.mayEnd = true; return sayBytes(g, text) }, "bytes": sayBytes,
	"leaves":  func(g *harness, _ string) error { g.mayEnd = true; return g.leave() },
	"crashes": crashes, "refuses": refuses, "status": status,
	"hold": func(g *harness, _ string) error { g.holding = true; return nil }, "release": release,
	"stuck": func(g *harness, _ string) error { g.stuck = true; return nil }, "drains": drains,

	// What is expected.
	"hears": hears, "sees": sees, "gets": gets, "rejects": rejects, "fails": onExchange(fails), "surfaces": onExchange(surfaces),
	"lost": lost, "answered": onExchange(answered), "unsent": onExchange(unsent), "large": large,
	"down": unless("expected no connection, but the guest says that it is up",
		func(g *harness) bool { return g.inst.Up() && g.inbox.closed == nil }),
	"may-end": func(g *harness, _ string) error { g.mayEnd = true; return nil },
	"enough": func(g *harness, _ string) error {
		if g.inbox.closed != nil {
			return errEnough
		}
		return nil
	},
}

// onExchange returns a verb that has an exchange before its text.
func onExchange(do func(*harness, uint32, string) error) func(*harness, string) error {
	return func(g *harness, text string) error {
		word, rest, _ := strings.Cut(text, " ")
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return fmt.Errorf("expected the number of an exchange: %q", word)
		}
		return do(g, uint32(n), rest)
	}
}

func openUp(g *harness, _ string) error {
	if err := g.open(); err != nil {
		return err
	}
	switch {
	case g.inbox.closed != nil:
		return fmt.Errorf("expected the connection to come up, but it ended: %w", g.inbox.closed)
	case !g.inst.Up():
		return fmt.Errorf("expected report(UP) once what the guest opened is there; nothing came%s", g.obstacle())
	}
	return nil
}

// greet makes the handshake of the legacy era, after which some transports begin to
// listen.
func greet(g *harness, _ string) error {
	const hello, done = 901, 902
	err := g.call(hello,
		`{"jsonrpc":"2.0","id":901,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"kit","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":901,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"kit","version":"1"}}}`)
	if err == nil {
		g.version, g.epoch = "2025-11-25", 1
		err = g.send(done, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if err == nil {
		err = hears(g, "902")
	}
	if err != nil {
		return fmt.Errorf("the handshake of 2025-11-25: %w", err)
	}
	return nil
}

func cancel(g *harness, n uint32, _ string) error {
	g.of(n).waiting, g.of(n).cancelled = false, true
	g.inst.Cancel(n)
	return g.pump()
}

// withdraw cancels a message that must not have been sent yet.
func withdraw(g *harness, n uint32, _ string) error {
	x := g.of(n)
	x.waiting, x.cancelled = false, true
	if !g.inst.Cancel(n) {
		return fmt.Errorf("expected message %d to wait still, but the guest has had it", n)
	}
	x.unheard = false
	return g.pump()
}

// unknownKinds are kinds of events that later versions may have.
var unknownKinds = []abi.Kind{abi.EventClose + 1, 77, 1 << 16, 1 << 29}

func strange(g *harness, _ string) error {
	for _, k := range unknownKinds {
		before := g.record.dropped + len(g.record.entries)
		g.inst.SendUnknown(k, 1, 1, []byte("strange\n"))
		if err := g.pump(); err != nil {
			return err
		}
		lines := g.record.dropped + len(g.record.entries) - before
		if last := g.record.entries[len(g.record.entries)-1].Line; lines != 2 || last != "--> = 0" {
			return fmt.Errorf("expected 0 and nothing else from an event of the unknown kind %d, got %d host calls and %q", k, lines-2, last)
		}
	}
	return nil
}

func wait(g *harness, text string) error {
	ms, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	return g.pass(time.Duration(ms) * time.Millisecond)
}

// grace is how long a host waits for ENDED.
const grace = 2 * time.Second

func shut(g *harness, _ string) error {
	before := len(g.inbox.got)
	g.inst.SendClose()
	if err := g.pump(); err != nil {
		return err
	}
	if g.inbox.closed == nil {
		if err := g.pass(grace); err != nil {
			return err
		}
	}
	switch {
	case g.inbox.closed == nil:
		return errors.New("expected report(ENDED) within two seconds of CLOSE; nothing came, and a host would have waited all the time")
	case len(g.inbox.got) > before:
		return fmt.Errorf("expected nothing to be received after CLOSE, got %s", short([]byte(g.inbox.got[before])))
	}
	return nil
}

func crashes(g *harness, text string) error {
	status, err := statusNamed(text)
	if err != nil {
		return err
	}
	g.mayEnd = true
	return g.crash(status)
}

func refuses(g *harness, text string) (err error) {
	g.mayEnd = true
	g.refuse, err = statusNamed(text)
	return err
}

func statusNamed(text string) (abi.Status, error) {
	for s := abi.OK; s >= abi.Unauthorized; s-- {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown status %q", text)
}

// status is the HTTP status of the next answer.
func status(g *harness, text string) (err error) {
	g.status, err = strconv.Atoi(text)
	return err
}

func release(g *harness, _ string) error {
	g.holding = false
	for _, s := range g.streams {
		if len(s.held) > 0 {
			g.flush(s)
		}
	}
	return g.pump()
}

// drains lets the server take the waiting bytes, and the guest go on.
func drains(g *harness, _ string) error {
	g.stuck = false
	for _, s := range g.streams {
		if s.closed {
			continue
		}
		s.Flush()
		g.later(func() error { s.Events.Drained(); return nil })
	}
	return g.pump()
}

// hears expects that the server has the messages of these exchanges, whole and
// unchanged: those of one stream in the order in which they were sent.
func hears(g *harness, text string) error {
	if text == "nothing" {
		if len(g.heard) > 0 {
			return fmt.Errorf("expected the server to hear nothing, but it has message %d", g.heard[0])
		}
		return nil
	}
	for word := range strings.FieldsSeq(text) {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return err
		}
		at := slices.Index(g.heard, uint32(n))
		switch _, ordered := g.server.(*pipeServer); {
		case at < 0:
			return fmt.Errorf("expected the server to have message %d; %s", n, g.found())
		case at > 0 && ordered:
			return fmt.Errorf("expected message %d next, the server has message %d", n, g.heard[0])
		}
		g.heard = slices.Delete(g.heard, at, at+1)
	}
	return nil
}

// found says for an error what the run has instead of the expected.
func (g *harness) found() string {
	if g.inbox.closed != nil {
		return "the connection has ended: " + g.inbox.closed.Error()
	}
	var list []string
	for _, s := range g.streams {
		if len(s.heard) > 0 && !s.taken {
			list = append(list, short(s.heard))
		}
	}
	for n, x := range g.exchanges {
		if x.unanswered {
			list = append(list, fmt.Sprintf("report(DONE) for request %d, which ends it without an answer", n))
		}
		if x.failed != nil {
			list = append(list, fmt.Sprintf("message %d failed: %v", n, x.failed))
		}
	}
	if g.refusal != nil {
		list = append(list, "a refusal: "+g.refusal.Error())
	}
	if len(list) == 0 {
		return "there is nothing"
	}
	slices.Sort(list)
	return "there is " + strings.Join(list, ", ")
}

// gets expects the next message that the host has, byte for byte.
func gets(g *harness, text string) error {
	if text == "nothing" {
		if len(g.inbox.got) > 0 {
			return fmt.Errorf("expected the host to get nothing, got %s", short([]byte(g.inbox.got[0])))
		}
		return nil
	}
	if len(g.inbox.got) == 0 {
		reason := g.found()
		if n := len(g.inbox.refused); n > 0 {
			reason = "what was delivered last is " + g.inbox.refused[n-1].String() + "; " + reason
		}
		return fmt.Errorf("expected the host to get %s; %s", short([]byte(text)), reason)
	}
	got := g.inbox.got[0]
	g.inbox.got = g.inbox.got[1:]
	if trimmed(got) != text {
		return fmt.Errorf("expected the host to get %s, got %s", short([]byte(text)), short([]byte(got)))
	}
	return nil
}

// rejects expects a delivery with this verdict.
func rejects(g *harness, text string) error {
	if !slices.ContainsFunc(g.inbox.refused, func(v abi.Verdict) bool { return v.String() == text }) {
		return fmt.Errorf("expected a delivery with the verdict %s, got %v", text, g.inbox.refused)
	}
	return nil
}

// large expects that a message over the cap was let go.
func large(g *harness, _ string) error {
	failed := slices.ContainsFunc(slices.Collect(maps.Values(g.exchanges)), func(x *exchange) bool { return x.failed != nil })
	if g.inbox.large == 0 && !failed {
		return errors.New("expected the verdict TOO_BIG, or a call that fails for it; " + g.found())
	}
	g.inbox.large = 0
	return nil
}

// answered expects that a request has its answer.
func answered(g *harness, n uint32, _ string) error {
	switch x := g.of(n); {
	case x.failed != nil:
		return fmt.Errorf("expected an answer to request %d, but it failed: %w", n, x.failed)
	case x.waiting || x.unanswered:
		return fmt.Errorf("expected an answer to request %d; %s", n, g.found())
	}
	return nil
}

// fails expects that the guest has failed a message, and kept the connection.
func fails(g *harness, n uint32, _ string) error {
	if g.of(n).failed == nil {
		return fmt.Errorf("expected report(FAILED) for message %d; %s", n, g.found())
	}
	return nil
}

// surfaces expects that the caller of a request learns that there will be no
// answer: it failed, or the connection is lost.
func surfaces(g *harness, n uint32, _ string) error {
	if x := g.of(n); g.inbox.closed == nil && x.failed == nil && !x.done {
		return fmt.Errorf("expected request %d to fail or the connection to end; its caller would wait until the timeout", n)
	}
	return nil
}

// lost expects that the connection has ended, because the other side has.
func lost(g *harness, _ string) error {
	var ended *guest.EndedError
	switch {
	case g.inbox.closed == nil:
		return errors.New("expected the connection to end with its stream; it was to be opened as ESSENTIAL, or the end reported as FAILED with exchange 0")
	case !errors.As(g.inbox.closed, &ended) && !g.mayEnd:
		return fmt.Errorf("expected the connection to end because the server did, got: %w", g.inbox.closed)
	}
	return nil
}

// unsent expects that a message has not reached the guest.
func unsent(g *harness, n uint32, _ string) error {
	if result, ok := g.record.results[n]; ok {
		return fmt.Errorf("expected message %d to wait; the guest has had it and returned %s", n, result)
	}
	return nil
}

// finish checks what holds at the end of every run.
func (g *harness) finish() error {
	if len(g.inbox.got) > 0 && !g.mayEnd {
		return fmt.Errorf("the guest delivered what was not expected: %s", short([]byte(g.inbox.got[0])))
	}
	for n := uint32(1); n <= g.highest; n++ {
		result, ran := g.record.results[n]
		x := g.of(n)
		e, err := readEnvelope(x.sent)
		isRequest := err == nil && e.kind() == abi.Request
		switch {
		case !ran || x.done || x.failed != nil || x.cancelled || g.mayEnd:
		case result != "0" && result != "1":
			return fmt.Errorf("MESSAGE returned %s for exchange %d; it returns 1, 0, or a status below zero", result, n)
		case result == "0" && !x.unheard && !isRequest:
			return fmt.Errorf("MESSAGE returned LATER for exchange %d, and neither DONE nor FAILED followed", n)
		}
	}
	return nil
}
