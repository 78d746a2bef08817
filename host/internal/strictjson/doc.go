// Package strictjson checks, splits and writes JSON text in place. It is stricter than
// encoding/json: it accepts only text that every peer reads in the same way.
//
// The host checks each message once: in one pass over the bytes it arrived in, without
// allocation. Code that decodes a part of the message later reads that part directly.
//
//   - [Valid] and [Walk] are for text from outside. They accept exactly
//     RFC 8259, and of that only what every peer reads alike: valid UTF-8, no
//     lone surrogates in the names of members, nesting no deeper than the limit. They
//     never panic. A lone surrogate in another string stands for U+FFFD: servers that
//     cut a text in the middle of an emoji send them.
//   - [Reader] is for text that one of these two has accepted. It is faster
//     because it does not check again. On other text its answers are arbitrary, but
//     it ends and does not panic.
//   - [AppendValue], [AppendString], [AppendStrict] and [AppendRaw] write
//     compact JSON, and [AppendLine] writes JSON as it is. None of them writes a raw line break.
//
// Long strings decide the speed of all four. They are searched with
// [bytes.IndexByte], which is vectorised, and checked eight bytes at a time.
package strictjson
