// A server of the legacy era, on the official SDK of that era.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { register } from "./tools.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const server = new McpServer(
  { name: "legacy", version: "1.0.0" },
  { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } } },
);

register(server, text, {
  schema: (shape) => shape,
  progress: (extra, progress, total) => extra.sendNotification({ method: "notifications/progress", params: { progressToken: extra._meta.progressToken, progress, total } }),
  log: (extra, level, data) => server.server.sendLoggingMessage({ level, data }),
  signal: (extra) => extra.signal,
});
server.registerTool("ask", { description: "asks the person for a color" }, async () => {
  const answer = await server.server.elicitInput({
    message: "Which color?",
    requestedSchema: { type: "object", properties: { color: { type: "string" } }, required: ["color"] },
  });
  return text(`${answer.action} ${answer.content?.color}`);
});
server.registerTool("think", { description: "asks the model" }, async () => {
  const answer = await server.server.createMessage({ messages: [{ role: "user", content: { type: "text", text: "2+2?" } }], maxTokens: 10 });
  return text(`${answer.model}: ${answer.content.text}`);
});
server.registerTool("roots", { description: "asks for the roots" }, async () => {
  const { roots } = await server.server.listRoots();
  return text(roots.map((root) => root.uri).join(" "));
});
server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
server.registerTool("touch", { description: "changes the note" }, async () => {
  await server.server.sendResourceUpdated({ uri: "note://one" });
  return text("touched");
});
await server.connect(new StdioServerTransport());
