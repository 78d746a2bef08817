package strictjson

// Walk checks a text and hands out the parts of its outermost array or object
// on the way, in the same pass:
//
//	w := strictjson.Open(text, depth)
//	for w.Next() {
//		// w.Key and w.Value alias text.
//	}
//	if err := w.Err(); err != nil {
//		// The parts seen so far belong to text that is refused.
//	}
//
// A scalar is handed out as one part without a key; Kind tells it apart.
type Walk struct {
	Key   []byte // a member's name as written, without its quotes; nil in arrays
	Value []byte // the part as written

	scan scanner
	pos  int  // where the next part begins, or what follows the last one
	more bool // another part is due at pos
	over bool
	kind byte
	err  error
}

// Open begins a walk over text, nested no deeper than maxDepth
// ([DefaultDepth] if that is not positive).
func Open(text []byte, maxDepth int) Walk {
	w := Walk{scan: newScanner(text, maxDepth), more: true}
	w.pos = w.scan.blank(0)
	if w.pos < len(text) {
		w.kind = text[w.pos]
	}
	if w.kind == '{' || w.kind == '[' {
		w.enter()
	}
	return w
}

// enter steps over the opening bracket, and over the closing one of an empty text.
func (w *Walk) enter() {
	w.pos = w.scan.blank(w.pos + 1)
	if w.pos < len(w.scan.src) && w.scan.src[w.pos] == w.closing() {
		w.pos, w.more = w.pos+1, false
	}
}

func (w *Walk) closing() byte { return w.kind + 2 } // '{'+2 is '}', '['+2 is ']'

// Kind returns the first byte of the text that is not white space, 0 for a
// blank text: '{' for an object, '[' for an array, anything else for a
// scalar or for what is not JSON.
func (w *Walk) Kind() byte { return w.kind }

// Err returns nil once the whole text was walked and accepted, and otherwise
// the [*Error] that ended the walk.
func (w *Walk) Err() error { return w.err }

// Next moves on to the next part. It returns false at the end and at the first
// fault; only then does Err say which of the two it was.
func (w *Walk) Next() bool {
	w.Key, w.Value = nil, nil
	if w.over || !w.more {
		return w.finish()
	}
	if w.kind == '{' && !w.name() {
		return w.finish()
	}
	end := w.scan.value(w.pos, w.depth())
	if end < 0 {
		w.pos = end
		return w.finish()
	}
	w.Value = w.scan.src[w.pos:end:end]
	w.separate(end)
	return true
}

// depth is what the parts are nested in.
func (w *Walk) depth() int {
	if w.kind == '{' || w.kind == '[' {
		return 1
	}
	return 0
}

// name reads a member's key and stops where its value begins.
func (w *Walk) name() bool {
	start := w.pos
	if start >= len(w.scan.src) || w.scan.src[start] != '"' {
		w.pos = w.scan.unexpected(start)
		return false
	}
	end := w.scan.text(start + 1)
	if end < 0 {
		w.pos = end
		return false
	}
	w.Key = w.scan.src[start+1 : end-1 : end-1]
	w.pos = w.scan.colon(end)
	return w.pos >= 0
}

// separate reads what stands between two parts, or behind the last one. A
// fault there is the next step's: this part is whole.
func (w *Walk) separate(end int) {
	if w.depth() == 0 {
		w.pos, w.more = end, false
		return
	}
	w.pos, w.more = w.scan.more(end, w.closing())
}

// finish ends the walk at pos: after the whole value, or below zero at a fault.
func (w *Walk) finish() bool {
	if w.over {
		return false
	}
	if w.pos >= 0 {
		w.pos = w.scan.end(w.pos)
	}
	if w.pos < 0 {
		w.err = w.scan.err()
	}
	w.over, w.Key = true, nil
	return false
}
