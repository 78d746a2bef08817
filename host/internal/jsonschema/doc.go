// Package jsonschema compiles JSON Schemas of the drafts 4, 6, 7, 2019-09 and 2020-12,
// and compares values with them.
//
// It is a copy of github.com/santhosh-tekuri/jsonschema/v6 at v6.0.3 by Santhosh Kumar
// Tekuri, under the Apache License 2.0 (see LICENSE). It differs from the original in
// these points, and a fuzzer holds that it does not in others:
//
//   - A meta-schema is compiled when the first schema of its draft is met. The original
//     compiles all five whenever a program that has it starts.
//   - It loads nothing: no files, no addresses, only the meta-schemas that it has.
//   - Formats, contents and vocabularies of one's own are left out, except for the formats
//     in which meta-schemas are asserted, and so are texts for errors, in any language.
//   - Values are decoded with json.Number.
//
// It has no bounds. Package schema adds those, and is its only user.
package jsonschema
