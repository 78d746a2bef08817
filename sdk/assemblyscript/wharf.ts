// The contract between Wharf and a transport plugin, for guests in AssemblyScript:
// names and numbers, and as much code as encoding a block takes. The normative text
// is `go doc github.com/wharf-mcp/wharf/abi`; nothing here says more than that.
//
// It needs the compiler and nothing else: no package, no runtime, no allocation. Copy
// it beside your own file, which exports wharf_event, and wharf_abi_1 from here.

// Kinds of events. A guest returns 0 from those that it does not know.
export const DESCRIBE: u32 = 1;
export const OPEN: u32 = 2;
export const MESSAGE: u32 = 3;
export const CANCEL: u32 = 4;
export const OPENED: u32 = 5;
export const HEAD: u32 = 6;
export const DATA: u32 = 7;
export const END: u32 = 8;
export const ERROR: u32 = 9;
export const EXIT: u32 = 10;
export const TIMER: u32 = 11;
export const RESUME: u32 = 12;
export const CLOSE: u32 = 13;

// Results of MESSAGE beside a status.
export const LATER: i32 = 0;
export const HANDED_OVER: i32 = 1;

// Flags in the arg of events: of DATA, of HEAD and of OPENED.
export const LAST: u32 = 1;
export const HEAD_LAST: u32 = 65536;
export const SEALED: u32 = 1;

// Flags of deliver, deliver_mem, forward and write.
export const MORE: u32 = 0;
export const FIN: u32 = 1;
export const ABORT: u32 = 2;

// Kinds of open, and the flags of an open request.
export const PROCESS: u32 = 1;
export const STREAM: u32 = 2;
export const HTTP: u32 = 3;
export const ESSENTIAL: u32 = 1;
export const UPGRADE: u32 = 2;

// What can be reported.
export const MANIFEST: u32 = 1;
export const UP: u32 = 2;
export const DONE: u32 = 3;
export const FAILED: u32 = 4;
export const EXPIRED: u32 = 5;
export const ENDED: u32 = 6;

// Levels of the log.
export const DEBUG: u32 = 0;
export const INFO: u32 = 1;
export const WARN: u32 = 2;
export const ERROR_LEVEL: u32 = 3;

// Verdicts on a message that is whole.
export const PENDING: i32 = 0;
export const ANSWER: i32 = 1;
export const NOTE: i32 = 2;
export const REQUEST: i32 = 3;
export const BLANK: i32 = 4;
export const NO_MESSAGE: i32 = -32;
export const WRONG_ID: i32 = -33;
export const LATE: i32 = -34;
export const TOO_BIG: i32 = -35;

// Statuses.
export const OK: i32 = 0;
export const DENIED: i32 = -1;
export const UNAVAILABLE: i32 = -2;
export const MALFORMED: i32 = -3;
export const LIMIT: i32 = -4;
export const CLOSED: i32 = -5;
export const NOT_FOUND: i32 = -6;
export const UNREACHABLE: i32 = -7;
export const TIMED_OUT: i32 = -8;
export const RESET: i32 = -9;
export const PROTOCOL: i32 = -10;
export const TOO_LARGE: i32 = -11;
export const STALLED: i32 = -12;
export const INTERNAL: i32 = -13;
export const REFUSED: i32 = -14;
export const UNAUTHORIZED: i32 = -15;

// Tags of a manifest, and of an open request.
export const NAME: u32 = 1;
export const VERSION: u32 = 2;
export const SUMMARY: u32 = 3;
export const SETTING: u32 = 4;
export const GRANT: u32 = 5;
export const CANCELS: u32 = 6;
export const PROBE: u32 = 7;
export const UNSOLICITED: u32 = 8;
export const BY_MESSAGE: u32 = 1;
export const BY_STREAM: u32 = 2;
export const GRANT_NAME: u32 = 1;
export const FLAGS: u32 = 2;
export const METHOD: u32 = 3;
export const TARGET: u32 = 4;
export const HEADER: u32 = 5;

// The host calls. An off counts from the start of the event's payload.
// @ts-ignore: decorator
@external("wharf1", "take")
export declare function take(off: u32, to: usize, len: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "scan")
export declare function scan(off: u32, needles: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "deliver")
export declare function deliver(exchange: u32, off: u32, len: u32, flags: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "deliver_mem")
export declare function deliverMem(exchange: u32, from: usize, len: u32, flags: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "forward")
export declare function forward(handle: u32, off: u32, len: u32, flags: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "write")
export declare function write(handle: u32, from: usize, len: u32, flags: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "open")
export declare function open(kind: u32, exchange: u32, block: usize, len: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "close")
export declare function close(handle: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "timer")
export declare function timer(id: u32, ms: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "report")
export declare function report(what: u32, exchange: u32, code: i32, text: usize, len: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "save")
export declare function save(blob: usize, len: u32): i32;
// @ts-ignore: decorator
@external("wharf1", "log")
export declare function log(level: u32, text: usize, len: u32): void;

// The mark of the version, never called.
export function wharf_abi_1(): void {}

// needles packs up to four bytes to scan for; one that is not needed is a repetition
// of another.
export function needles(a: u32, b: u32, c: u32, d: u32): u32 {
  return a | (b << 8) | (c << 16) | (d << 24);
}

// The one block that is written at a time, and any other text for the host. The
// strings that go in are ASCII, which in UTF-16 is every other byte.
const ROOM: u32 = 1024;
const room: usize = memory.data(1024);
let used: u32 = 0;

// at is where the block lies.
export function at(): usize {
  return room;
}

export function begin(): void {
  used = 4;
}

export function text(tag: u32, s: string): void {
  field(tag, s.length);
  put(s);
}

export function number(tag: u32, n: u32): void {
  field(tag, 4);
  putU32(n);
}

export function pair(tag: u32, key: string, value: string): void {
  field(tag, 4 + key.length + value.length);
  putU32(key.length);
  put(key);
  put(value);
}

export function grant(tag: u32, kind: u32, name: string): void {
  field(tag, 4 + name.length);
  putU32(kind);
  put(name);
}

// finish returns the length of the block.
export function finish(): u32 {
  store<u32>(room, used - 4);
  return used;
}

// fail says why an exchange is over, or with 0 the connection.
export function fail(exchange: u32, status: i32, why: string): void {
  used = 0;
  put(why);
  report(FAILED, exchange, status, room, used);
}

// say writes one line to the trace.
export function say(level: u32, line: string): void {
  used = 0;
  put(line);
  log(level, room, used);
}

function field(tag: u32, len: u32): void {
  putByte(tag);
  putByte(tag >> 8);
  putU32(len);
}

function putU32(n: u32): void {
  for (let i = 0; i < 4; i++, n >>= 8) putByte(n);
}

function put(s: string): void {
  for (let i = 0; i < s.length; i++) putByte(s.charCodeAt(i));
}

// What does not fit is left out, which the host refuses.
function putByte(c: u32): void {
  if (used < ROOM) store<u8>(room + used++, <u8>c);
}

// setting finds a setting of the server entry in the payload of OPEN, and copies its
// value to memory. It returns the length of the value, NOT_FOUND where there is no such
// setting, or TOO_LARGE, and copies nothing, where it is longer than space. The two are
// not the same: a token that is there and too long is not a server without one.
export function setting(key: string, to: usize, space: u32): i32 {
  let off: u32 = 4; // behind the length of the block
  while (take(off, room, 10) == 10) {
    const tag = load<u16>(room);
    const size = load<u32>(room + 2);
    const keySize = load<u32>(room + 6);
    const where = off + 10;
    off += 6 + size;
    if (tag != 2 || keySize != key.length || !isAt(where, key)) continue;
    const len = size - 4 - keySize;
    return len > space ? TOO_LARGE : take(where + keySize, to, len);
  }
  return NOT_FOUND;
}

// messageCap finds in the payload of OPEN how many bytes a message may have.
export function messageCap(): u32 {
  for (let off: u32 = 4; take(off, room, 10) == 10; off += 6 + load<u32>(room + 2)) {
    if (load<u16>(room) == 4) return load<u32>(room + 6);
  }
  return 0;
}

// isAt reports whether a text stands in the payload at off.
function isAt(off: u32, s: string): bool {
  for (let i = 0; i < s.length; i++) {
    if (take(off + i, room, 1) != 1 || load<u8>(room) != <u8>s.charCodeAt(i)) return false;
  }
  return true;
}
