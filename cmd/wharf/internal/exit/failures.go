package exit

import (
	"errors"
	"slices"
	"strings"
)

// Failures are the errors of several things, each by its name. The zero value has none.
type Failures struct {
	names []string
	errs  []error
}

// Add adds the error of a thing.
func (f *Failures) Add(name string, err error) {
	f.names, f.errs = append(f.names, name), append(f.errs, err)
}

// Only returns the name of the thing that failed, and "" if there are none or several.
func (f *Failures) Only() string {
	if len(f.names) != 1 {
		return ""
	}
	return f.names[0]
}

// Err returns all errors as one, and nil if there are none. Its hint has the hint of each, behind the name of its
// thing, or the one that all of them have.
func (f *Failures) Err() error {
	if len(f.errs) < 2 {
		return errors.Join(f.errs...)
	}
	var hints, rows []string
	for i, err := range f.errs {
		hint := HintOf(err)
		hints = append(hints, hint)
		if hint != "" {
			rows = append(rows, f.names[i]+": "+hint)
		}
	}
	if !slices.ContainsFunc(hints, func(hint string) bool { return hint != hints[0] }) {
		rows = hints[:1]
	}
	return &several{errors.Join(f.errs...), strings.Join(rows, "\n")}
}
