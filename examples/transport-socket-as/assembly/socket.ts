// A transport plugin in AssemblyScript: MCP in lines of JSON over a unix socket, TCP
// or TLS. It does what examples/transport-socket does in Go, and passes the same
// tests. There is no runtime in it, no allocation, and no byte of a message.
import * as wharf from "../../../sdk/assemblyscript/wharf";

export { wharf_abi_1 } from "../../../sdk/assemblyscript/wharf";

// Messages that came by the one stream belong to the shared exchange.
const SHARED: u32 = 0;

const newline: u32 = 0x0a0a0a0a; // packed for scan
const lineEnd: usize = memory.data<u8>([0x0a]);
const mark: usize = memory.data<u8>([0xef, 0xbb, 0xbf]);
const markLen: u32 = 3;
const head: usize = memory.data(4);

// The connection. An instance of the module serves one, so it is all there is.
let stream: u32 = 0;
let partial: bool = false; // a part of the current line is delivered
let begun: bool = false; // the start was checked for a byte order mark
let marked: u32 = 0; // bytes of the mark that are withheld

// describe says what Wharf has to know before it connects anything.
function describe(): i32 {
  wharf.begin();
  wharf.text(wharf.NAME, "socket-as");
  wharf.text(wharf.VERSION, "1.0.0");
  wharf.text(wharf.SUMMARY, "MCP in lines of JSON over a unix socket, TCP or TLS");
  wharf.grant(wharf.GRANT, wharf.STREAM, "main");
  wharf.number(wharf.CANCELS, wharf.BY_MESSAGE); // a cancel is a message
  wharf.number(wharf.UNSOLICITED, 1); // messages come that nobody asked for
  return wharf.report(wharf.MANIFEST, 0, 0, wharf.at(), wharf.finish());
}

// dial opens what the server entry grants. The stream is essential: its end is the
// end of the connection, and the host, which knows why, tells the user.
function dial(): i32 {
  wharf.begin();
  wharf.text(wharf.GRANT_NAME, "main");
  wharf.number(wharf.FLAGS, wharf.ESSENTIAL);
  const handle = wharf.open(wharf.STREAM, SHARED, wharf.at(), wharf.finish());
  if (handle < 0) {
    wharf.fail(0, handle, "the socket was not opened; give the server an address");
    return handle;
  }
  stream = handle;
  return 0;
}

// send queues a message, which begins at start, and a newline. They leave together.
function send(exchange: u32, start: u32, end: u32): i32 {
  let status = wharf.forward(stream, start, end - start, wharf.MORE);
  if (status >= 0) status = wharf.write(stream, lineEnd, 1, wharf.MORE);
  if (status >= 0) return wharf.HANDED_OVER;
  wharf.fail(exchange, status, "the server closed the socket");
  return wharf.LATER;
}

// release delivers what was withheld for a mark that turned out to be none.
function release(withheld: u32): void {
  begun = true;
  if (withheld == 0) return;
  wharf.deliverMem(SHARED, mark, withheld, wharf.MORE);
  partial = true;
}

// skipMark returns where the text begins behind a byte order mark, which may come
// in pieces. What may belong to one is withheld until that is known.
function skipMark(): u32 {
  const withheld = marked;
  const n: u32 = wharf.take(0, head, markLen - withheld);
  for (let i: u32 = 0; i < n; i++) {
    if (load<u8>(head + i) != load<u8>(mark + marked)) {
      release(withheld);
      return 0;
    }
    marked++;
  }
  begun = marked == markLen;
  return n;
}

// read delivers the lines that end in the payload, and the part of one that it
// ends with. They stay where they are: the host finds the ends and takes the lines.
function read(len: u32): void {
  let off: u32 = !begun && len > 0 ? skipMark() : 0;
  while (off < len) {
    const end = wharf.scan(off, newline);
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

// finish delivers a last line that has no newline.
function finish(): void {
  if (!begun) release(marked);
  if (partial) wharf.deliverMem(SHARED, mark, 0, wharf.FIN);
  partial = false;
}

// wharf_event takes everything that happens. What signs in comes sealed with OPENED,
// and is the first thing in the stream, since messages come only after UP. Kinds
// that are not named here need nothing done.
export function wharf_event(kind: u32, handle: u32, arg: u32, len: u32): i32 {
  switch (kind) {
    case wharf.DESCRIBE:
      return describe();
    case wharf.OPEN:
      return dial();
    case wharf.MESSAGE:
      return send(arg, handle, len);
    case wharf.OPENED:
      if (arg & wharf.SEALED) wharf.forward(handle, 0, len, wharf.MORE);
      wharf.report(wharf.UP, 0, 0, 0, 0);
      break;
    case wharf.DATA:
      read(len);
      if (arg & wharf.LAST) finish();
      break;
    case wharf.END:
      finish();
      break;
    case wharf.CLOSE:
      wharf.close(stream);
      wharf.report(wharf.ENDED, 0, 0, 0, 0);
      break;
  }
  return 0;
}
