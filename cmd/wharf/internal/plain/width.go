package plain

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is how many columns text takes at most.
func Width(text string) (columns int) {
	for _, r := range text {
		columns += widthOf(r)
	}
	return columns
}

// widthOf is the most columns that a letter takes. Hangul is the first block with wide
// letters. The blocks before it have none, and neither have those of the progress bar and
// the spinner (Unicode Standard Annex 11).
func widthOf(r rune) int {
	// Blocks below the wide scripts that contain wide letters.
	emoji := r >= 0x2300 && r < 0x2400 || r >= 0x25a0 && r < 0x27c0 || r >= 0x2b00 && r < 0x2c00
	if r < 0x1100 || r >= 0x2000 && r < 0x2e80 && !emoji {
		return 1
	}
	return 2
}

// Fit cuts text to a number of columns. A letter that may be wide counts as two: an
// error in one direction costs a column, in the other a line.
func Fit(text string, columns int) string {
	used := 0
	for i, r := range text {
		if used += widthOf(r); used > columns {
			return text[:i]
		}
	}
	return text
}

// Wrap breaks a line into rows that are at most this number of columns wide. It breaks at a
// space if that loses little and the word after the space fits into a row of its own. Rows
// after the first are indented.
func Wrap(line string, columns, indent int) []string {
	var rows []string
	for before := ""; ; {
		n := fitting(line, columns-len(before))
		if n < len(line) && line[n] == ' ' { // the row ends with a word
			n++
		} else if n < len(line) {
			at := strings.LastIndexByte(line[:n], ' ')
			word, _, _ := strings.Cut(line[at+1:], " ")
			if at > n/2 || strings.Trim(line[:at+1], " ") != "" && Width(word) <= columns-min(indent, columns/2) {
				n = at + 1
			}
		}
		rows = append(rows, before+strings.TrimRight(line[:n], " "))
		if line = line[n:]; line == "" {
			return rows
		}
		before = strings.Repeat(" ", min(indent, columns/2))
	}
}

// WrapWords breaks a line into rows that are at most this number of columns wide. It breaks a
// word only if its script has no blanks between words.
func WrapWords(line string, columns int) (rows []string) {
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		if n := fitting(words[i], columns); n < len(words[i]) && breakable(words[i]) {
			words = slices.Replace(words, i, i+1, words[i][:n], words[i][n:])
		}
	}
	for len(words) > 0 {
		n, width := 1, Width(words[0])
		for n < len(words) && width+1+Width(words[n]) <= columns {
			width += 1 + Width(words[n])
			n++
		}
		rows = append(rows, strings.Join(words[:n], " "))
		words = words[n:]
	}
	return rows
}

// breakable reports whether a word has letters of a script without blanks, so that it may be a
// whole sentence.
func breakable(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	})
}

// fitting returns how many bytes of a line fit: at least one letter, and no letter
// without its marks.
func fitting(line string, columns int) int {
	n := len(Fit(line, columns))
	if n == 0 {
		_, n = utf8.DecodeRuneInString(line)
	}
	for n < len(line) {
		r, size := utf8.DecodeRuneInString(line[n:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		n += size
	}
	return n
}

// Clip cuts text to at most limit runes, and shows that it did.
func Clip(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes++; runes == limit { // the last rune that there is room for, if any other follows
			if _, n := utf8.DecodeRuneInString(text[at:]); at+n < len(text) {
				return text[:at] + "…"
			}
		}
	}
	return text
}

// ClipWords cuts text as [Clip] does, and then drops the last word if Clip has cut it, unless that would drop half of the
// text.
func ClipWords(text string, limit int) string {
	short := Clip(text, limit)
	if short == text {
		return text
	}
	short = strings.TrimSuffix(short, "…")
	if at := strings.LastIndexByte(short, ' '); at > len(short)/2 && text[len(short)] != ' ' {
		short = short[:at]
	}
	return strings.TrimRight(short, " ") + "…"
}

// CutBytes returns the beginning of text, at most limit bytes of it.
func CutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return text[:WholeRunes(text, limit)]
}

// WholeRunes returns the length of the longest beginning of a text that has at most this
// number of bytes and does not end within a rune. The text must be longer.
func WholeRunes(text string, bytes int) int {
	end := bytes
	for end > bytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}
