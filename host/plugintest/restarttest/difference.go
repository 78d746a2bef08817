package restarttest

import "fmt"

// around is how many bytes of two texts are shown where they begin to differ.
const around = 24

// difference says, for people, where a text differs from the wanted one, and quotes both at
// that place.
func difference(want, got string) string {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	return fmt.Sprintf("%d bytes were expected and %d came; they differ from byte %d on: expected %s, got %s",
		len(want), len(got), at, piece(want, at), piece(got, at))
}

// piece returns the part of a text at an offset, with a little of the text before it.
func piece(text string, at int) string {
	if at >= len(text) {
		return "the end"
	}
	from, to := max(at-around/2, 0), min(at+around, len(text))
	return fmt.Sprintf("%q", text[from:to])
}
