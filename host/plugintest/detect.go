package plugintest

import (
	"bytes"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

// detect finds out which wire the guest speaks: by what it opens, and by how a
// message looks that it sends.
func (k *kit) detect() {
	quiet := &sampleWire{profile: k.options.Profile}
	c := k.setup
	c.wire = quiet
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
		k.wires, k.unknown = k.wiresOf(g, quiet.made)
	}
	if len(k.wires) > 0 {
		k.report.Plugin.Class, k.report.Plugin.Wire = k.wires[0].class(), k.wires[0].name()
	} else if k.report.Plugin.Class == "" {
		k.report.Plugin.Class = classes[k.setup.manifest.Grants[0].Kind]
	}
	if !k.usesHarness(g) {
		g.stop()
	}
}

// endReason says why the connection ended, if it did.
func endReason(g *harness) string {
	if g.inbox.closed != nil {
		return ": " + g.inbox.closed.Error()
	}
	return ""
}

// usesHarness reports whether the sampler needs g.
func (k *kit) usesHarness(g *harness) bool { return len(k.samplers) > 0 && k.samplers[0].stage == g }

// needsProfile is the reason where the kit cannot know more.
const needsProfile = "the kit does not know how messages look on its wire: describe it in a profile (%s)"

// wiresOf returns the wires of a guest that has opened its connection, or why there is none.
func (k *kit) wiresOf(g *harness, taken *sampleServer) ([]wire, string) {
	first := g.streams
	if len(first) == 0 || first[0].kind == abi.OpenHTTP && !first[0].is(abi.Upgrade) {
		if len(first) > 0 && !g.inst.Up() && first[0].request.Method == "GET" {
			return []wire{&web{legacy: true}}, ""
		}
		if g.inst.Up() && (len(first) > 0 || k.asks(abi.OpenHTTP)) {
			return []wire{&web{}, &web{events: true}}, ""
		}
		return nil, fmt.Sprintf(needsProfile, "it is not up after what it opened; only MCP's own use of HTTP is known")
	}
	p := &pipe{kind: classes[first[0].kind], profile: k.options.Profile}
	if p.kind == "http" {
		p.kind = "stream"
	}
	if f := k.given(); f != nil {
		p.framing = f
		return []wire{p}, ""
	}
	f, why := k.framed(g, taken)
	if p.framing = f; f == nil {
		k.noteViolation(g)
		return nil, why
	}
	return []wire{p}, ""
}

// violation is something that a guest must not do in any protocol: it trapped, used up its
// budget, broke a rule of the ABI, or ended a request that has no answer yet. The kit
// noticed it while it was finding out the wire.
type violation struct {
	err    error
	record *recording
}

func (b *violation) Error() string {
	return b.err.Error() + "\nIt did so while the kit found out how messages look on its wire, so nothing else was tried."
}

func (b *violation) Unwrap() error { return b.err }

// noteViolation keeps what the guest of a harness did wrong, and reports whether it did
// anything wrong. Failing the connection with a message of its own is not a violation: a
// setting may be missing.
func (k *kit) noteViolation(g *harness) bool {
	err := g.inbox.fault
	switch n, barren := g.inbox.firstUnanswered(); {
	case err != nil:
	case guest.Crashed(g.inbox.closed):
		err = fmt.Errorf("the guest was stopped: %w", g.inbox.closed)
	case barren:
		err = fmt.Errorf("report(DONE) for request %d came before its answer, and ends it without one", n)
	default:
		return false
	}
	if k.violation == nil {
		k.violation = &violation{err, g.record}
		k.unknown = basic + " failed before it could be tried"
	}
	return true
}

func (k *kit) asks(kind abi.OpenKind) bool {
	for _, g := range k.setup.manifest.Grants {
		if g.Kind == kind {
			return true
		}
	}
	return false
}

// given returns the framing that a profile names, or nil.
func (k *kit) given() framing {
	p := k.options.Profile
	switch {
	case p == nil:
		return nil
	case p.Framing == "pattern":
		return &pattern{profile: p}
	}
	return framingNamed(p.Framing)
}

// framed looks at a message that the guest sends.
func (k *kit) framed(g *harness, taken *sampleServer) (framing, string) {
	if !g.inst.Up() {
		return nil, k.waits(g, taken)
	}
	probe := request(1, 100)
	frame, err := taken.takes(1, probe)
	if err != nil {
		return nil, err.Error()
	}
	for _, name := range []string{"ndjson", "content-length", "websocket"} {
		f := framingNamed(name)
		if m, n, err := f.hear(g, frame); err == nil && n == len(frame) && string(m) == probe {
			return f, ""
		}
	}
	if again, err := taken.takes(2, probe); err != nil || !bytes.Equal(again, frame) {
		return nil, fmt.Sprintf(needsProfile, "the guest does not write the same message in the same way twice")
	}
	t := &sampler{stage: g, server: taken, known: map[string][]byte{probe: frame}}
	f := &learned{sampler: t}
	if err := k.checkLearned(f); err != nil {
		return nil, fmt.Sprintf(needsProfile, "the guest does not understand what it says itself: "+err.Error())
	}
	k.samplers = append(k.samplers, t)
	return f, ""
}

// waits says what a guest that is not up is waiting for.
func (k *kit) waits(g *harness, taken *sampleServer) string {
	reason := "the guest has not said report(UP), and waits for something"
	p := k.options.Profile.orEmpty()
	switch {
	case p.Greeting != "" || len(p.Replies) > 0:
		if len(taken.written) > 0 {
			return reason + endReason(g) + taken.unanswered(taken.last, taken.written)
		}
		return reason + endReason(g) + "; all that the server was sent has an answer (profile: greeting, replies)"
	case len(taken.written) > 0:
		reason += "; the server was sent " + short(taken.written)
	}
	return fmt.Sprintf(needsProfile, reason+endReason(g))
}

// checkLearned plays the smallest of all scenarios with a learned framing.
func (k *kit) checkLearned(f framing) error {
	s := &Scenario{Steps: []Step{
		{1, "open", ""}, {2, "send", "1 " + request(1, 100)}, {3, "hears", "1"},
		{4, "says", "1 " + reply(1, 100)}, {5, "gets", reply(1, 100)},
	}}
	c := k.setup
	c.wire = &pipe{kind: "stream", framing: f, profile: k.options.Profile}
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
