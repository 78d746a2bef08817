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

// Only returns the name of the thing that failed if exactly one did; else "".
func (f *Failures) Only() string {
	if len(f.names) != 1 {
		return ""
	}
	return f.names[0]
}

// Err joins the errors; without any it returns nil. The hint of the result has a row for each error, which begins with
// the name of the thing. If all errors have the same hint, the result has that hint once.
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
