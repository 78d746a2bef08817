// The tools, resources and prompts of the servers of both eras.
import * as z from "zod";

export function register(server, text, on) {
  server.registerTool("echo", { description: "says what it is told", inputSchema: on.schema({ message: z.string() }) }, async ({ message }) => text(message));
  let release;
  server.registerTool("count", { description: "tells of progress, and returns when release was called", inputSchema: on.schema({}) }, async (_, extra) => {
    const released = new Promise((done) => { release = done; });
    await on.progress(extra, 1, 2);
    await released;
    return text("counted");
  });
  server.registerTool("release", { description: "lets count return", inputSchema: on.schema({}) }, async () => {
    release();
    return text("released");
  });
  server.registerTool("note", { description: "logs a line", inputSchema: on.schema({}) }, async (_, extra) => {
    await on.log(extra, "warning", "a line");
    return text("noted");
  });
  let cancelled;
  server.registerTool("wait", { description: "waits until it is cancelled", inputSchema: on.schema({}) }, async (_, extra) => {
    cancelled = new Promise((done) => on.signal(extra).addEventListener("abort", () => done("the wait was cancelled")));
    await on.progress(extra, 1, 2);
    await cancelled;
    return text("too late");
  });
  server.registerTool("cancelled", { description: "returns when wait was cancelled", inputSchema: on.schema({}) }, async () => text(await cancelled));
  server.registerResource("note", "note://one", { mimeType: "text/plain" }, async (uri) => ({ contents: [{ uri: uri.href, text: "the note" }] }));
  server.registerPrompt("greet", { description: "greets" }, async () => ({ messages: [{ role: "user", content: { type: "text", text: "hello" } }] }));
}
