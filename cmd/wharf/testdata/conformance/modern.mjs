// The server that the suite tests, of the modern era alone, on the official SDK of that era.
import { createMcpHandler, createRequestStateCodec, Server } from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { randomBytes } from "node:crypto";
import { capabilities, handlers, info, serve } from "./features.mjs";

const codec = createRequestStateCodec({ key: randomBytes(32) });

// A call asks in its result, and is made anew with the answers: the earlier ones are in its state.
const asker = (req) => {
  const answers = { ...req.requestState(), ...req.inputResponses };
  return async (requests) => {
    if (Object.keys(requests).every((key) => answers[key] !== undefined)) return answers;
    throw { asks: { resultType: "input_required", inputRequests: requests, requestState: await codec.mint(answers) } };
  };
};

const handler = createMcpHandler(() => {
  const server = new Server(info, { capabilities, requestState: { verify: codec.verify } });
  for (const [method, answer] of Object.entries(handlers({ ttlMs: 0, cacheScope: "private" }))) {
    server.setRequestHandler(method, async ({ params }, ctx) => {
      const req = ctx.mcpReq;
      try {
        return await answer(params ?? {}, {
          ask: asker(req),
          log: (level, data) => req.log(level, data),
          progress: async (params) => {
            if (req._meta?.progressToken !== undefined) await req.notify({ method: "notifications/progress", params: { ...params, progressToken: req._meta.progressToken } });
          },
          changed: (list) => handler.notify[`${list}Changed`](),
          capabilities: req.envelope["io.modelcontextprotocol/clientCapabilities"] ?? {},
        });
      } catch (err) {
        if (err.asks) return err.asks;
        throw err;
      }
    });
  }
  return server;
}, { legacy: "reject" });

serve(toNodeHandler(handler));
