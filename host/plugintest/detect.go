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
	quiet := &silent{profile: k.options.Profile}
	c := k.cast
	c.wire = quiet
	g, err := raise(k.ctx, &c)
	if err == nil {
		err = g.open()
	}
	switch {
	case k.given() == nil && k.blames(g):
	case err != nil && (k.given() == nil || len(g.streams) == 0): // otherwise each check says so
		k.unknown = fmt.Sprintf("the guest does not get as far as to be tested: %v", err)
	case len(g.streams) == 0 && !g.inst.Up():
		k.unknown = "the guest opens nothing" + because(g)
	default:
		k.wires, k.unknown = k.speaks(g, quiet.made)
	}
	if len(k.wires) > 0 {
		k.report.Plugin.Class, k.report.Plugin.Wire = k.wires[0].class(), k.wires[0].name()
	} else if k.report.Plugin.Class == "" {
		k.report.Plugin.Class = classes[k.cast.manifest.Grants[0].Kind]
	}
	if !k.teaches(g) {
		g.strike()
	}
}

// because is why a guest did not go on.
func because(g *stage) string {
	if g.inbox.closed != nil {
		return ": " + g.inbox.closed.Error()
	}
	return ""
}

func (k *kit) teaches(g *stage) bool { return len(k.teachers) > 0 && k.teachers[0].stage == g }

// needsProfile is the reason where the kit cannot know more.
const needsProfile = "the kit does not know how messages look on its wire: describe it in a profile (%s)"

// speaks tells the wire of a guest that has opened its connection.
func (k *kit) speaks(g *stage, taken *pupil) ([]wire, string) {
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
		k.blames(g)
		return nil, why
	}
	return []wire{p}, ""
}

// breach is what a guest must not do in any protocol: it trapped, used up its budget,
// broke a rule of the ABI, or ended a request that has no answer yet. The kit found it while it looked for the wire.
type breach struct {
	err    error
	record *recording
}

func (b *breach) Error() string {
	return b.err.Error() + "\nIt did so while the kit found out how messages look on its wire, so nothing else was tried."
}

func (b *breach) Unwrap() error { return b.err }

// blames keeps what the guest of a stage did wrong, and reports whether it did. That it
// gave the connection up in its own words is none of it: it may lack a setting.
func (k *kit) blames(g *stage) bool {
	err := g.inbox.fault
	switch n, barren := g.inbox.unanswered(); {
	case err != nil:
	case guest.Accident(g.inbox.closed):
		err = fmt.Errorf("the guest was stopped: %w", g.inbox.closed)
	case barren:
		err = fmt.Errorf("report(DONE) for request %d came before its answer, and ends it without one", n)
	default:
		return false
	}
	if k.broke == nil {
		k.broke = &breach{err, g.record}
		k.unknown = basic + " failed before it could be tried"
	}
	return true
}

func (k *kit) asks(kind abi.OpenKind) bool {
	for _, g := range k.cast.manifest.Grants {
		if g.Kind == kind {
			return true
		}
	}
	return false
}

// given is the framing that a profile names.
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
func (k *kit) framed(g *stage, taken *pupil) (framing, string) {
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
	t := &teacher{stage: g, server: taken, known: map[string][]byte{probe: frame}}
	f := &learned{teacher: t}
	if err := k.tryLearned(f); err != nil {
		return nil, fmt.Sprintf(needsProfile, "the guest does not understand what it says itself: "+err.Error())
	}
	k.teachers = append(k.teachers, t)
	return f, ""
}

// waits says what a guest waits for that is not up.
func (k *kit) waits(g *stage, taken *pupil) string {
	reason := "the guest has not said report(UP), and waits for something"
	p := k.options.Profile.orEmpty()
	switch {
	case p.Greeting != "" || len(p.Replies) > 0:
		if len(taken.written) > 0 {
			return reason + because(g) + taken.unanswered(taken.last, taken.written)
		}
		return reason + because(g) + "; all that the server was sent has an answer (profile: greeting, replies)"
	case len(taken.written) > 0:
		reason += "; the server was sent " + short(taken.written)
	}
	return fmt.Sprintf(needsProfile, reason+because(g))
}

// tryLearned plays the smallest of all scenarios.
func (k *kit) tryLearned(f framing) error {
	s := &Scenario{Steps: []Step{
		{1, "open", ""}, {2, "send", "1 " + request(1, 100)}, {3, "hears", "1"},
		{4, "says", "1 " + reply(1, 100)}, {5, "gets", reply(1, 100)},
	}}
	c := k.cast
	c.wire = &pipe{kind: "stream", framing: f, profile: k.options.Profile}
	g, err := raise(k.ctx, &c)
	defer g.strike()
	if err == nil {
		err = g.perform(s)
	}
	if err != nil {
		k.blames(g)
	}
	return err
}
