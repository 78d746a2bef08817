// The contract between Wharf and a transport plugin, for guests in Rust: names and
// numbers, and as much code as encoding a block takes. The normative text is
// `go doc github.com/wharf-mcp/wharf/abi`; nothing here says more than that.
//
// It needs the core library and nothing else: no crate, no allocator. Copy it beside
// your own file, which says `mod wharf;` and defines wharf_event.
#![allow(dead_code)]

// Kinds of events. A guest returns 0 from those that it does not know.
pub const DESCRIBE: u32 = 1;
pub const OPEN: u32 = 2;
pub const MESSAGE: u32 = 3;
pub const CANCEL: u32 = 4;
pub const OPENED: u32 = 5;
pub const HEAD: u32 = 6;
pub const DATA: u32 = 7;
pub const END: u32 = 8;
pub const ERROR: u32 = 9;
pub const EXIT: u32 = 10;
pub const TIMER: u32 = 11;
pub const RESUME: u32 = 12;
pub const CLOSE: u32 = 13;

// Results of MESSAGE beside a status.
pub const LATER: i32 = 0;
pub const HANDED_OVER: i32 = 1;

// Flags in the arg of events: of DATA, of HEAD and of OPENED.
pub const LAST: u32 = 1;
pub const HEAD_LAST: u32 = 65536;
pub const SEALED: u32 = 1;

// Flags of deliver, deliver_mem, forward and write.
pub const MORE: u32 = 0;
pub const FIN: u32 = 1;
pub const ABORT: u32 = 2;

// Kinds of open, and the flags of an open request.
pub const PROCESS: u32 = 1;
pub const STREAM: u32 = 2;
pub const HTTP: u32 = 3;
pub const ESSENTIAL: u32 = 1;
pub const UPGRADE: u32 = 2;

// What can be reported.
pub const MANIFEST: u32 = 1;
pub const UP: u32 = 2;
pub const DONE: u32 = 3;
pub const FAILED: u32 = 4;
pub const EXPIRED: u32 = 5;
pub const ENDED: u32 = 6;

// Levels of the log.
pub const DEBUG: u32 = 0;
pub const INFO: u32 = 1;
pub const WARN: u32 = 2;
pub const ERROR_LEVEL: u32 = 3;

// Verdicts on a message that is whole.
pub const PENDING: i32 = 0;
pub const ANSWER: i32 = 1;
pub const NOTE: i32 = 2;
pub const REQUEST: i32 = 3;
pub const BLANK: i32 = 4;
pub const NO_MESSAGE: i32 = -32;
pub const WRONG_ID: i32 = -33;
pub const LATE: i32 = -34;
pub const TOO_BIG: i32 = -35;

// Statuses.
pub const OK: i32 = 0;
pub const DENIED: i32 = -1;
pub const UNAVAILABLE: i32 = -2;
pub const MALFORMED: i32 = -3;
pub const LIMIT: i32 = -4;
pub const CLOSED: i32 = -5;
pub const NOT_FOUND: i32 = -6;
pub const UNREACHABLE: i32 = -7;
pub const TIMED_OUT: i32 = -8;
pub const RESET: i32 = -9;
pub const PROTOCOL: i32 = -10;
pub const TOO_LARGE: i32 = -11;
pub const STALLED: i32 = -12;
pub const INTERNAL: i32 = -13;
pub const REFUSED: i32 = -14;
pub const UNAUTHORIZED: i32 = -15;

// Tags of a manifest, and of an open request.
pub const NAME: u16 = 1;
pub const VERSION: u16 = 2;
pub const SUMMARY: u16 = 3;
pub const SETTING: u16 = 4;
pub const GRANT: u16 = 5;
pub const CANCELS: u16 = 6;
pub const PROBE: u16 = 7;
pub const UNSOLICITED: u16 = 8;
pub const BY_MESSAGE: u32 = 1;
pub const BY_STREAM: u32 = 2;
pub const GRANT_NAME: u16 = 1;
pub const FLAGS: u16 = 2;
pub const METHOD: u16 = 3;
pub const TARGET: u16 = 4;
pub const HEADER: u16 = 5;

// The host calls as they are. The functions below take slices in place of pointers.
mod host {
    #[link(wasm_import_module = "wharf1")]
    extern "C" {
        pub fn take(off: u32, to: *mut u8, len: u32) -> i32;
        pub fn scan(off: u32, needles: u32) -> i32;
        pub fn deliver(exchange: u32, off: u32, len: u32, flags: u32) -> i32;
        pub fn deliver_mem(exchange: u32, from: *const u8, len: u32, flags: u32) -> i32;
        pub fn forward(handle: u32, off: u32, len: u32, flags: u32) -> i32;
        pub fn write(handle: u32, from: *const u8, len: u32, flags: u32) -> i32;
        pub fn open(kind: u32, exchange: u32, block: *const u8, len: u32) -> i32;
        pub fn close(handle: u32) -> i32;
        pub fn timer(id: u32, ms: u32) -> i32;
        pub fn report(what: u32, exchange: u32, code: i32, text: *const u8, len: u32) -> i32;
        pub fn save(blob: *const u8, len: u32) -> i32;
        pub fn log(level: u32, text: *const u8, len: u32);
    }
}

// take copies payload from off on into to, and returns the part of to that it filled.
pub fn take(off: u32, to: &mut [u8]) -> &mut [u8] {
    let n = unsafe { host::take(off, to.as_mut_ptr(), to.len() as u32) };
    &mut to[..n as usize]
}

// scan returns where the first of some bytes stands, at or after off; needles packs
// up to four of them.
pub fn scan(off: u32, needles: u32) -> Option<u32> {
    let at = unsafe { host::scan(off, needles) };
    if at < 0 { None } else { Some(at as u32) }
}

pub fn deliver(exchange: u32, off: u32, len: u32, flags: u32) -> i32 {
    unsafe { host::deliver(exchange, off, len, flags) }
}

pub fn deliver_mem(exchange: u32, bytes: &[u8], flags: u32) -> i32 {
    unsafe { host::deliver_mem(exchange, bytes.as_ptr(), bytes.len() as u32, flags) }
}

pub fn forward(handle: u32, off: u32, len: u32, flags: u32) -> i32 {
    unsafe { host::forward(handle, off, len, flags) }
}

pub fn write(handle: u32, bytes: &[u8], flags: u32) -> i32 {
    unsafe { host::write(handle, bytes.as_ptr(), bytes.len() as u32, flags) }
}

// open returns a handle, or a status below zero.
pub fn open(kind: u32, exchange: u32, block: &[u8]) -> i32 {
    unsafe { host::open(kind, exchange, block.as_ptr(), block.len() as u32) }
}

pub fn close(handle: u32) -> i32 {
    unsafe { host::close(handle) }
}

pub fn timer(id: u32, ms: u32) -> i32 {
    unsafe { host::timer(id, ms) }
}

pub fn report(what: u32, exchange: u32, code: i32, bytes: &[u8]) -> i32 {
    unsafe { host::report(what, exchange, code, bytes.as_ptr(), bytes.len() as u32) }
}

pub fn save(blob: &[u8]) -> i32 {
    unsafe { host::save(blob.as_ptr(), blob.len() as u32) }
}

pub fn log(level: u32, text: &str) {
    unsafe { host::log(level, text.as_ptr(), text.len() as u32) }
}

// needles packs up to four bytes to scan for; one that is not needed is a repetition
// of another.
pub const fn needles(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_le_bytes([a, b, c, d])
}

// The mark of the version, never called.
#[no_mangle]
pub extern "C" fn wharf_abi_1() {}

// A block that is written, in room for N bytes. What does not fit is left out, which
// the host refuses; so make the room large enough and look no further.
pub struct Block<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Block<N> {
    pub const fn new() -> Self {
        Block { bytes: [0; N], len: 4 }
    }

    pub fn text(&mut self, tag: u16, text: &str) -> &mut Self {
        self.field(tag, text.len()).put(text.as_bytes())
    }

    pub fn number(&mut self, tag: u16, n: u32) -> &mut Self {
        self.field(tag, 4).put(&n.to_le_bytes())
    }

    pub fn pair(&mut self, tag: u16, key: &str, value: &str) -> &mut Self {
        self.field(tag, 4 + key.len() + value.len());
        self.put(&(key.len() as u32).to_le_bytes()).put(key.as_bytes()).put(value.as_bytes())
    }

    pub fn grant(&mut self, tag: u16, kind: u32, name: &str) -> &mut Self {
        self.field(tag, 4 + name.len()).put(&kind.to_le_bytes()).put(name.as_bytes())
    }

    // bytes writes the length of the block and returns what to pass on.
    pub fn bytes(&mut self) -> &[u8] {
        let body = (self.len - 4) as u32;
        for (to, from) in self.bytes.iter_mut().zip(body.to_le_bytes()) {
            *to = from;
        }
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    fn field(&mut self, tag: u16, len: usize) -> &mut Self {
        self.put(&tag.to_le_bytes()).put(&(len as u32).to_le_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        for &b in bytes {
            if let Some(to) = self.bytes.get_mut(self.len) {
                *to = b;
                self.len += 1;
            }
        }
        self
    }
}

// setting finds a setting of the server entry in the payload of OPEN, and copies its
// value into to. It returns None where there is no such setting, and the status
// TOO_LARGE where it is longer than to. The two are not the same: a token that is there
// and too long is not a server without one.
pub fn setting<'a>(key: &str, to: &'a mut [u8]) -> Result<Option<&'a [u8]>, i32> {
    let mut head = [0; 10];
    let mut off = 4; // behind the length of the block
    while let [tag0, tag1, s0, s1, s2, s3, k0, k1, k2, k3] = *take(off, &mut head) {
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        let key_size = u32::from_le_bytes([k0, k1, k2, k3]);
        let at = off + 10;
        off += 6 + size;
        if u16::from_le_bytes([tag0, tag1]) != 2 || key_size as usize != key.len() || !is_at(at, key) {
            continue;
        }
        let value = to.get_mut(..(size - 4 - key_size) as usize).ok_or(TOO_LARGE)?;
        return Ok(Some(take(at + key_size, value)));
    }
    Ok(None)
}

// message_cap finds in the payload of OPEN how many bytes a message may have.
pub fn message_cap() -> u32 {
    let mut field = [0; 10];
    let mut off = 4;
    while let [tag0, tag1, s0, s1, s2, s3, n0, n1, n2, n3] = *take(off, &mut field) {
        if u16::from_le_bytes([tag0, tag1]) == 4 {
            return u32::from_le_bytes([n0, n1, n2, n3]);
        }
        off += 6 + u32::from_le_bytes([s0, s1, s2, s3]);
    }
    0
}

// is_at reports whether a text stands in the payload at off.
fn is_at(off: u32, text: &str) -> bool {
    text.bytes().zip(off..).all(|(want, at)| matches!(*take(at, &mut [0]), [got] if got == want))
}
