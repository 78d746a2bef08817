package replay

import (
	"bytes"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// redactor overwrites the secrets in the steps of one connection, in order. It belongs to one
// goroutine.
type redactor struct {
	secrets   *redact.Set
	received  map[uint32]*redact.Masker // by handle
	delivered map[uint32]*redact.Masker // from the memory of the guest, by exchange
	tainted   bool                      // the guest has seen a secret
}

func newRedactor(secrets *redact.Set) *redactor {
	return &redactor{secrets: secrets, received: make(map[uint32]*redact.Masker), delivered: make(map[uint32]*redact.Masker)}
}

// redact overwrites the secrets in a step.
func (r *redactor) redact(s *step) {
	r.learn(s)
	raw := s.bytes
	s.bytes, s.masked = r.payload(s)
	if s.last() {
		delete(r.received, s.handle)
	}
	r.tainted = r.tainted || s.masked
	for i := range s.calls {
		r.call(&s.calls[i], raw, s.bytes)
	}
	trap, _ := r.secrets.Mask([]byte(s.trap))
	s.trap = string(trap)
}

// stream returns the masker of the stream with that number.
func (r *redactor) stream(of map[uint32]*redact.Masker, number uint32) *redact.Masker {
	m := of[number]
	if m == nil {
		m = r.secrets.Masker()
		of[number] = m
	}
	return m
}

func (r *redactor) payload(s *step) ([]byte, bool) {
	size, whole := abi.BlockSize(s.bytes)
	switch {
	case s.kind == abi.EventData:
		return r.stream(r.received, s.handle).Mask(s.bytes)
	case s.kind == abi.EventOpen:
		return r.block(s.bytes, maskSettings)
	case s.kind == abi.EventMessage && whole:
		return r.blockAndBody(s.bytes, size, maskFacts, r.secrets.Masker())
	case s.kind == abi.EventHead && whole:
		r.received[s.handle] = r.secrets.Masker()
		return r.blockAndBody(s.bytes, size, maskHead, r.received[s.handle])
	}
	return r.secrets.Mask(s.bytes)
}

// blockAndBody overwrites the secrets in a block of size bytes and in the body behind it.
func (r *redactor) blockAndBody(p []byte, size int, mask func([]byte) []byte, rest *redact.Masker) ([]byte, bool) {
	head, masked := r.block(p[:size], mask)
	body, also := rest.Mask(p[size:])
	return append(bytes.Clone(head), body...), masked || also
}

// block overwrites the secrets in a block, and changes no length in it.
func (r *redactor) block(p []byte, mask func([]byte) []byte) ([]byte, bool) {
	out := mask(p)
	if len(out) != len(p) {
		out = bytes.Clone(p) // the block was not encoded as this program does
	}
	for _, span := range r.secrets.Spans(p) {
		redact.Overwrite(out[span[0]:span[1]])
	}
	return out, !bytes.Equal(out, p)
}

// call overwrites the secrets in the bytes that a guest passed. raw is the payload of the event,
// and shown is the same payload redacted.
func (r *redactor) call(k *call, raw, shown []byte) {
	switch k.op {
	case abi.CallOpen:
		k.bytes, k.masked = r.block(openRequest(k.bytes), maskOpen)
	case abi.CallWrite:
		r.written(k, raw, shown)
	case abi.CallDeliverMem:
		if k.bytes != nil {
			k.bytes, k.masked = r.stream(r.delivered, k.args[0]).Mask(k.bytes)
		}
		if k.args[3]&(abi.End|abi.Abort) != 0 {
			delete(r.delivered, k.args[0])
		}
		r.tainted = r.tainted || k.masked
	case abi.CallReport:
		if !k.describes() {
			k.bytes, k.masked = r.secrets.Mask(k.bytes)
		}
		delete(r.delivered, k.args[1])
	case abi.CallClose:
		delete(r.received, k.args[0])
	default:
		k.bytes, k.masked = r.secrets.Mask(k.bytes)
	}
}

// harmless is the length in bytes of the longest text that is too short to hold a secret.
const harmless = 7

// written overwrites the secrets in bytes that a guest writes from its memory. A guest that has
// seen a secret may have encoded it in any way. So after that, written keeps only bytes that are
// a part of the event.
func (r *redactor) written(k *call, raw, shown []byte) {
	at := bytes.Index(raw, k.bytes)
	switch {
	case !r.tainted || len(k.bytes) <= harmless:
		k.bytes, k.masked = r.secrets.Mask(k.bytes)
	case at >= 0:
		part := shown[at : at+len(k.bytes)]
		k.masked, k.bytes = !bytes.Equal(part, k.bytes), part
	default:
		k.bytes, k.hidden = nil, true
	}
}

// inAddress matches the members of a query, where HTTP+SSE has the session identifier.
var inAddress = lazyregexp.New(`[?&]([A-Za-z0-9_.-]{1,64})=([^&#\s"\\]+)`)

// learn adds secrets before anything of the step is redacted: session identifiers, and settings
// whose names sound like secrets.
func (r *redactor) learn(s *step) {
	if s.kind == abi.EventOpen {
		if settings, err := abi.DecodeSettings(s.bytes); err == nil {
			for _, v := range settings.Values {
				if private(v.Key) {
					r.secrets.HideNamed(v.Value)
				}
			}
		}
		return
	}
	for _, found := range inAddress.FindAllSubmatch(s.bytes, -1) {
		if private(string(found[1])) {
			r.secrets.HideRecent(string(found[2]))
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
			r.secrets.HideRecent(h.Value)
		}
	}
}

// private reports whether the value of a header, setting or query member is secret.
func private(name string) bool {
	return slices.Contains([]string{"mcp-session-id", "sessionid", "session_id"}, strings.ToLower(name)) || secret.Key(name)
}

func starred(text string) string {
	p := []byte(text)
	redact.Overwrite(p)
	return string(p)
}

// maskPairs overwrites the values whose names sound like secrets.
func maskPairs(pairs []abi.Pair) {
	for i := range pairs {
		if private(pairs[i].Key) {
			pairs[i].Value = starred(pairs[i].Value)
		}
	}
}

// masked returns a block in which mask has overwritten something. It returns nil if the block
// does not decode.
func masked[B any](p []byte, decode func([]byte) (B, error), encode func([]byte, *B) []byte, mask func(*B)) []byte {
	b, err := decode(p)
	if err != nil {
		return nil
	}
	mask(&b)
	return encode(nil, &b)
}

func maskSettings(p []byte) []byte {
	return masked(p, abi.DecodeSettings, abi.AppendSettings, func(s *abi.Settings) {
		for i, v := range s.Values {
			if private(v.Key) && len(v.Value) >= redact.LeastNamed {
				s.Values[i].Value = starred(v.Value)
			}
		}
	})
}

func maskFacts(p []byte) []byte {
	return masked(p, abi.DecodeFacts, abi.AppendFacts, func(f *abi.Facts) { maskPairs(f.Headers) })
}

func maskHead(p []byte) []byte {
	return masked(p, abi.DecodeHead, abi.AppendHead, func(h *abi.Head) { maskPairs(h.Headers) })
}

func maskOpen(p []byte) []byte {
	return masked(p, abi.DecodeOpenRequest, abi.AppendOpenRequest, func(r *abi.OpenRequest) {
		maskPairs(r.Headers)
		if path, query, found := strings.Cut(r.Target, "?"); found {
			r.Target = path + "?" + maskQuery(query)
		}
	})
}

// openRequest returns a request encoded as this program does.
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
			redact.Overwrite(out[i : i+1])
		}
	}
	return string(out)
}
