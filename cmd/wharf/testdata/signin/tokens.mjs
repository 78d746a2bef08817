// An authority that gives programs access tokens, which are JWTs for the resource that they ask for: what
// TestInteropS4Tokens is served by. It ends with stdin.
//
//	node tokens.mjs FOLDER RESOURCE…     a folder with oidc-provider in its node_modules
//
// The first line on stdout is its address. Each line on stdin, a number of seconds, puts its clock ahead by that,
// and is answered with the line that came.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

import { packagesOf } from './packages.mjs';

let ahead = 0;
const realNow = Date.now;
Date.now = () => realNow() + ahead * 1000;

const [folder, ...resources] = process.argv.slice(2);
console.info = console.warn; // oidc-provider says there what a real one would have to mind
const { Provider, errors } = await packagesOf(folder)('oidc-provider');
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: 'ci', client_secret: 'known to ci', redirect_uris: [], response_types: [], grant_types: ['client_credentials'] }],
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_, wanted) {
        if (!resources.includes(wanted)) throw new errors.InvalidTarget();
        return { scope: 'mcp', audience: wanted, accessTokenTTL: 3600, accessTokenFormat: 'jwt' };
      },
    },
  },
});
server.on('request', provider.callback());
console.log(issuer);

for await (const line of createInterface({ input: process.stdin })) {
  ahead = Number(line);
  console.log(line);
}
process.exit();
