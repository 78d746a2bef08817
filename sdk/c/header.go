// Package c holds what a plugin in C includes, as text: a file to copy and nothing
// to link. `wharf plugin new NAME --lang c` copies it.
//
// wharf.h is the contract of package abi for transports, with the code that encodes a
// block. extism.h connects an auth provider to the host, and json.h reads and writes the
// JSON of the contract of package step. Templates do not need the other two: hidden.h has
// the characters of foreign text that a report leaves out, and credential.h says which
// headers a credential may set.
package c

import _ "embed"

// Header is wharf.h.
//
//go:embed wharf.h
var Header string

// Extism is extism.h.
//
//go:embed extism.h
var Extism string

// JSON is json.h, which includes extism.h.
//
//go:embed json.h
var JSON string
