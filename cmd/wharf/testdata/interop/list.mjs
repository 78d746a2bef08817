// Prints the tools of a server as the official SDK lists them: node list.mjs COMMAND ARG…
// The SDK is looked up from the working folder.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const resolve = createRequire(join(process.cwd(), 'x.js')).resolve;
const load = async name => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/client/${name}.js`)));
const { Client } = await load('index');
const { StdioClientTransport } = await load('stdio');

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'list', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }));
const tools = [];
for (let cursor; ;) {
  const page = await client.listTools({ cursor });
  tools.push(...page.tools);
  if (!(cursor = page.nextCursor)) break;
}
console.log(JSON.stringify(tools));
await client.close();
