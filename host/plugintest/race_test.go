//go:build race

package plugintest

// The race detector makes the compilation of a module ten times slower.
const raceEnabled = true
