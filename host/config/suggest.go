package config

import (
	"slices"
	"strings"
)

// longestWord is what is still worth a comparison.
const longestWord = 64

// closest returns the candidate that a typist most likely meant, or "".
func closest(typed string, candidates []string) string {
	if len(typed) > longestWord {
		return ""
	}
	best, bestCost := "", 1+len(typed)/3
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if strings.EqualFold(plain(c), plain(typed)) {
			return c
		}
		if cost := distance(typed, c); cost <= bestCost && (best == "" || cost < bestCost) {
			best, bestCost = c, cost
		}
	}
	return best
}

// plain drops what spellings of the same word differ in.
func plain(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(s) }

// distance is how many characters must be typed, left out, changed or swapped
// with their neighbour to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last, row := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			row[j+1] = min(last[j+1], row[j]) + 1
			if x[i] == y[j] {
				row[j+1] = min(row[j+1], last[j])
			} else {
				row[j+1] = min(row[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, make([]int, len(y)+1)
	}
	return last[len(y)]
}
