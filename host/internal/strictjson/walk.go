package strictjson

import "iter"

// Walk checks a text and returns the parts of its outermost array or object in the same pass:
//
//	var w strictjson.Walk
//	w.Open(text, depth)
//	for key, value := range w.Parts() {
//		// They alias text.
//	}
//	if err := w.Err(); err != nil {
//		// The parts seen so far belong to text that is refused.
//	}
type Walk struct {
	scan  scanner
	start int // of the value
	err   error
}

// Open begins a walk over text, nested no deeper than maxDepth
// ([DefaultDepth] if that is not positive). w is new.
func (w *Walk) Open(text []byte, maxDepth int) {
	w.scan.src, w.scan.limit = text, depthLimit(maxDepth)
	w.start = w.scan.blank(0)
}

// Kind returns the first byte of the text that is not white space, or 0 for a blank text: '{' for
// an object, '[' for an array, any other byte for a scalar or for invalid text.
func (w *Walk) Kind() byte {
	if w.start < len(w.scan.src) {
		return w.scan.src[w.start]
	}
	return 0
}

// Err returns nil if the whole text was walked and accepted, and otherwise the [*Error] that ended
// the walk.
func (w *Walk) Err() error { return w.err }

// Parts iterates, once, over the members of an object or the elements of an array: the
// name of the member as written, without its quotes, or nil in an array; and the value as
// written. It ends at the first fault. A part before the fault is whole.
func (w *Walk) Parts() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) { w.parts(yield) }
}

// parts is apart from Parts so that Parts can be inlined, see [Reader.members].
func (w *Walk) parts(yield func(key, value []byte) bool) {
	s, kind := &w.scan, w.Kind()
	closing := kind + 2 // '{'+2 is '}', '['+2 is ']'
	i, more := w.start, false
	if kind != '{' && kind != '[' {
		i = s.value(i, 0)
	} else if i = s.blank(i + 1); i < len(s.src) && s.src[i] == closing {
		i++
	} else {
		more = true
	}
	for more {
		var key []byte
		if kind == '{' {
			end := s.name(i)
			if end < 0 {
				i = end
				break
			}
			key = s.src[i+1 : end-1 : end-1]
			if i = s.colon(end); i < 0 {
				break
			}
		}
		end := s.value(i, 1)
		if end < 0 {
			i = end
			break
		}
		if !yield(key, s.src[i:end:end]) {
			return
		}
		i, more = s.more(end, closing)
	}
	if i >= 0 {
		i = s.end(i)
	}
	if i < 0 {
		w.err = s.err()
	}
}
