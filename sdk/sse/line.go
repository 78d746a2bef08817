package sse

import (
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// field is what a line is about.
type field uint8

const (
	fieldOther field = iota // a comment too: its name is empty
	fieldData
	fieldEvent
	fieldID
	fieldRetry
)

func fieldOf(name []byte) field {
	switch string(name) {
	case "data":
		return fieldData
	case "event":
		return fieldEvent
	case "id":
		return fieldID
	case "retry":
		return fieldRetry
	}
	return fieldOther
}

// look reads everything but data and what is skipped, from a copy of the
// beginning of p. It returns what follows.
func (r *Reader) look(p sdk.Payload) (rest sdk.Payload, ok bool) {
	n := p.Take(r.window[:])
	for i, c := range r.window[:n] {
		if r.state == inGap && r.field == fieldData {
			r.beginData()
			if c == ' ' {
				i++
			}
			return p.From(i), false
		}
		if r.step(c) {
			if p = p.From(i + 1); r.finish(p.Slice(0, 0)) {
				return p, true
			}
			return p, false
		}
	}
	return p.From(n), false
}

// skip returns what is left of p from the end of the line on.
func (r *Reader) skip(p sdk.Payload) sdk.Payload {
	i := p.Scan(lineEnds)
	if i < 0 {
		return p.From(p.Len())
	}
	r.newLine()
	return p.From(i)
}

// step takes one byte and reports whether it ends a blank line.
func (r *Reader) step(c byte) (blank bool) {
	if r.cr {
		if r.cr = false; c == '\n' {
			return false
		}
	}
	if r.state == inMark && !r.inMark(c) {
		return false
	}
	if c == '\r' || c == '\n' {
		r.cr = c == '\r'
		return r.endLine()
	}
	switch r.state {
	case inLabel:
		r.name(c)
	case inGap:
		if r.state = inValue; c != ' ' {
			r.keep(c)
		}
	case inValue:
		r.keep(c)
	}
	return false
}

// inMark takes a byte of the stream's start; it reports whether that belongs to
// the first line. Half a mark is a name, and not one that is known.
func (r *Reader) inMark(c byte) bool {
	if c == mark[r.marked] {
		if r.marked++; r.marked == len(mark) {
			r.state = inLabel
		}
		return false
	}
	r.n = copy(r.label[:], mark[:r.marked])
	r.state = inLabel
	return true
}

// name takes a byte of a field's name.
func (r *Reader) name(c byte) {
	if c != ':' {
		if r.n < len(r.label) {
			r.label[r.n] = c
		}
		r.n = min(r.n+1, len(r.label))
		return
	}
	r.state = inGap
	if r.field = fieldOf(r.label[:r.n]); r.field == fieldOther {
		r.state = inRest
	}
}

func (r *Reader) keep(c byte) {
	if len(r.value) <= maxValue {
		r.value = append(r.value, c)
	}
}

// endLine understands a line and reports whether it was blank.
func (r *Reader) endLine() (blank bool) {
	blank = r.state == inLabel && r.n == 0
	if r.state == inLabel {
		r.field = fieldOf(r.label[:r.n]) // a name without a colon has an empty value
	}
	if !blank && r.state != inRest {
		r.set()
	}
	r.newLine()
	return blank
}

func (r *Reader) newLine() { r.state, r.n, r.value = inLabel, 0, r.value[:0] }

// set gives the current field its value.
func (r *Reader) set() {
	switch r.field {
	case fieldOther:
		return
	case fieldData:
		r.beginData()
	case fieldEvent:
		r.event.name = append(r.event.name[:0], r.value...)
	case fieldID:
		r.setID()
	case fieldRetry:
		r.setRetry()
	}
	r.event.seen = true
}

// setID takes an id, unless it could not be sent in a header.
func (r *Reader) setID() {
	if len(r.value) > maxValue || !utf8.Valid(r.value) {
		return
	}
	for _, c := range r.value {
		if c < ' ' || c == 0x7F {
			return
		}
	}
	r.event.id, r.event.hasID = append(r.event.id[:0], r.value...), true
}

// longestRetry is a day, in milliseconds.
const longestRetry = 24 * 60 * 60 * 1000

// setRetry takes a time of digits alone. None at all is as good as nothing, so
// the shortest is 1.
func (r *Reader) setRetry() {
	ms := uint32(0)
	for _, c := range r.value {
		if c < '0' || c > '9' {
			return
		}
		ms = min(ms*10+uint32(c-'0'), longestRetry)
	}
	if len(r.value) > 0 {
		r.retry = max(ms, 1)
	}
}

// beginData enters the value of a data line. Lines are joined by a newline.
func (r *Reader) beginData() {
	if r.event.data && r.keeps() {
		r.event.keep([]byte{'\n'}, r.Keep)
	}
	r.state, r.event.data, r.event.seen = inData, true, true
}

// data reads the value of a data line, and the end of the event where that
// follows at once. It returns what is left of p.
func (r *Reader) data(p sdk.Payload) (rest sdk.Payload, ok bool) {
	i := p.Scan(lineEnds)
	if i < 0 {
		r.put(p, p.Len())
		return p.From(p.Len()), false
	}
	n := p.From(i).Take(r.tail[:])
	end, blank := ends(r.tail[:n])
	r.cr = r.tail[end-1] == '\r'
	r.newLine()
	if !blank {
		r.put(p.Slice(0, i+end), i)
		return p.From(i + end), false
	}
	return p.From(i + end), r.finish(p.Slice(0, i))
}

// ends returns how much of b, which begins with a line end, is line ends, at
// most two; and whether there are two, which make a blank line.
func ends(b []byte) (n int, blank bool) {
	if n = oneEnd(b); n == len(b) || b[n] != '\r' && b[n] != '\n' {
		return n, false
	}
	return n + oneEnd(b[n:]), true
}

func oneEnd(b []byte) int {
	if b[0] == '\r' && len(b) > 1 && b[1] == '\n' {
		return 2
	}
	return 1
}

// put delivers a part of the event's data; only the first n bytes of p are data,
// the others a line end.
func (r *Reader) put(p sdk.Payload, n int) {
	r.copy(p.Slice(0, n))
	if r.event.size += n; r.event.size > 0 {
		p.Deliver(r.Exchange, abi.More)
		r.event.open = true
	}
}

// finish ends the event with the last of its data, and reports whether it was
// one.
func (r *Reader) finish(p sdk.Payload) (ok bool) {
	e := &r.event
	r.copy(p)
	e.size += p.Len()
	e.verdict = abi.VerdictBlank
	switch {
	case e.size == 0:
	case len(e.name) == 0 || string(e.name) == "message":
		e.verdict = p.Deliver(r.Exchange, abi.End)
	case e.open:
		p.Slice(0, 0).Deliver(r.Exchange, abi.Abort)
	}
	if e.hasID {
		r.id = append(r.id[:0], e.id...)
	}
	e.over, e.open = true, false
	if !e.seen {
		r.forget()
		return false
	}
	return true
}

// keeps reports whether data are to be copied: those of a message are not, so
// far as that is known.
func (r *Reader) keeps() bool { return r.Keep > 0 && string(r.event.name) != "message" }

// copy keeps a copy of data where that is wanted.
func (r *Reader) copy(p sdk.Payload) {
	for n := 0; p.Len() > 0 && r.keeps() && !r.event.cut; p = p.From(n) {
		n = p.Take(r.window[:])
		r.event.keep(r.window[:n], r.Keep)
	}
}

func (e *event) keep(b []byte, limit int) {
	n := min(len(b), limit-len(e.kept))
	e.cut = e.cut || n < len(b)
	e.kept = append(e.kept, b[:n]...)
}
