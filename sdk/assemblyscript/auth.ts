// What an auth provider for Wharf needs beside itself, in AssemblyScript: the door to
// the host and as much JSON as the contract takes, which is described by `go doc
// github.com/wharf-mcp/wharf/abi/step`. It is for --runtime stub, which has no
// collector. Copy it beside your own file, which exports wharf_auth_describe and
// wharf_auth_step.

// The door: what Extism's kernel offers a module. Input and output lie in the kernel's
// memory, which is not ours, and are moved by words.
// @ts-ignore: decorator
@external("extism:host/env", "input_length")
declare function inputLength(): u64;
// @ts-ignore: decorator
@external("extism:host/env", "input_load_u64")
declare function inputLoad64(at: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "input_load_u8")
declare function inputLoad8(at: u64): u32;
// @ts-ignore: decorator
@external("extism:host/env", "alloc")
declare function alloc(size: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "store_u64")
declare function store64(at: u64, value: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "store_u8")
declare function store8(at: u64, value: u32): void;
// @ts-ignore: decorator
@external("extism:host/env", "output_set")
declare function outputSet(at: u64, size: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "error_set")
declare function errorSet(at: u64): void;

// input begins a call and returns what the host gave. Memory is taken from one end of
// the heap and never given back, so everything that earlier calls have made is
// forgotten here: nothing but numbers and literals may stay in a global.
export function input(): string {
  heap.reset();
  const size = inputLength();
  const bytes = new ArrayBuffer(<i32>size);
  const to = changetype<usize>(bytes);
  let at: u64 = 0;
  for (; at + 8 <= size; at += 8) store<u64>(to + <usize>at, inputLoad64(at));
  for (; at < size; at++) store<u8>(to + <usize>at, inputLoad8(at));
  return String.UTF8.decode(bytes);
}

// reply ends a call with an answer, and broken with words for the person who looks for
// a fault.
export function reply(text: string): i32 {
  const bytes = String.UTF8.encode(text);
  outputSet(stored(bytes), bytes.byteLength);
  return 0;
}

export function broken(why: string): i32 {
  errorSet(stored(String.UTF8.encode(why)));
  return 1;
}

// stored copies bytes to the kernel.
function stored(bytes: ArrayBuffer): u64 {
  const from = changetype<usize>(bytes);
  const size: u64 = bytes.byteLength;
  const to = alloc(size);
  let at: u64 = 0;
  for (; at + 8 <= size; at += 8) store64(to + at, load<u64>(from + <usize>at));
  for (; at < size; at++) store8(to + at, load<u8>(from + <usize>at));
  return to;
}

// JSON. A value is the text of it. What is missing, of another kind or malformed is a
// value without text, which every function takes, so nothing is checked twice.

const DEPTH = 64; // how deep values may stand within others

// value returns the value that text holds and nothing beside it.
export function value(text: string): string {
  const from = space(text, 0);
  const to = skip(text, from, DEPTH);
  return to > 0 && space(text, to) == text.length ? text.substring(from, to) : "";
}

// member returns the value of a key of an object.
export function member(object: string, key: string): string {
  if (!object.startsWith("{")) return "";
  let at = space(object, 1);
  while (true) {
    const behind = skip(object, at, DEPTH);
    if (behind < 0) return "";
    const found = text(object.substring(at, behind)) == key;
    at = space(object, behind);
    if (code(object, at) != COLON) return "";
    at = space(object, at + 1);
    const end = skip(object, at, DEPTH);
    if (end < 0) return "";
    if (found) return object.substring(at, end);
    at = space(object, end);
    if (code(object, at) != COMMA) return "";
    at = space(object, at + 1);
  }
}

// text returns what stands between the quotes of a value, or "" for what is no text.
export function text(quoted: string): string {
  if (code(quoted, 0) != QUOTE || quoted.length < 2) return "";
  const units = new StaticArray<u16>(quoted.length);
  let n = 0;
  for (let i = 1; i < quoted.length - 1; i++) {
    let c = code(quoted, i);
    if (c == BACKSLASH) {
      c = code(quoted, ++i);
      if (c == 0x75) { // u, and four digits
        c = <i32>parseInt(quoted.substring(i + 1, i + 5), 16);
        i += 4;
      } else {
        const which = "bfnrt".indexOf(String.fromCharCode(c));
        if (which >= 0) c = "\b\f\n\r\t".charCodeAt(which);
      }
    }
    units[n++] = <u16>c;
  }
  return String.UTF16.decodeUnsafe(changetype<usize>(units), <usize>n << 1);
}

// quote writes a text as JSON.
export function quote(text: string): string {
  const units = new StaticArray<u16>(6 * text.length + 2);
  let n = 0;
  units[n++] = <u16>QUOTE;
  for (let i = 0; i < text.length; i++) {
    const c = code(text, i);
    if (c < 0x20 || c == 0x7f) {
      for (let j = 0; j < 4; j++) units[n++] = <u16>"\\u00".charCodeAt(j);
      units[n++] = <u16>HEX.charCodeAt(c >> 4);
      units[n++] = <u16>HEX.charCodeAt(c & 15);
      continue;
    }
    if (c == QUOTE || c == BACKSLASH) units[n++] = <u16>BACKSLASH;
    units[n++] = <u16>c;
  }
  units[n++] = <u16>QUOTE;
  return String.UTF16.decodeUnsafe(changetype<usize>(units), <usize>n << 1);
}

// base64 writes a text as the contract has bytes: in base64, with padding.
export function base64(text: string): string {
  const bytes = Uint8Array.wrap(String.UTF8.encode(text));
  const size = bytes.length;
  const units = new StaticArray<u16>((size + 2) / 3 * 4 + 2);
  let n = 0;
  units[n++] = <u16>QUOTE;
  for (let i = 0; i < size; i += 3) {
    let bits = 0;
    for (let j = 0; j < 3; j++) bits = bits << 8 | (i + j < size ? bytes[i + j] : 0);
    for (let j = 0; j < 4; j++) units[n++] = <u16>(i + j <= size ? DIGITS.charCodeAt(bits >> (18 - 6 * j) & 63) : EQUALS);
  }
  units[n++] = <u16>QUOTE;
  return String.UTF16.decodeUnsafe(changetype<usize>(units), <usize>n << 1);
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const EQUALS = 0x3d;
const HEX = "0123456789abcdef";
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

// code is the character at a place, or 0 behind the end.
function code(s: string, at: i32): i32 {
  return at < s.length ? s.charCodeAt(at) : 0;
}

// space returns where the white space at a place ends.
function space(s: string, at: i32): i32 {
  while (true) {
    const c = code(s, at);
    if (c != 0x20 && c != 0x09 && c != 0x0a && c != 0x0d) return at;
    at++;
  }
}

// skip returns where the value that begins at a place ends, or -1 where no value begins.
function skip(s: string, at: i32, depth: i32): i32 {
  const open = code(s, at);
  if (open == QUOTE) return skipText(s, at);
  if (open != 0x7b && open != 0x5b) return skipWord(s, at);
  if (depth == 0) return -1;
  const close = open + 2; // in ASCII, for braces and for brackets
  at = space(s, at + 1);
  if (code(s, at) == close) return at + 1;
  while (true) {
    if (open == 0x7b) {
      if (code(s, at) != QUOTE) return -1;
      at = skipText(s, at);
      if (at < 0) return -1;
      at = space(s, at);
      if (code(s, at) != COLON) return -1;
      at = space(s, at + 1);
    }
    at = skip(s, at, depth - 1);
    if (at < 0) return -1;
    at = space(s, at);
    if (code(s, at) == close) return at + 1;
    if (code(s, at) != COMMA) return -1;
    at = space(s, at + 1);
  }
}

function skipText(s: string, at: i32): i32 {
  for (at++; at < s.length; at++) {
    const c = code(s, at);
    if (c == QUOTE) return at + 1;
    if (c < 0x20) return -1;
    if (c == BACKSLASH) at++;
  }
  return -1;
}

// skipWord moves past a number or a word. The caller that reads one checks it.
function skipWord(s: string, at: i32): i32 {
  const from = at;
  while (true) {
    const c = code(s, at);
    const letter = (c | 0x20) >= 0x61 && (c | 0x20) <= 0x7a;
    if (!letter && !(c >= 0x30 && c <= 0x39) && c != 0x2b && c != 0x2d && c != 0x2e) break;
    at++;
  }
  return at > from ? at : -1;
}
