// Package generate writes clients in Go and TypeScript from what a server says of its
// tools: a function for each tool, with a type for its arguments and one for its result.
//
// Everything that a server says is foreign: the names that it gives become identifiers of
// ASCII letters and digits, other text becomes a comment or a quoted string, and a schema
// that no type here can express becomes any value.
package generate
