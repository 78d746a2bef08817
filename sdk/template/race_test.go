//go:build race

package template_test

// raced is whether the race detector watches. It does so at many times the cost, and
// what it can find is in the host, whatever language a guest is written in.
const raced = true
