// Package rust holds what a plugin in Rust includes, as text: a file to copy beside
// the plugin's own, and no crate. `wharf plugin new NAME --lang rust` copies it.
//
// wharf.rs is the contract of package abi for transports, with the code that encodes a
// block. It needs only Rust's core library. auth.rs connects an auth provider to the host,
// and reads and writes the JSON of the contract of package step. It needs the standard
// library, for strings. Both build with any rustc since 1.63.
package rust

import _ "embed"

// Wharf is wharf.rs.
//
//go:embed wharf.rs
var Wharf string

// Auth is auth.rs.
//
//go:embed auth.rs
var Auth string
