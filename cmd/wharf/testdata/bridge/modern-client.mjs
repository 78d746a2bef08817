// A client of the modern era, on the official SDK of that era. Its arguments are the command line
// of a server, or the URL of one, to which it sends the token in TOKEN.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { open, run } from "./scenario.mjs";

const client = new Client(
  { name: "modern-client", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
);
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { color: "blue" } }));
client.setRequestHandler("sampling/createMessage", async () => ({ model: "m", role: "assistant", content: { type: "text", text: "4" } }));
client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///work" }] }));

await client.connect(open(StdioClientTransport, StreamableHTTPClientTransport));
let level;
await run(client, {
  call: (name, args, options) => client.callTool({ name, arguments: args, ...(level && { _meta: { "io.modelcontextprotocol/logLevel": level } }) }, options),
  subscribe: (uri) => client.listen({ resourceSubscriptions: [uri] }),
  updated: (done) => client.setNotificationHandler("notifications/resources/updated", (n) => done(n.params.uri)),
  level: (wanted) => { level = wanted; },
  logged: (done) => client.setNotificationHandler("notifications/message", (n) => done(`${n.params.level} ${n.params.data}`)),
});
