// An authorization server and an MCP server that it protects, each on a port of
// its own on this machine: what TestInteropSignIn signs in to.
//
//	node server.mjs FOLDER [ISSUER MCP]     a folder with oidc-provider and the SDK in its node_modules; the ports
//
// The first line on stdout names the servers: {"issuer": …, "mcp": …}. Every line
// on stdin is a JSON object with orders, and is answered with a line that says
// what has happened since the last answer:
//
//	{"ahead": 3600}     the clock of both servers goes forward, by seconds
//	{"lifetime": 60}    how long access tokens live from now on
//
//	{"did": {"register": 1, "refresh_token": 2}, "tokens": ["every one so far"]}
//
// With the end of stdin the servers are gone.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

import { authorizationServer } from './issuer.mjs';
import { Journal } from './journal.mjs';
import { notes } from './notes.mjs';
import { packagesOf } from './packages.mjs';

const [folder, ...ports] = process.argv.slice(2);
const load = packagesOf(folder);
console.info = console.warn; // oidc-provider says there what a real one would have to mind

/** A server on a port, 0 for a free one, which gets its handler once its address is known. */
async function listen(port = 0) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${server.address().port}` };
}

let ahead = 0;
const realNow = Date.now;
Date.now = () => realNow() + ahead * 1000;

const journal = new Journal();
const [front, back] = [await listen(ports[0]), await listen(ports[1])];
const resource = `${back.origin}/mcp`;
const policy = { resource, scopes: 'notes:read notes:write', lifetime: 3600 };
const client = { client_id: 'notes', client_secret: 'known to the two servers alone' };

front.server.on('request', await authorizationServer(load, front.origin, policy, client, journal));
back.server.on('request', await notes(load, front.origin, policy, client, journal));
console.log(JSON.stringify({ issuer: front.origin, mcp: resource }));

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  ahead += order.ahead ?? 0;
  policy.lifetime = order.lifetime ?? policy.lifetime;
  console.log(JSON.stringify(journal.report()));
}
process.exit();
