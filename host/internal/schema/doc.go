// Package schema checks the arguments and the results of tools against the JSON
// Schemas that their server wrote for them.
//
// Neither the author of a schema nor the author of a result is trusted. That leads to these rules
// (2026-07-28/server/tools):
//
//   - Nothing is fetched. A schema that refers to anything outside itself, by
//     network or by file, is refused by [Compile].
//   - A schema is bounded before it is compiled: its size, depth, number of
//     parts, references and patterns.
//   - A check is bounded by steps, not by time, so that it comes to the same end
//     on every machine. One that takes too many ends with [ErrTooMuch], and
//     nothing is known about the value.
//   - A value that cannot be checked is not refused. The server decides what its
//     tools take, and a check is a service: a caller goes on without it, with a
//     warning.
//   - An error says where, what was wanted and what kind of thing was there. It
//     never repeats a value, which may be long, or a secret.
//
// The dialect is 2020-12, or the one that $schema names. Formats and contents are
// annotations, as that dialect has them, in the older ones too.
//
// The validator itself is github.com/santhosh-tekuri/jsonschema, and this is the
// only package that imports it. It has no bounds of its own; meter.go
// adds them from outside.
package schema
