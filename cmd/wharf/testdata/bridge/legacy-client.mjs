// A client of the legacy era, on the official SDK of that era. Its arguments are the command line
// of a server.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
  LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { run } from "./scenario.mjs";

const client = new Client({ name: "legacy-client", version: "1.0.0" }, { capabilities: { elicitation: {}, sampling: {}, roots: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { color: "blue" } }));
client.setRequestHandler(CreateMessageRequestSchema, async () => ({ model: "m", role: "assistant", content: { type: "text", text: "4" } }));
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///work" }] }));

const [command, ...args] = process.argv.slice(2);
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
await run(client, {
  call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
  subscribe: (uri) => client.subscribeResource({ uri }),
  updated: (done) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => done(n.params.uri)),
  level: (level) => client.setLoggingLevel(level),
  logged: (done) => client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => done(`${n.params.level} ${n.params.data}`)),
});
