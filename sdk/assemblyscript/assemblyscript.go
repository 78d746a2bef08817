// Package assemblyscript holds what a plugin in AssemblyScript includes, as text: a
// file to copy beside the plugin's own. `wharf plugin new NAME --lang assemblyscript`
// copies it.
//
// wharf.ts is the contract of package abi for transports, with the code that encodes a block.
// auth.ts connects an auth provider to the host, and reads and writes the JSON of the contract
// of package step.
package assemblyscript

import _ "embed"

// Wharf is wharf.ts.
//
//go:embed wharf.ts
var Wharf string

// Auth is auth.ts.
//
//go:embed auth.ts
var Auth string
