import { randomUUID } from 'node:crypto';

/** The scope that each tool needs. Whatever else is asked needs that of whoami. */
const needs = { whoami: 'notes:read', publish: 'notes:write' };

/**
 * Returns the request handler of an MCP server, made with the official SDK, that
 * answers to the tokens of an issuer alone, and to each session's own user.
 */
export async function notes(load, issuer, policy, introspector, journal) {
  const { createMcpExpressApp } = await load('@modelcontextprotocol/sdk/server/express.js');
  const { requireBearerAuth } = await load('@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js');
  const { getOAuthProtectedResourceMetadataUrl } = await load('@modelcontextprotocol/sdk/server/auth/router.js');
  const { InvalidTokenError } = await load('@modelcontextprotocol/sdk/server/auth/errors.js');

  const resource = new URL(policy.resource);
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
  const verifyAccessToken = async (token) => {
    const known = await introspect(issuer, introspector, token);
    if (!known.active || known.token_type !== 'Bearer') throw new InvalidTokenError('The token is over or was never one');
    return {
      token, clientId: known.client_id, scopes: known.scope?.split(' ') ?? [],
      expiresAt: known.exp, resource: new URL(known.aud), extra: { user: known.sub },
    };
  };
  const authorize = (request, response, next) => requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: [needs[request.body?.params?.name] ?? needs.whoami],
    expectedResource: resource,
    resourceMetadataUrl,
  })(request, response, next);

  const app = createMcpExpressApp();
  app.get(new URL(resourceMetadataUrl).pathname, (_, response) => {
    response.json({
      resource: policy.resource, authorization_servers: [issuer],
      scopes_supported: [needs.whoami], bearer_methods_supported: ['header'],
    });
  });
  app.use((_, response, next) => {
    response.on('finish', () => [401, 403].includes(response.statusCode) && journal.note(`${response.statusCode}`));
    next();
  });
  app.all(resource.pathname, authorize, await sessions(load));
  return app;
}

/** Asks the issuer what a token is worth (RFC 7662). */
async function introspect(issuer, { client_id, client_secret }, token) {
  const basic = [client_id, client_secret].map(encodeURIComponent).join(':');
  const response = await fetch(`${issuer}/token/introspection`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(basic).toString('base64')}` },
    body: new URLSearchParams({ token }),
  });
  if (!response.ok) throw new Error(`introspection: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Returns the handler of authorized requests. A session is its user's alone. */
async function sessions(load) {
  const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const { isInitializeRequest } = await load('@modelcontextprotocol/sdk/types.js');
  const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
  const open = new Map();

  async function start(user) {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => open.set(id, { transport, user }),
      onsessionclosed: (id) => open.delete(id),
    });
    await tools(new McpServer({ name: 'notes', version: '1' })).connect(transport);
    return transport;
  }

  return async (request, response) => {
    const { user } = request.auth.extra;
    const session = open.get(request.headers['mcp-session-id']);
    if (session?.user === user) {
      await session.transport.handleRequest(request, response, request.body);
    } else if (!request.headers['mcp-session-id'] && isInitializeRequest(request.body)) {
      await (await start(user)).handleRequest(request, response, request.body);
    } else {
      response.status(request.headers['mcp-session-id'] ? 404 : 400).end();
    }
  };
}

/** Adds the tools: one for every user, and one that needs more of them. */
function tools(server) {
  server.registerTool('whoami', { description: 'Say who is signed in.' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: `${authInfo.extra.user} may ${authInfo.scopes.join(' and ')}` }],
  }));
  server.registerTool('publish', { description: 'Publish the notes.' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: `published for ${authInfo.extra.user}` }],
  }));
  return server;
}
