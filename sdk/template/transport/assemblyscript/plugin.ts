// A transport plugin for Wharf: MCP in lines of JSON over the byte stream that the
// address of a server entry leads to, a unix socket, TCP or TLS. README.md says how to
// build, test and use it, and what to change first; wharf.ts is the contract.
import * as wharf from "./wharf";

export { wharf_abi_1 } from "./wharf";

// The connection. Wharf makes an instance of the module for each, so this is all the
// state there is. The bytes of messages stay with the host.
let stream: u32 = 0;
let partial: bool = false; // the beginning of a message has been delivered, and its end has not

// Messages on a stream that all share belong to this exchange: the host finds by its
// id which call an answer belongs to.
const SHARED: u32 = 0;

// ---- The framing: how messages look on the stream. For another one, change these
// three functions and nothing else.

const newline: usize = memory.data<u8>([0x0a]);
const newlines: u32 = 0x0a0a0a0a; // what wharf.needles makes of four of them

// send queues one message, which lies from start to end of the payload, and the
// newline that ends it; they leave together. A message has no newline in it, and its
// bytes are not copied into the plugin.
function send(start: u32, end: u32): i32 {
  const status = wharf.forward(stream, start, end - start, wharf.MORE);
  if (status < 0) return status;
  return wharf.write(stream, newline, 1, wharf.MORE);
}

// receive finds the messages in a chunk of len bytes, from off on. A chunk may hold many
// of them, and a part of one: that part is delivered as it is, and the host puts it
// together. What is no JSON-RPC is the host's to deal with as well.
function receive(off: u32, len: u32): void {
  while (off < len) {
    const end = wharf.scan(off, newlines);
    if (end < 0) {
      wharf.deliver(SHARED, off, len - off, wharf.MORE);
      partial = true;
      return;
    }
    if (<u32>end > off || partial) wharf.deliver(SHARED, off, <u32>end - off, wharf.FIN);
    partial = false;
    off = end + 1;
  }
}

// finish is told that nothing more will come: a last message may lack its newline.
function finish(): void {
  if (partial) wharf.deliverMem(SHARED, newline, 0, wharf.FIN);
  partial = false;
}

// ---- The connection.

// describe says what Wharf has to know before it connects anything. The grant has a
// name and no address: a user gives one to each server, and the plugin never learns it.
function describe(): i32 {
  wharf.begin();
  wharf.text(wharf.NAME, "pigeon");
  wharf.text(wharf.VERSION, "0.1.0");
  wharf.text(wharf.SUMMARY, "MCP in lines of JSON over a byte stream");
  wharf.grant(wharf.GRANT, wharf.STREAM, "main");
  wharf.number(wharf.CANCELS, wharf.BY_MESSAGE); // the server is told of a cancel by a message like any other
  wharf.number(wharf.UNSOLICITED, 1); // the server may speak first
  return wharf.report(wharf.MANIFEST, 0, wharf.OK, wharf.at(), wharf.finish());
}

// dial opens what the server entry grants, and does not wait for it: OPENED or ERROR
// follows. The stream is essential, so the connection ends when the stream does, and
// the host, which knows why, tells the user.
function dial(): i32 {
  wharf.begin();
  wharf.text(wharf.GRANT_NAME, "main");
  wharf.number(wharf.FLAGS, wharf.ESSENTIAL);
  const handle = wharf.open(wharf.STREAM, 0, wharf.at(), wharf.finish());
  if (handle < 0) {
    wharf.fail(0, handle, "the stream was not opened; give the server an address");
    return handle;
  }
  stream = handle;
  return 0;
}

// message sends one message. All of it is queued when send returns, and nothing more
// will be said of it, which is what HANDED_OVER means.
function message(exchange: u32, start: u32, end: u32): i32 {
  const status = send(start, end);
  if (status >= 0) return wharf.HANDED_OVER;
  wharf.fail(exchange, status, "the server closed the stream");
  return wharf.LATER;
}

// wharf_event takes everything that happens. Messages come only after UP, so where the
// server entry has a provider sign in, what that gives (sealed: it can be forwarded and
// not read) is the first thing in the stream. A kind of event that is not named here
// needs nothing done.
export function wharf_event(kind: u32, handle: u32, arg: u32, len: u32): i32 {
  switch (kind) {
    case wharf.DESCRIBE:
      return describe();
    case wharf.OPEN:
      return dial();
    case wharf.MESSAGE:
      return message(arg, handle, len);
    case wharf.OPENED:
      if (arg & wharf.SEALED) wharf.forward(handle, 0, len, wharf.MORE);
      wharf.report(wharf.UP, 0, wharf.OK, 0, 0);
      break;
    case wharf.DATA:
      receive(0, len);
      if (arg & wharf.LAST) finish();
      break;
    case wharf.END:
      finish();
      break;
    case wharf.CLOSE:
      wharf.close(stream);
      wharf.report(wharf.ENDED, 0, wharf.OK, 0, 0);
      break;
  }
  return 0;
}
