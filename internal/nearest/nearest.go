// Package nearest finds the name that a person most likely meant.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// maxLength bounds the words and names that are compared, in bytes.
const maxLength = 64

// Name returns the name that word becomes with the fewest edits, regardless of case. It takes at
// most edits of them, and fewer than the longer of word and name has letters. Of several such names
// it is the first. Name returns "" if there is none.
func Name(word string, names []string, edits int) string {
	best := ""
	for _, name := range names {
		if len(word) > maxLength || len(name) > maxLength {
			continue
		}
		letters := max(utf8.RuneCountInString(word), utf8.RuneCountInString(name))
		if d := Edits(strings.ToLower(word), strings.ToLower(name)); d <= edits && d < letters {
			best, edits = name, d-1
		}
	}
	return best
}

// Edits returns how many letters must be added, removed, replaced or swapped with their neighbour
// to turn a into b (optimal string alignment). Its time is in proportion to the product of their
// lengths.
func Edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	above, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			replaced := last[j]
			if x[i] != y[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], above[j-1]+1)
			}
		}
		above, last, row = last, row, above
	}
	return last[len(y)]
}
