// The server that the suite tests, of the legacy era, on the official SDK of that era. Each client has
// a session.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";
import { randomUUID } from "node:crypto";
import { capabilities, handlers, info, serve } from "./features.mjs";

const requests = {
  "tools/list": types.ListToolsRequestSchema, "tools/call": types.CallToolRequestSchema,
  "prompts/list": types.ListPromptsRequestSchema, "prompts/get": types.GetPromptRequestSchema,
  "resources/list": types.ListResourcesRequestSchema, "resources/templates/list": types.ListResourceTemplatesRequestSchema,
  "resources/read": types.ReadResourceRequestSchema, "completion/complete": types.CompleteRequestSchema,
};
const results = { "elicitation/create": types.ElicitResultSchema, "sampling/createMessage": types.CreateMessageResultSchema, "roots/list": types.ListRootsResultSchema };

function newServer() {
  const server = new Server(info, { capabilities });
  for (const [method, answer] of Object.entries(handlers({}))) {
    server.setRequestHandler(requests[method], ({ params }, extra) => answer(params ?? {}, {
      ask: async (asked) => Object.fromEntries(await Promise.all(Object.entries(asked).map(
        async ([key, { method, params: { mode, ...params } }]) => [key, await extra.sendRequest({ method, params }, results[method])],
      ))),
      log: (level, data) => extra.sendNotification({ method: "notifications/message", params: { level, data } }),
      progress: async (params) => {
        if (extra._meta?.progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params: { ...params, progressToken: extra._meta.progressToken } });
      },
      changed: (list) => server.notification({ method: `notifications/${list}/list_changed` }),
      capabilities: server.getClientCapabilities(),
    }));
  }
  for (const schema of [types.SubscribeRequestSchema, types.UnsubscribeRequestSchema, types.SetLevelRequestSchema]) {
    server.setRequestHandler(schema, async () => ({}));
  }
  return server;
}

const sessions = new Map();
serve(async (req, res) => {
  const id = req.headers["mcp-session-id"];
  let transport = sessions.get(id);
  if (!transport && id) return res.writeHead(404).end();
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await newServer().connect(transport);
  }
  await transport.handleRequest(req, res);
});
