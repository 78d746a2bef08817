package config

import (
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/nearest"
)

// closest returns the candidate that a typist most likely meant, or "".
func closest(typed string, candidates []string) string {
	names := slices.Sorted(slices.Values(candidates))
	for _, c := range names {
		if strings.EqualFold(plain(c), plain(typed)) {
			return c
		}
	}
	return nearest.Name(typed, names, 1+len(typed)/3)
}

// plain removes the characters in which spellings of the same word differ.
func plain(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(s) }
