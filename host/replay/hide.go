package replay

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// cloak takes the secrets out of the steps of one connection, in their order. It
// belongs to one goroutine.
type cloak struct {
	known   *redact.Set
	heard   map[uint32]*veil // what comes, by handle
	spoken  map[uint32]*veil // what is delivered from memory, by exchange
	tainted bool             // the guest has seen what a recording must not tell
}

func newCloak(known *redact.Set) *cloak {
	return &cloak{known: known, heard: make(map[uint32]*veil), spoken: make(map[uint32]*veil)}
}

// hide overwrites what is secret in a step.
func (c *cloak) hide(s *step) {
	c.learn(s)
	raw := s.bytes
	s.bytes, s.masked = c.payload(s)
	if s.last() {
		delete(c.heard, s.handle)
	}
	c.tainted = c.tainted || s.masked
	for i := range s.calls {
		c.call(&s.calls[i], raw, s.bytes)
	}
	trap, _ := once(c.known, []byte(s.trap))
	s.trap = string(trap)
}

// stream returns the veil of one of many streams.
func (c *cloak) stream(of map[uint32]*veil, number uint32) *veil {
	v := of[number]
	if v == nil {
		v = newVeil(c.known)
		of[number] = v
	}
	return v
}

func (c *cloak) payload(s *step) ([]byte, bool) {
	size, whole := abi.BlockSize(s.bytes)
	switch {
	case s.kind == abi.EventData:
		return c.stream(c.heard, s.handle).over(s.bytes)
	case s.kind == abi.EventOpen:
		return c.block(s.bytes, maskSettings)
	case s.kind == abi.EventMessage && whole:
		return c.before(s.bytes, size, maskFacts, newVeil(c.known))
	case s.kind == abi.EventHead && whole:
		c.heard[s.handle] = newVeil(c.known)
		return c.before(s.bytes, size, maskHead, c.heard[s.handle])
	}
	return once(c.known, s.bytes)
}

// before hides in a block, and in what follows it.
func (c *cloak) before(p []byte, size int, mask func([]byte) []byte, rest *veil) ([]byte, bool) {
	head, masked := c.block(p[:size], mask)
	body, also := rest.over(p[size:])
	return append(bytes.Clone(head), body...), masked || also
}

// block hides in a block, whose lengths stay what they are.
func (c *cloak) block(p []byte, mask func([]byte) []byte) ([]byte, bool) {
	out := mask(p)
	if len(out) != len(p) {
		out = bytes.Clone(p) // not one of ours, to the byte
	}
	for _, span := range c.known.Spans(p) {
		cover(out[span[0]:span[1]])
	}
	return out, !bytes.Equal(out, p)
}

// call hides in what a guest passed. raw is the payload of the event, and shown
// what is left of it.
func (c *cloak) call(k *call, raw, shown []byte) {
	switch k.op {
	case abi.CallOpen:
		k.bytes, k.masked = c.block(openRequest(k.bytes), maskOpen)
	case abi.CallWrite:
		c.written(k, raw, shown)
	case abi.CallDeliverMem:
		if k.bytes != nil {
			k.bytes, k.masked = c.stream(c.spoken, k.args[0]).over(k.bytes)
		}
		if k.args[3]&(abi.End|abi.Abort) != 0 {
			delete(c.spoken, k.args[0])
		}
		c.tainted = c.tainted || k.masked
	case abi.CallReport:
		if !k.describes() {
			k.bytes, k.masked = once(c.known, k.bytes)
		}
		delete(c.spoken, k.args[1])
	case abi.CallClose:
		delete(c.heard, k.args[0])
	default:
		k.bytes, k.masked = once(c.known, k.bytes)
	}
}

// harmless is how many bytes are fewer than a secret has.
const harmless = 7

// written hides in what a guest writes from its memory. Where it may have made
// something else of a secret, nobody can tell what, unless it is a part of the event.
func (c *cloak) written(k *call, raw, shown []byte) {
	at := bytes.Index(raw, k.bytes)
	switch {
	case !c.tainted || len(k.bytes) <= harmless:
		k.bytes, k.masked = once(c.known, k.bytes)
	case at >= 0:
		part := shown[at : at+len(k.bytes)]
		k.masked, k.bytes = !bytes.Equal(part, k.bytes), part
	default:
		k.bytes, k.hidden = nil, true
	}
}

// inAddress finds the members of a query: HTTP+SSE has there what identifies a
// session.
var inAddress = regexp.MustCompile(`[?&]([A-Za-z0-9_.-]{1,64})=([^&#\s"\\]+)`)

// learn looks for settings that are called secrets, and for what identifies a
// session, before they are hidden anywhere.
func (c *cloak) learn(s *step) {
	if s.kind == abi.EventOpen {
		c.learnSettings(s.bytes)
		return
	}
	for _, found := range inAddress.FindAllSubmatch(s.bytes, -1) {
		if private(string(found[1])) {
			c.known.HideRecent(string(found[2]))
		}
	}
	if s.kind != abi.EventHead {
		return
	}
	head, err := abi.DecodeHead(s.bytes)
	if err != nil {
		return
	}
	for _, h := range head.Headers {
		if private(h.Key) {
			c.known.HideRecent(h.Value)
		}
	}
}

func (c *cloak) learnSettings(p []byte) {
	s, err := abi.DecodeSettings(p)
	if err != nil {
		return
	}
	for _, v := range s.Values {
		if private(v.Key) {
			c.known.HideNamed(v.Value)
		}
	}
}

// private reports whether the value of a header or a setting is hidden.
func private(name string) bool {
	switch strings.ToLower(name) {
	case "mcp-session-id", "sessionid", "session_id":
		return true
	}
	return secret.Key(name)
}

func starred(text string) string {
	p := []byte(text)
	cover(p)
	return string(p)
}

// maskPairs overwrites values that are called like secrets.
func maskPairs(pairs []abi.Pair) {
	for i := range pairs {
		if private(pairs[i].Key) {
			pairs[i].Value = starred(pairs[i].Value)
		}
	}
}

func maskSettings(p []byte) []byte {
	s, err := abi.DecodeSettings(p)
	if err != nil {
		return nil
	}
	s.Values = slices.Clone(s.Values)
	for i, v := range s.Values {
		if private(v.Key) && len(v.Value) >= redact.LeastNamed {
			s.Values[i].Value = starred(v.Value)
		}
	}
	return abi.AppendSettings(nil, &s)
}

func maskFacts(p []byte) []byte {
	f, err := abi.DecodeFacts(p)
	if err != nil {
		return nil
	}
	maskPairs(f.Headers)
	return abi.AppendFacts(nil, &f)
}

func maskHead(p []byte) []byte {
	h, err := abi.DecodeHead(p)
	if err != nil {
		return nil
	}
	maskPairs(h.Headers)
	return abi.AppendHead(nil, &h)
}

func maskOpen(p []byte) []byte {
	r, err := abi.DecodeOpenRequest(p)
	if err != nil {
		return nil
	}
	maskPairs(r.Headers)
	if path, query, found := strings.Cut(r.Target, "?"); found {
		r.Target = path + "?" + maskQuery(query)
	}
	return abi.AppendOpenRequest(nil, &r)
}

// openRequest returns a request as this program encodes it.
func openRequest(p []byte) []byte {
	r, err := abi.DecodeOpenRequest(p)
	if err != nil {
		return p
	}
	return abi.AppendOpenRequest(nil, &r)
}

// maskQuery overwrites the values of a query.
func maskQuery(query string) string {
	out, value := []byte(query), false
	for i, c := range out {
		switch {
		case c == '=':
			value = true
		case c == '&' || c == '#':
			value = false
		case value:
			cover(out[i : i+1])
		}
	}
	return string(out)
}
