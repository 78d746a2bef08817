package sse

import (
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// dataField begins a line whose value stays with the host.
const dataField = "data:"

// look reads lines that are not data, from a copy of the beginning of p. It returns the bytes
// after them.
func (r *Reader) look(p sdk.Payload) (rest sdk.Payload, ok bool) {
	w := r.window[:p.Take(r.window[:])]
	i := r.skipMark(w)
	for i < len(w) && !ok {
		i = r.skipEnds(w, i)
		n, value := r.atData(w[i:])
		if i += n; value {
			r.beginData()
			r.state = inData
			break
		}
		n = lineLen(w[i:])
		if i+n == len(w) {
			i += n
			r.collect(w[i-n:])
			break
		}
		ok = r.endLine(p, w[i:i+n])
		r.cr = w[i+n] == '\r'
		i += n + 1
	}
	return p.From(i), ok
}

// skipEnds returns the index in w, from i on, of the first byte that counts. It skips the second
// half of a line end, and blank lines between events.
func (r *Reader) skipEnds(w []byte, i int) int {
	if r.cr && w[i] == '\n' {
		i++
	}
	r.cr = false
	if len(r.line) > 0 || r.event.seen {
		return i
	}
	for i < len(w) && (w[i] == '\n' || w[i] == '\r') {
		i++
	}
	return i
}

// lineLen returns the number of bytes before the first line end, or the length of b if there is
// none.
func lineLen(b []byte) int {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	return len(b)
}

// skipMark returns how many of the stream's first bytes belong to a byte order mark. Half a mark
// is the beginning of an unknown field name.
func (r *Reader) skipMark(w []byte) (n int) {
	if r.begun {
		return 0
	}
	for n < len(w) && r.marked < len(mark) && w[n] == mark[r.marked] {
		n++
		r.marked++
	}
	if r.begun = n < len(w) || r.marked == len(mark); r.begun && r.marked < len(mark) {
		r.line = append(r.line, mark[:r.marked]...)
	}
	return n
}

// atData reports whether b begins or continues with the value of a data line, and returns where the
// value begins. If the line was cut, there may be too few bytes to tell. Then atData keeps those of
// b, and n is their number: the next call decides.
func (r *Reader) atData(b []byte) (n int, value bool) {
	if len(r.line) == 0 {
		if len(b) <= len(dataField) || b[0] != dataField[0] || string(b[:len(dataField)]) != dataField {
			return 0, false
		}
		n = len(dataField)
		if b[n] == ' ' {
			n++
		}
		return n, true
	}
	for len(r.line) <= len(dataField) && n < lineLen(b) {
		r.line = append(r.line, b[n])
		n++
	}
	if len(r.line) != len(dataField)+1 || string(r.line[:len(dataField)]) != dataField {
		return n, false
	}
	if r.line[len(dataField)] != ' ' {
		n-- // the byte is a part of the value
	}
	r.line = r.line[:0]
	return n, true
}

// collect keeps the beginning of a line that is cut. It understands as much of a long line as it
// keeps, and skips the rest.
func (r *Reader) collect(b []byte) {
	n := min(len(b), maxLine-len(r.line))
	if r.line = append(r.line, b[:n]...); len(r.line) == maxLine {
		r.understand(r.line)
		r.line, r.state = r.line[:0], inRest
	}
}

// skip returns the part of p from the end of the line on.
func (r *Reader) skip(p sdk.Payload) sdk.Payload {
	i := p.Scan(lineEnds)
	if i < 0 {
		return p.From(p.Len())
	}
	var end [1]byte
	p.From(i).Take(end[:])
	r.state, r.cr = inLine, end[0] == '\r'
	return p.From(i + 1)
}

// endLine takes the last bytes of a line, which most often are the whole line, and reports whether
// the line ended an event.
func (r *Reader) endLine(p sdk.Payload, line []byte) (ok bool) {
	if len(r.line) > 0 {
		r.collect(line)
		line = r.line
	}
	if len(line) == 0 {
		if r.state == inRest {
			r.state = inLine
			return false
		}
		r.finish(p.Slice(0, 0))
		return true
	}
	r.understand(line)
	r.line = r.line[:0]
	return false
}

// understand takes a line that is not blank.
func (r *Reader) understand(line []byte) {
	switch line[0] {
	case 'e':
		if begins(line, "event") {
			r.event.name, r.event.seen = append(r.event.name[:0], value(line[5:])...), true
		}
	case 'i':
		if begins(line, "id") {
			r.setID(value(line[2:]))
			r.event.seen = true
		}
	case 'd':
		if begins(line, "data") {
			r.beginData()
		}
	case 'r':
		if begins(line, "retry") {
			r.setRetry(value(line[5:]))
			r.event.seen = true
		}
	}
}

// begins reports whether a line is a field of that name.
func begins(line []byte, name string) bool {
	n := len(name)
	return len(line) >= n && string(line[:n]) == name && (len(line) == n || line[n] == ':')
}

// value returns the value of a field: the bytes after the colon, if there is one, and after one
// space, if there is one.
func value(b []byte) []byte {
	if len(b) > 0 {
		b = b[1:]
	}
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}

var newline = []byte{'\n'}

// setID stores an id, unless no header could hold it.
func (r *Reader) setID(value []byte) {
	if sendable(value) {
		r.event.id, r.event.hasID = append(r.event.id[:0], value...), true
	}
}

// sendable reports whether an id can stand in a header.
func sendable(id []byte) bool {
	if len(id) > maxID || !utf8.Valid(id) {
		return false
	}
	for _, c := range id {
		if c < ' ' || c == 0x7F {
			return false
		}
	}
	return true
}

// longestRetry is a day, in milliseconds.
const longestRetry = 24 * 60 * 60 * 1000

// setRetry stores a time that has only digits. The shortest is 1, since 0 means that no time was
// given.
func (r *Reader) setRetry(value []byte) {
	ms := uint32(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
		ms = min(ms*10+uint32(c-'0'), longestRetry)
	}
	if len(value) > 0 {
		r.retry = max(ms, 1)
	}
}

// beginData notes that a data line begins. A newline joins the lines.
func (r *Reader) beginData() {
	if r.event.data && r.keeps() {
		r.event.keep(newline, r.Keep)
	}
	r.event.data, r.event.seen = true, true
}

// data reads the value of a data line, and the end of the event if that follows at once. It
// returns the rest of p.
func (r *Reader) data(p sdk.Payload) (rest sdk.Payload, ok bool) {
	i := p.Scan(lineEnds)
	if i < 0 {
		r.put(p, p.Len())
		return p.From(p.Len()), false
	}
	n := p.From(i).Take(r.tail[:])
	end, blank := ends(r.tail[:n])
	r.cr = r.tail[end-1] == '\r'
	r.state = inLine
	if !blank {
		r.put(p.Slice(0, i+end), i)
		return p.From(i + end), false
	}
	r.finish(p.Slice(0, i))
	return p.From(i + end), true
}

// ends returns how many bytes the line ends at the beginning of b have. There is at least one, and
// ends counts at most two. blank is true for two, because they make a blank line.
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

// put delivers a part of the event's data. The first n bytes of p are data, and the
// rest is a line end.
func (r *Reader) put(p sdk.Payload, n int) {
	r.copy(p.Slice(0, n))
	if r.event.size += n; r.event.size > 0 {
		p.Deliver(r.Exchange, abi.More)
		r.event.open = true
	}
}

// finish ends the event with the last of its data.
func (r *Reader) finish(p sdk.Payload) {
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
}

// keeps reports whether data are copied. They are not if the event has already been named
// message.
func (r *Reader) keeps() bool { return r.Keep > 0 && string(r.event.name) != "message" }

// copy keeps a copy of data if the caller wants one.
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
