package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
)

// Replaceable returns nil if a file may be put at path in place of what is there: nothing, or a file of
// this kind.
func (k Kind) Replaceable(path string) error {
	switch same, err := k.Matches(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case !same:
		return fmt.Errorf("%s is not a %s, and it is not overwritten", path, k.Noun)
	}
	return nil
}
