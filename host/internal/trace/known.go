package trace

// Known is a set of texts that are secret wherever they occur, for who hides them
// in a way of his own. The zero Known is empty; it may be used from any goroutine.
type Known struct{ veil veil }

// Hide is that of a [Recorder].
func (k *Known) Hide(texts ...string) { k.veil.add(leastSecret, texts...) }

// HideNamed is that of a [Recorder].
func (k *Known) HideNamed(texts ...string) { k.veil.add(LeastNamed, texts...) }

// HideRecent is that of a [Recorder].
func (k *Known) HideRecent(texts ...string) { k.veil.addRecent(texts...) }

// Spans are where secrets are in text: from which byte and to which, by their
// beginnings. They may overlap.
func (k *Known) Spans(text []byte) [][2]int { return k.veil.spans(text) }

// Begun is how many bytes at the end of text may be the beginning of a secret.
func (k *Known) Begun(text []byte) int { return len(text) - len(k.veil.trim(text)) }
