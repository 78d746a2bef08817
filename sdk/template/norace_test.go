//go:build !race

package template_test

// raced is whether the race detector watches.
const raced = false
