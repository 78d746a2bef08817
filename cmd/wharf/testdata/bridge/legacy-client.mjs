// A client of the legacy era, on the official SDK of that era. Its arguments are the command line
// of a server, or the URL of one, to which it sends the token in TOKEN.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
  LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { open, run } from "./scenario.mjs";

const client = new Client({ name: "legacy-client", version: "1.0.0" }, { capabilities: { elicitation: {}, sampling: {}, roots: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { color: "blue" } }));
client.setRequestHandler(CreateMessageRequestSchema, async () => ({ model: "m", role: "assistant", content: { type: "text", text: "4" } }));
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///work" }] }));

await client.connect(open(StdioClientTransport, StreamableHTTPClientTransport));
await run(client, {
  call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
  subscribe: (uri) => client.subscribeResource({ uri }),
  updated: (done) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => done(n.params.uri)),
  level: (level) => client.setLoggingLevel(level),
  logged: (done) => client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => done(`${n.params.level} ${n.params.data}`)),
});
