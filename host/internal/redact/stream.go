package redact

import "math/bits"

// Stream finds secrets in a text that comes in pieces, also those that lie in several of
// them. It belongs to one goroutine. Each byte is looked at once.
type Stream struct {
	set      *Set
	patterns *patterns // that the rest is for; nil for none
	decoder  decoder
	at       int // bytes of the text so far

	spelled, plain int32 // where the automata are
	places         []int // where the last decoded bytes begin; a ring, whose size is a power of two
	count          int   // of decoded bytes so far

	piece int // where the piece begins
	spans [][2]int
	tail  []byte // of the text, for patterns that are added on the way
}

const (
	// leastPart is how much of the beginning of a secret has to stand at the end of a
	// piece to be taken for one.
	leastPart = 4

	// carried is how much of the text is searched again when a secret is added.
	carried = 8 << 10
)

// Stream returns one that is at the beginning of a text.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Spans returns where secrets are in the next piece: from which byte of it and to which,
// in no order. They may overlap. Of a secret that began in a piece before, it is the
// rest; what is probably the beginning of one counts too.
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

// Redact returns the next piece with [secret.Mark] for what is secret in it.
func (s *Stream) Redact(p []byte) []byte { return mark(p, s.Spans(p)) }

// restart searches for other patterns from here on, as if they had been there before.
func (s *Stream) restart(p *patterns) {
	*s = Stream{set: s.set, patterns: p, tail: s.tail}
	if p == nil {
		return
	}
	s.decoder.emit = s.decoded
	s.places = make([]int, 1<<bits.Len(uint(p.plain.longest)))
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
			s.wholly()
		}
		if is := joined[c]; is != 0 && s.decoder.idle() {
			s.decoded(unit{is, s.at - 1, s.at, 0})
		} else {
			s.decoder.write(unit{c, s.at - 1, s.at, 0})
		}
	}
}

// wholly notes the secret that ends here as it was spelled.
func (s *Stream) wholly() {
	n := &s.patterns.spelled.nodes[s.spelled]
	if !n.ends && n.shorter != 0 {
		n = &s.patterns.spelled.nodes[n.shorter]
	}
	if n.ends {
		s.found(s.at-int(n.depth), s.at)
	}
}

// decoded takes the next byte without escapes, and notes the secrets that end there.
func (s *Stream) decoded(u unit) {
	a := &s.patterns.plain
	s.places[s.count&(len(s.places)-1)] = u.from
	s.count++
	if s.plain == 0 {
		s.plain = a.root[u.c]
		return // no pattern has one byte
	}
	s.plain = a.step(s.plain, u.c)
	for at := s.plain; at != 0; at = a.nodes[at].shorter {
		n := &a.nodes[at]
		if !n.ends {
			continue
		}
		from := s.place(int(n.depth))
		if n.lost > 0 && s.count > int(n.depth) {
			// The byte before has to be an escape that took them, or the first one, where
			// that made a \.
			before := s.place(int(n.depth) + 1)
			if from-before < 2 && s.place(int(n.depth)-1)-from < 2 {
				continue
			}
			from = before
		} else if n.lost > 0 && s.place(int(n.depth)-1)-from < 2 {
			continue
		}
		s.found(from, u.to)
		return
	}
}

// place is where the decoded byte begins that is that many before the next.
func (s *Stream) place(back int) int { return s.places[(s.count-back)&(len(s.places)-1)] }

func (s *Stream) found(from, to int) {
	if to > s.piece {
		s.spans = append(s.spans, [2]int{max(from-s.piece, 0), to - s.piece})
	}
}

// begun is how many bytes at the end of the text may be the beginning of a secret.
func (s *Stream) begun() int {
	begun := int(s.patterns.spelled.nodes[s.spelled].depth)
	if depth := int(s.patterns.plain.nodes[s.plain].depth); depth > 0 {
		begun = max(begun, s.at-s.place(depth))
	}
	return begun
}
