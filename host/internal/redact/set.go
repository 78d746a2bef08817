package redact

import (
	"cmp"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// Set is a set of texts that are secret wherever they occur. It knows how they are
// written elsewhere:
//
//   - with escapes of JSON strings, \/ and \u002F alike, in any case, for some of their
//     characters or all, and in strings within strings;
//   - with percent forms in small or capital letters, for what has to be written so (a
//     backslash has) or for more, and + for a space;
//   - both in each other, up to three deep;
//   - in base64, of either alphabet and with or without padding, as part of something
//     longer too;
//   - as hexadecimal digits, in small or capital letters.
//
// The last two are looked for if a secret has at least 5 bytes and 4, and at most 8 KiB,
// and is of the configuration. There are bounds on what counts as a secret:
// [LeastText] and [LeastNamed]. What is escaped may be missed right behind a % or \ that
// belongs to nothing, if the two make another escape. The zero Set is empty; it may be used from any
// goroutine. What is added is found from then on.
type Set struct {
	mu     sync.Mutex
	fixed  []string  // of the configuration, the oldest first
	recent []string  // what signs in, likewise: it changes all the time
	ready  *patterns // nil where it is to be made
}

// How many texts there are at most, in all their spellings; the oldest are forgotten.
const (
	mostFixed  = 4096
	mostRecent = 256 // signatures of single requests are not to fill the memory
)

// Hide adds texts that have [LeastText] bytes or more. They are those of the
// configuration.
func (t *Set) Hide(texts ...string) { t.add(LeastText, texts) }

// HideNamed adds texts that are called secrets: they need [LeastNamed] bytes.
func (t *Set) HideNamed(texts ...string) { t.add(LeastNamed, texts) }

func (t *Set) add(least int, texts []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fixed = t.join(t.fixed, mostFixed, least, texts)
}

// HideRecent adds texts of [LeastNamed] bytes or more that others will replace: only
// the newest hundreds are remembered.
func (t *Set) HideRecent(texts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent = t.join(t.recent, mostRecent, LeastNamed, texts)
}

// join adds the spellings of texts to a list. The caller holds mu.
func (t *Set) join(to []string, most, least int, texts []string) []string {
	for _, text := range texts {
		for _, form := range spellings(least, text) {
			if !slices.Contains(to, form) {
				to, t.ready = append(to, form), nil
			}
		}
	}
	return slices.Delete(to, 0, max(0, len(to)-most))
}

// patterns returns what to search for, or nil if there is nothing.
func (t *Set) patterns() *patterns {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ready == nil && len(t.fixed)+len(t.recent) > 0 {
		p := new(patterns)
		for _, text := range t.fixed {
			p.add(text, true)
		}
		for _, text := range t.recent {
			p.add(text, false)
		}
		p.spelled.link()
		p.plain.link()
		t.ready = p
	}
	return t.ready
}

// Cover returns text with [secret.Mark] for each secret in it, or text itself where there is
// none. Where secrets overlap, one mark stands for all of them.
func (t *Set) Cover(text []byte) []byte {
	spans, _ := t.find(text)
	return mark(text, spans)
}

// CoverCut is Cover for a text that goes on behind its end: it leaves out what may be
// the beginning of a secret there.
func (t *Set) CoverCut(text []byte) []byte {
	spans, begun := t.find(text)
	return mark(text[:len(text)-begun], spans)
}

// Spans returns where secrets are in a text: from which byte and to which, in no order.
// They may overlap.
func (t *Set) Spans(text []byte) [][2]int {
	spans, _ := t.find(text)
	return spans
}

// find returns the spans, and how many bytes at the end may be the beginning of a
// secret.
func (t *Set) find(text []byte) (spans [][2]int, begun int) {
	s := t.Stream()
	if s.restart(t.patterns()); s.patterns == nil {
		return nil, 0
	}
	s.read(text)
	return s.spans, s.begun()
}

// mark puts a mark in the place of each span, which may overlap, or reach beyond text.
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
