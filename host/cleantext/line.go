package cleantext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text for an error or a log, on one line of at most limit bytes. It leaves out
// characters that steer a terminal, turn the direction of writing or cannot be seen. Each run of
// those becomes one space. A text that is cut ends in "…".
func Line(text string, limit int) string {
	const more = "…"
	most := 4 * limit // of what is read: the rest may be long, and all of it taken out
	whole := len(text) <= most
	text = strings.Join(strings.FieldsFunc(text[:min(len(text), most)], isUnfit), " ")
	if whole && len(text) <= limit {
		return text
	}
	return Cut(text, limit-len(more)) + more
}

// Cut returns the beginning of text: at most limit bytes, and no part of a rune.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit, 0)
	for end > 0 && end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// isUnfit reports whether Line leaves r out: white space, a rune that leaves nothing of its own
// on the screen, and a byte that is not valid UTF-8.
func isUnfit(r rune) bool { return unicode.IsSpace(r) || !isSeen(r) || r == utf8.RuneError }

// Mask returns text on one line. Each white space becomes a space. Each character that cannot be
// seen or steers a terminal, and each byte that is not UTF-8, becomes U+FFFD. Use Mask
// in place of [Line] for text that should keep its length, such as a message in a trace.
func Mask(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case isSeen(r):
			return r
		}
		return utf8.RuneError
	}, text)
}
