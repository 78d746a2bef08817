// A server of the modern era alone, on the official SDK of that era.
import { McpServer, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { register } from "./tools.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

serveStdio(() => {
  const server = new McpServer(
    { name: "modern", version: "1.0.0" },
    { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } } },
  );
  register(server, text, {
    schema: (shape) => z.object(shape),
    progress: (ctx, progress, total) => ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken: ctx.mcpReq._meta.progressToken, progress, total } }),
    log: (ctx, level, data) => ctx.mcpReq.log(level, data),
    signal: (ctx) => ctx.mcpReq.signal,
  });
  server.registerTool("ask", { description: "asks the person for a color" }, async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.color;
    if (answer === undefined) {
      return inputRequired({
        inputRequests: {
          color: inputRequired.elicit({
            message: "Which color?",
            requestedSchema: { type: "object", properties: { color: { type: "string" } }, required: ["color"] },
          }),
        },
        requestState: "the state of ask",
      });
    }
    return text(`${answer.action} ${answer.content?.color}`);
  });
  server.registerTool("think", { description: "asks the model" }, async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.thought;
    if (answer === undefined) {
      return inputRequired({
        inputRequests: {
          thought: inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: "2+2?" } }], maxTokens: 10 }),
        },
      });
    }
    return text(`${answer.model}: ${answer.content.text}`);
  });
  server.registerTool("roots", { description: "asks for the roots" }, async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.roots;
    if (answer === undefined) {
      return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    }
    return text(answer.roots.map((root) => root.uri).join(" "));
  });
  server.registerTool("touch", { description: "changes the note" }, async () => {
    await server.server.sendResourceUpdated({ uri: "note://one" });
    return text("touched");
  });
  return server;
}, { legacy: "reject" });
