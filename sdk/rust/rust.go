// Package rust holds what a plugin in Rust includes, as text: a file to copy beside
// the plugin's own, and no crate. `wharf plugin new NAME --lang rust` copies it.
//
// wharf.rs is the contract of package abi for transports, and as much code as
// encoding a block takes; it wants nothing of Rust but its core library. auth.rs is the
// door to the host for auth providers, and as much JSON as the contract of package step
// takes; it wants the standard library, for its strings. Both build with any rustc since
// 1.63.
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
