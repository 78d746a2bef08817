// Package generate writes clients in Go and TypeScript from what a server says of its
// tools: a function for each tool, with a type for its arguments and one for its result.
//
// Everything that a server says is foreign: the names that it gives become identifiers of
// ASCII letters and digits, other text becomes a comment or a quoted string, and what a
// schema says in ways that have no type here is any value.
package generate
