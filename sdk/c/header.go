// Package c holds what a plugin in C includes, as text: a file to copy and nothing
// to link. `wharf plugin new NAME --lang c` copies it.
//
// wharf.h is the contract of package abi for transports, and as much code as
// encoding a block takes. extism.h is the door to the host for auth providers, and
// json.h as much JSON as the contract of package step takes. hidden.h and
// credential.h, which templates do not need, tell which characters of foreign text a report
// leaves out, and what a credential may set.
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
