package redact

import "math/bits"

// Stream finds secrets in a text that comes in pieces, also where a secret spans several.
// It belongs to one goroutine, and looks at each byte once.
type Stream struct {
	set      *Set
	patterns *patterns // nil for none
	decoder  decoder
	at       int // bytes of the text so far

	spelled       int32 // the node of the automaton
	plain, packed search

	piece int // where the current piece begins in the text
	spans [][2]int
	tail  []byte // the end of the text, to search it for patterns that are added later
}

const (
	// leastPart is how many bytes of a secret at the end of a piece count as its beginning.
	leastPart = 4

	// carried is how many bytes of the text are searched again when a secret is added.
	carried = 8 << 10
)

// search looks for the patterns of an automaton in decoded bytes.
type search struct {
	automaton *automaton
	node      int32
	places    []int // where the last bytes begin in the text; a ring with a power of two as its size
	count     int   // of bytes so far
}

func newSearch(a *automaton) search {
	return search{automaton: a, places: make([]int, 1<<bits.Len(uint(a.longest)))}
}

// Stream returns a stream at the beginning of a text.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Spans returns where secrets are in the next piece, as half-open ranges of its bytes in
// no order. They may overlap. For a secret that began in an earlier piece it returns the
// rest. What is probably the beginning of a secret at the end of the piece counts too.
func (s *Stream) Spans(p []byte) (spans [][2]int) {
	if now := s.set.patterns(); now != s.patterns {
		s.restart(now)
	}
	s.spans = nil
	if s.patterns == nil {
		s.keep(p)
		return nil
	}
	s.read(p)
	s.keep(p)
	if begun := min(s.begun(), len(p)); begun >= leastPart {
		s.spans = append(s.spans, [2]int{len(p) - begun, len(p)})
	}
	return s.spans
}

// Redact returns the next piece with [secret.Mark] in the place of its secrets.
func (s *Stream) Redact(p []byte) []byte { return mark(p, s.Spans(p)) }

// restart switches to other patterns, and searches the end of the text again for them.
func (s *Stream) restart(p *patterns) {
	*s = Stream{set: s.set, patterns: p, tail: s.tail}
	if p == nil {
		return
	}
	s.decoder.emit = s.decoded
	s.plain, s.packed = newSearch(&p.plain), newSearch(&p.packed)
	s.read(s.tail)
}

func (s *Stream) keep(p []byte) {
	joined := append(s.tail, p[max(0, len(p)-carried):]...)
	s.tail = append(s.tail[:0], joined[max(0, len(joined)-carried):]...)
}

func (s *Stream) read(p []byte) {
	s.piece = s.at
	spelled := &s.patterns.spelled
	for _, c := range p {
		s.at++
		if s.spelled == 0 {
			s.spelled = spelled.root[c] // nearly always 0 again
		} else if s.spelled = spelled.step(s.spelled, c); s.spelled != 0 {
			s.spelledEnd()
		}
		if is := joined[c]; is != 0 && s.decoder.idle() {
			s.decoded(unit{is, s.at - 1, s.at, 0})
		} else {
			s.decoder.write(unit{c, s.at - 1, s.at, 0})
		}
	}
}

// spelledEnd adds the span of the secret that ends here as it is spelled.
func (s *Stream) spelledEnd() {
	n := &s.patterns.spelled.nodes[s.spelled]
	if !n.ends && n.shorter != 0 {
		n = &s.patterns.spelled.nodes[n.shorter]
	}
	if n.ends {
		s.found(s.at-int(n.depth), s.at)
	}
}

// decoded takes the next decoded byte, and adds the spans of the secrets that end there.
func (s *Stream) decoded(u unit) {
	s.search(&s.plain, u)
	if u.c = packed[u.c]; u.c != 0 {
		s.search(&s.packed, u)
	}
}

func (s *Stream) search(in *search, u unit) {
	in.places[in.count&(len(in.places)-1)] = u.from
	in.count++
	a := in.automaton
	if in.node == 0 {
		in.node = a.root[u.c]
		return // no pattern has one byte
	}
	in.node = a.step(in.node, u.c)
	for at := in.node; at != 0; at = a.nodes[at].shorter {
		n := &a.nodes[at]
		if !n.ends {
			continue
		}
		from := in.place(int(n.depth))
		if n.lost > 0 && in.count > int(n.depth) {
			// The missing bytes must be a part of the escape right before, or of the one
			// before that if it made a \.
			before := in.place(int(n.depth) + 1)
			if from-before < 2 && in.place(int(n.depth)-1)-from < 2 {
				continue
			}
			from = before
		} else if n.lost > 0 && in.place(int(n.depth)-1)-from < 2 {
			continue
		}
		s.found(from, u.to)
		return
	}
}

// place returns where in the text a decoded byte begins. back counts from the end of the decoded
// bytes: 1 is the last.
func (s *search) place(back int) int { return s.places[(s.count-back)&(len(s.places)-1)] }

func (s *Stream) found(from, to int) {
	if to > s.piece {
		s.spans = append(s.spans, [2]int{max(from-s.piece, 0), to - s.piece})
	}
}

// begun returns how many bytes at the end of the text may be the beginning of a secret.
func (s *Stream) begun() int {
	begun := int(s.patterns.spelled.nodes[s.spelled].depth)
	for _, in := range []*search{&s.plain, &s.packed} {
		depth := int(in.automaton.nodes[in.node].depth)
		if depth > 0 && (in == &s.plain || depth >= leastPart) { // few digits are no secret, however far apart
			begun = max(begun, s.at-in.place(depth))
		}
	}
	return begun
}
