// Package redact removes secrets from texts that are shown or recorded.
//
// A [Set] holds secret texts and finds them, also in the usual encodings; [Stream] does that for a
// text in pieces. [Set.JSON] and [Masker] also hide the members of JSON objects whose names sound secret:
// the first puts a mark in their place, the second overwrites them byte for byte. They are two
// readers of JSON because they promise different things: JSON keeps a message valid and short, and
// spares schemas; a Masker keeps every offset, and takes pieces of any size.
package redact

import (
	"cmp"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// Set is a set of texts that are secret wherever they occur. It finds them in these forms:
//
//   - with escapes of JSON strings, \/ and \u002F alike, in any case, for some characters
//     or all, and in strings within strings;
//   - with percent forms in small or capital letters, for what must be written so (a
//     backslash must) or for more, and + for a space;
//   - both in each other, up to three deep;
//   - with entities of HTML, &amp; &#65; and &#x41;, and with \x41;
//   - in base64, of either alphabet and with or without padding, with line breaks, as part
//     of something longer too;
//   - as hexadecimal digits, in small or capital letters, also with colons, spaces and
//     hyphens between them;
//   - both in each other or twice, and of a text that was escaped as a whole.
//
// Base64 and hexadecimal digits are looked for only for texts that [Set.Hide] or
// [Set.HideNamed] added, of at most 8 KiB; base64 from 5 bytes on; an encoding of an encoding
// for at most 256 bytes. Texts that are too short are ignored, see [LeastText] and
// [LeastNamed]. One limit remains: an escaped secret may be missed right behind a stray % or
// \ that forms another escape with it.
//
// The zero Set is empty. A nil Set ignores texts that are added. Any goroutine may use it. It finds
// a text in everything that is read after the text was added.
type Set struct {
	also []*Set // every text is added to these too

	mu     sync.Mutex
	fixed  []string  // from the configuration, the oldest first
	recent []string  // from sign-ins, which change often; the oldest first
	ready  *patterns // made from both lists; nil after a change
}

// The most texts that a set holds, counting each spelling. The oldest are dropped.
const (
	mostFixed  = 4096
	mostRecent = 256 // signatures of single requests must not fill the memory
)

// Join returns a set whose texts are added to other sets too. Nil sets are skipped.
func Join(also ...*Set) *Set {
	return &Set{also: slices.DeleteFunc(also, func(s *Set) bool { return s == nil })}
}

// Hide adds texts of the configuration that have [LeastText] bytes or more.
func (s *Set) Hide(texts ...string) { s.add(LeastText, texts, false) }

// HideNamed adds texts of the configuration whose names sound secret: [LeastNamed] bytes are
// enough.
func (s *Set) HideNamed(texts ...string) { s.add(LeastNamed, texts, false) }

// HideRecent adds texts of [LeastNamed] bytes or more that others will replace, such as access
// tokens. Only the newest few hundred are kept.
func (s *Set) HideRecent(texts ...string) { s.add(LeastNamed, texts, true) }

func (s *Set) add(least int, texts []string, recent bool) {
	if s == nil || len(texts) == 0 {
		return
	}
	s.mu.Lock()
	if recent {
		s.recent = s.join(s.recent, mostRecent, least, texts)
	} else {
		s.fixed = s.join(s.fixed, mostFixed, least, texts)
	}
	s.mu.Unlock()
	for _, other := range s.also {
		other.add(least, texts, recent)
	}
}

// join adds the spellings of texts to a list. The caller holds mu.
func (s *Set) join(to []string, most, least int, texts []string) []string {
	for _, text := range texts {
		for _, form := range spellings(least, text) {
			if !slices.Contains(to, form) {
				to, s.ready = append(to, form), nil
			}
		}
	}
	return slices.Delete(to, 0, max(0, len(to)-most))
}

// patterns returns the patterns to search for, or nil if the set is empty.
func (s *Set) patterns() *patterns {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil && len(s.fixed)+len(s.recent) > 0 {
		p := new(patterns)
		for _, text := range s.fixed {
			p.add(text, true)
		}
		for _, text := range s.recent {
			p.add(text, false)
		}
		p.spelled.link()
		p.plain.link()
		p.packed.link()
		s.ready = p
	}
	return s.ready
}

// Redact returns text with [secret.Mark] in place of each secret, or text itself if it has none.
// Secrets that overlap get one mark.
func (s *Set) Redact(text []byte) []byte {
	spans, _ := s.find(text)
	return mark(text, spans)
}

// RedactCut is Redact for a text that was cut: it also removes an end that may be the beginning of
// a secret.
func (s *Set) RedactCut(text []byte) []byte {
	spans, begun := s.find(text)
	return mark(text[:len(text)-begun], spans)
}

// Spans returns the places of secrets in a text, as half-open ranges of bytes, unordered. They may
// overlap.
func (s *Set) Spans(text []byte) [][2]int {
	spans, _ := s.find(text)
	return spans
}

// find returns the spans, and how many bytes at the end may be the beginning of a secret.
func (s *Set) find(text []byte) (spans [][2]int, begun int) {
	t := s.Stream()
	if t.restart(s.patterns()); t.patterns == nil {
		return nil, 0
	}
	t.read(text)
	return t.spans, t.begun()
}

// mark returns text with a mark in the place of each span. Spans may overlap, and may reach beyond
// text.
func mark(text []byte, spans [][2]int) []byte {
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	var out []byte
	at := 0
	for i := 0; i < len(spans) && spans[i][0] < len(text); {
		from, to := spans[i][0], spans[i][1]
		for i++; i < len(spans) && spans[i][0] < to; i++ {
			to = max(to, spans[i][1])
		}
		out = append(append(out, text[at:from]...), secret.Mark...)
		at = min(to, len(text))
	}
	return append(out, text[at:]...)
}
