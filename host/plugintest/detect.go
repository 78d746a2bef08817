package plugintest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

// detect finds out which wire the guest speaks, by the handles that it opens and by the form of a
// message that it sends.
func (k *kit) detect() {
	c := k.setup
	c.wire.serve = func(g *harness) server { return newPipeServer(g, nil, k.options.Profile) }
	g, err := newHarness(k.ctx, &c)
	if err == nil {
		err = g.open()
	}
	switch {
	case k.given() == nil && k.noteViolation(g):
	case err != nil && (k.given() == nil || len(g.streams) == 0): // otherwise each check says so
		k.unknown = fmt.Sprintf("the guest does not get as far as to be tested: %v", err)
	case len(g.streams) == 0 && !g.inst.Up():
		k.unknown = "the guest opens nothing" + endReason(g)
	default:
		k.wires, k.unknown = k.wiresOf(g)
	}
	if len(k.wires) > 0 {
		k.report.Plugin.Class, k.report.Plugin.Wire = k.wires[0].class, k.wires[0].name
	} else {
		k.report.Plugin.Class = classes[k.setup.manifest.Grants[0].Kind]
	}
	if k.learned == nil {
		g.stop()
	}
}

var classes = map[abi.OpenKind]string{abi.OpenProcess: "process", abi.OpenStream: "stream", abi.OpenHTTP: "http"}

// endReason says why the connection ended, if it did, or what the guest may not open.
func endReason(g *harness) string {
	if why := cmp.Or(g.inbox.closed, g.refusal); why != nil {
		return ": " + why.Error()
	}
	return ""
}

// needsProfile is the reason to skip checks if the kit cannot find out the wire.
const needsProfile = "the kit does not know how messages look on its wire: describe it in a profile (%s)"

// wiresOf returns the wires of a guest that has opened its connection, or why they are unknown.
func (k *kit) wiresOf(g *harness) ([]wire, string) {
	opened := g.streams
	if len(opened) == 0 || opened[0].kind == abi.OpenHTTP && !opened[0].upgrades() {
		asksHTTP := slices.ContainsFunc(k.setup.manifest.Grants, func(g abi.Grant) bool { return g.Kind == abi.OpenHTTP })
		switch {
		case g.inst.Up() && (len(opened) > 0 || asksHTTP):
			return streamableHTTP, ""
		case !g.inst.Up() && len(opened) > 0 && opened[0].request.Method == "GET":
			return legacySSE, ""
		}
		return nil, fmt.Sprintf(needsProfile, "it is not up after what it opened; only MCP's own use of HTTP is known")
	}
	class := classes[opened[0].kind]
	if class == "http" {
		class = "stream" // it was upgraded
	}
	f, why := k.given(), ""
	if f == nil {
		f, why = k.framed(g)
	}
	if f == nil {
		k.noteViolation(g)
		return nil, why
	}
	return []wire{pipeWire(class, f, k.options.Profile)}, ""
}

// violation is something that a guest must not do in any protocol: it trapped, used up its
// budget, broke a rule of the ABI, or ended a request that has no answer yet. The kit
// noticed it while it was finding out the wire.
type violation struct {
	err    error
	record *recording
}

// noteViolation keeps what the guest of a harness did wrong, and reports whether it did
// anything wrong. Failing the connection with a message of its own is not a violation: a
// setting may be missing.
func (k *kit) noteViolation(g *harness) bool {
	err := g.inbox.fault
	if err == nil && guest.Crashed(g.inbox.closed) {
		err = fmt.Errorf("the guest was stopped: %w", g.inbox.closed)
	}
	for n := uint32(1); err == nil && n <= g.highest; n++ {
		if g.of(n).unanswered {
			err = fmt.Errorf("report(DONE) for request %d came before its answer, and ends it without one", n)
		}
	}
	if err == nil {
		return false
	}
	if k.violation == nil {
		k.violation = &violation{fmt.Errorf("%w\nit did so while the kit found out how messages look on its wire, so nothing else was tried", err), g.record}
		k.unknown = basic + " failed before it could be tried"
	}
	return true
}

// given returns the framing that a profile names, or nil.
func (k *kit) given() framing {
	if p := k.options.Profile; p.Framing == "pattern" {
		return pattern{p}
	}
	return framingNamed(k.options.Profile.Framing)
}

// framed looks at a message that the guest sends.
func (k *kit) framed(g *harness) (framing, string) {
	learned := &learned{harness: g, server: g.server.(*pipeServer), known: map[string][]byte{}}
	if !g.inst.Up() {
		return nil, k.waits(g, learned.server.written)
	}
	probe := request(1, 100)
	written, err := learned.takes(1, probe)
	if err != nil {
		return nil, err.Error()
	}
	for _, f := range framings {
		if heard, err := f.hear(g, written); err == nil && heard.size == len(written) && string(heard.message) == probe {
			return f, ""
		}
	}
	if again, err := learned.takes(2, probe); err != nil || !bytes.Equal(again, written) {
		return nil, fmt.Sprintf(needsProfile, "the guest does not write the same message in the same way twice")
	}
	learned.known[probe] = written
	if err := k.checkLearned(learned); err != nil {
		return nil, fmt.Sprintf(needsProfile, "the guest does not understand what it says itself: "+err.Error())
	}
	k.learned = learned
	return learned, ""
}

// waits says what a guest that is not up waits for. written has the bytes that it has written so
// far.
func (k *kit) waits(g *harness, written []byte) string {
	reason, sent := "the guest has not said report(UP), and waits for something", ""
	if p := k.options.Profile; p.Greeting == "" && len(p.Replies) == 0 {
		if len(written) > 0 {
			sent = "; the server was sent " + short(written)
		}
		return fmt.Sprintf(needsProfile, reason+sent+endReason(g))
	}
	if sent = "; all that the server was sent has an answer (profile: greeting, replies)"; len(written) > 0 {
		sent = unanswered(written)
	}
	return reason + endReason(g) + sent
}

// checkLearned tries a framing that was learned, with one request and its answer.
func (k *kit) checkLearned(f framing) error {
	s := &Scenario{Steps: []Step{
		{1, "open", ""}, {2, "send", "1 " + request(1, 100)}, {3, "hears", "1"},
		{4, "says", "1 " + reply(1, 100)}, {5, "gets", reply(1, 100)},
	}}
	c := k.setup
	c.wire = pipeWire("stream", f, k.options.Profile)
	g, err := newHarness(k.ctx, &c)
	defer g.stop()
	if err == nil {
		err = g.perform(s)
	}
	if err != nil {
		k.noteViolation(g)
	}
	return err
}
