// Package kernel gives plugins on Extism the input of a call, and takes its output.
package kernel
