// The contract between Wharf and a transport plugin, for guests in AssemblyScript:
// names and numbers, and as much code as encoding a block takes. The normative text
// is `go doc github.com/wharf-mcp/wharf/abi`. Copy it.

export namespace Event {
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
}

// Results of MESSAGE beside a status, which is below zero.
export const LATER: i32 = 0;
export const HANDED_OVER: i32 = 1;

// Flags in the arg of DATA and of OPENED.
export const LAST: u32 = 1;
export const SEALED: u32 = 1;

// Flags of deliver, deliver_mem, forward and write.
export const MORE: u32 = 0;
export const END: u32 = 1;

// Kinds of open, and a flag of an open request.
export const STREAM: u32 = 2;
export const ESSENTIAL: u32 = 1;

export namespace Report {
  export const MANIFEST: u32 = 1;
  export const UP: u32 = 2;
  export const DONE: u32 = 3;
  export const FAILED: u32 = 4;
  export const EXPIRED: u32 = 5;
  export const ENDED: u32 = 6;
}

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

// The one block that is written at a time, and any other text for the host. The
// strings that go in are ASCII, which in UTF-16 is every other byte.
const room: usize = memory.data(512);
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
  report(Report.FAILED, exchange, status, room, used);
}

function field(tag: u32, len: u32): void {
  store<u16>(room + used, <u16>tag);
  used += 2;
  putU32(len);
}

function putU32(n: u32): void {
  store<u32>(room + used, n);
  used += 4;
}

function put(s: string): void {
  for (let i = 0; i < s.length; i++) store<u8>(room + used++, <u8>s.charCodeAt(i));
}
