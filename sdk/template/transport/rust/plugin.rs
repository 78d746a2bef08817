// A transport plugin for Wharf: MCP in lines of JSON over the byte stream that the
// address of a server entry leads to, a unix socket, TCP or TLS. README.md says how to
// build, test and use it, and what to change first; wharf.rs is the contract.
#![no_std]

mod wharf;

use core::cell::Cell;

// The connection. Wharf makes an instance of the module for each, so this is all the
// state there is. The bytes of messages stay with the host.
struct Connection {
    stream: Cell<u32>,
    partial: Cell<bool>, // the beginning of a message has been delivered, and its end has not
}

static CONNECTION: Connection = Connection { stream: Cell::new(0), partial: Cell::new(false) };

// A module has one thread, and the host gives it one event at a time.
unsafe impl Sync for Connection {}

// Messages on a stream that all share belong to this exchange: the host finds by its
// id which call an answer belongs to.
const SHARED: u32 = 0;

// ---- The framing: how messages look on the stream. For another one, change these
// three functions and nothing else.

const NEWLINES: u32 = wharf::needles(b'\n', b'\n', b'\n', b'\n');

impl Connection {
    // send queues one message, which lies from start to end of the payload, and the
    // newline that ends it; they leave together. A message has no newline in it, and
    // its bytes are not copied into the plugin.
    fn send(&self, start: u32, end: u32) -> i32 {
        let status = wharf::forward(self.stream.get(), start, end - start, wharf::MORE);
        if status < 0 {
            return status;
        }
        wharf::write(self.stream.get(), b"\n", wharf::MORE)
    }

    // receive finds the messages in a chunk of len bytes, from off on. A chunk may hold
    // many of them, and a part of one: that part is delivered as it is, and the host
    // puts it together. What is no JSON-RPC is the host's to deal with as well.
    fn receive(&self, mut off: u32, len: u32) {
        while off < len {
            let end = match wharf::scan(off, NEWLINES) {
                Some(end) => end,
                None => {
                    wharf::deliver(SHARED, off, len - off, wharf::MORE);
                    self.partial.set(true);
                    return;
                }
            };
            if end > off || self.partial.get() {
                wharf::deliver(SHARED, off, end - off, wharf::FIN);
            }
            self.partial.set(false);
            off = end + 1;
        }
    }

    // finish is told that nothing more will come: a last message may lack its newline.
    fn finish(&self) {
        if self.partial.replace(false) {
            wharf::deliver_mem(SHARED, b"", wharf::FIN);
        }
    }
}

// ---- The connection.

// describe says what Wharf has to know before it connects anything. The grant has a
// name and no address: a user gives one to each server, and the plugin never learns it.
fn describe() -> i32 {
    let mut manifest = wharf::Block::<256>::new();
    manifest
        .text(wharf::NAME, "pigeon")
        .text(wharf::VERSION, "0.1.0")
        .text(wharf::SUMMARY, "MCP in lines of JSON over a byte stream")
        .grant(wharf::GRANT, wharf::STREAM, "main")
        .number(wharf::CANCELS, wharf::BY_MESSAGE) // the server is told of a cancel by a message like any other
        .number(wharf::UNSOLICITED, 1); // the server may speak first
    wharf::report(wharf::MANIFEST, 0, wharf::OK, manifest.bytes())
}

impl Connection {
    // dial opens what the server entry grants, and does not wait for it: OPENED or
    // ERROR follows. The stream is essential, so the connection ends when the stream
    // does, and the host, which knows why, tells the user.
    fn dial(&self) -> i32 {
        let mut request = wharf::Block::<64>::new();
        request.text(wharf::GRANT_NAME, "main").number(wharf::FLAGS, wharf::ESSENTIAL);
        let handle = wharf::open(wharf::STREAM, 0, request.bytes());
        if handle < 0 {
            wharf::report(wharf::FAILED, 0, handle, b"the stream was not opened; give the server an address");
            return handle;
        }
        self.stream.set(handle as u32);
        0
    }

    // message sends one message. All of it is queued when send returns, and nothing
    // more will be said of it, which is what HANDED_OVER means.
    fn message(&self, exchange: u32, start: u32, end: u32) -> i32 {
        let status = self.send(start, end);
        if status >= 0 {
            return wharf::HANDED_OVER;
        }
        wharf::report(wharf::FAILED, exchange, status, b"the server closed the stream");
        wharf::LATER
    }
}

// wharf_event takes everything that happens. Messages come only after UP, so where the
// server entry has a provider sign in, what that gives (sealed: it can be forwarded and
// not read) is the first thing in the stream. A kind of event that is not named here
// needs nothing done.
#[no_mangle]
pub extern "C" fn wharf_event(kind: u32, handle: u32, arg: u32, len: u32) -> i32 {
    let c = &CONNECTION;
    match kind {
        wharf::DESCRIBE => return describe(),
        wharf::OPEN => return c.dial(),
        wharf::MESSAGE => return c.message(arg, handle, len),
        wharf::OPENED => {
            if arg & wharf::SEALED != 0 {
                wharf::forward(handle, 0, len, wharf::MORE);
            }
            wharf::report(wharf::UP, 0, wharf::OK, b"");
        }
        wharf::DATA => {
            c.receive(0, len);
            if arg & wharf::LAST != 0 {
                c.finish();
            }
        }
        wharf::END => c.finish(),
        wharf::CLOSE => {
            wharf::close(c.stream.get());
            wharf::report(wharf::ENDED, 0, wharf::OK, b"");
        }
        _ => {}
    }
    0
}

// A panic traps, which ends this connection and nothing else.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
