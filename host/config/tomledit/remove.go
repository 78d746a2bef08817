package tomledit

import (
	"bytes"
	"slices"
)

// remove removes the statements at a path and below it. It goes from the end of the file to the
// beginning, so that the ranges that it has yet to remove stay right.
func (d *document) remove(path []string) error {
	if s := d.inlineAbove(path); s != nil {
		return d.removeInline(s, path)
	}
	text := d.text
	for _, cut := range slices.Backward(d.merged(d.spans(path))) {
		cut = d.withBlankLines(cut)
		text = slices.Concat(text[:cut.start], text[cut.end:])
	}
	return d.become(text)
}

// spans returns the lines of the statements at a path and below it. They may overlap.
func (d *document) spans(path []string) (spans []span) {
	for i := range d.statements {
		s := &d.statements[i]
		switch {
		case !hasPrefix(s.path, path):
		case s.isTable:
			split := len(s.path) > len(path) && i > 0 && !hasPrefix(d.statements[i-1].path, path)
			spans = append(spans, d.block(i, !split))
		case s.depth < len(path):
			spans = append(spans, s.lines)
		}
	}
	return spans
}

// merged joins ranges that have nothing but blank lines between them.
func (d *document) merged(cuts []span) (out []span) {
	for _, c := range cuts {
		if n := len(out); n > 0 && len(bytes.TrimSpace(d.text[out[n-1].end:c.start])) == 0 {
			out[n-1].end = c.end
			continue
		}
		out = append(out, c)
	}
	return out
}

// block returns the lines of a table, from the comments directly above its name to its last key
// and, if below is set, the comments directly below that. A sub-table that stands apart from its
// table has none of those: they may be about what stands around it.
func (d *document) block(i int, below bool) span {
	s := d.statements[i]
	end := s.lines.end
	next := len(d.text)
	for _, other := range d.statements[i+1:] {
		if other.isTable {
			next = d.commentsAbove(other.lines.start)
			break
		}
		end = other.lines.end
	}
	for below && end < next {
		line := lineAt(d.text, end)
		if !isComment(line) {
			break
		}
		end += len(line)
	}
	start := d.commentsAbove(s.lines.start)
	if start == 0 { // these comments are about the file
		start = s.lines.start
	}
	return span{start, end}
}

// commentsAbove returns the start of the comment lines that stand directly above a line.
func (d *document) commentsAbove(start int) int {
	for start > 0 {
		above := bytes.LastIndexByte(d.text[:start-1], '\n') + 1
		if !isComment(d.text[above:start]) || d.isInside(above) {
			break
		}
		start = above
	}
	return start
}

// isInside reports whether an offset is inside of a value that takes several lines, or in the
// line of a statement.
func (d *document) isInside(offset int) bool {
	return slices.ContainsFunc(d.statements, func(s statement) bool {
		return s.lines.start <= offset && offset < s.lines.end
	})
}

// withBlankLines adds to a range the blank lines behind it, if a blank line or nothing is before
// it. If nothing is behind it, it adds those before it.
func (d *document) withBlankLines(cut span) span {
	before := d.blankBefore(cut.start)
	after := cut.end
	for after < len(d.text) {
		line := lineAt(d.text, after)
		if len(bytes.TrimSpace(line)) > 0 {
			break
		}
		after += len(line)
	}
	switch {
	case after == len(d.text):
		cut = span{before, after}
	case before < cut.start || cut.start == 0:
		cut.end = after
	}
	return cut
}

func (d *document) blankBefore(start int) int {
	for start > 0 {
		above := bytes.LastIndexByte(d.text[:start-1], '\n') + 1
		if len(bytes.TrimSpace(d.text[above:start])) > 0 {
			break
		}
		start = above
	}
	return start
}

func lineAt(text []byte, start int) []byte {
	if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
		return text[start : start+i+1]
	}
	return text[start:]
}

func isComment(line []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) }

// removeInline removes the pairs at a path or below it from an inline table, each with the comma
// that divides it from its neighbour.
func (d *document) removeInline(s *statement, path []string) error {
	text := d.text
	for i, pair := range slices.Backward(s.inner) {
		if !hasPrefix(pair.path, path) {
			continue
		}
		cut := pair.lines
		switch last := len(s.inner) - 1; {
		case i < last:
			cut.end = s.inner[i+1].lines.start
		case i > 0:
			cut.start = s.inner[i-1].lines.end
		}
		text = slices.Concat(text[:cut.start], text[cut.end:])
	}
	return d.become(text)
}
