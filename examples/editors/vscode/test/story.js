// Plays the extension against three servers, without VS Code and a person, and writes what it sees. A
// test of Wharf compares that with what the other editors see:
//
//   NODE_PATH=test node test/story.js
//
// KILLED names the file with the process id of the server everything, SEEN the file that it writes.
'use strict';
const { appendFileSync, readFileSync } = require('node:fs');
const vscode = require('vscode');
const extension = require('../extension.js');

const { person } = vscode;
const say = (line) => appendFileSync(process.env.SEEN, `${line}\n`);

// What the person sees: events and errors of the log, messages, and progress.
let lines = [];
let messages = [];
let progress = [];
let wanted; // what until waits for: { find, done }
const look = () => {
  const found = wanted?.find();
  if (found) wanted.done(found);
};
person.read = (line) => { lines.push(line); look(); };
const events = () => lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
const until = (find) => new Promise((done, failed) => {
  const late = setTimeout(() => failed(new Error(`waited in vain for ${find}; the log: ${lines.join('\n')}`)), 60_000);
  wanted = { find, done: (found) => { clearTimeout(late); done(found); } };
  look();
});

// What the person does. choices has what to pick, by the title.
let choices = {};
let args;
let cancels = false;
person.pick = (items, { title, canPickMany }) => {
  if (title === 'Servers' && !choices.Servers) {
    say(`servers: ${items.map(({ label, description }) => `${label} ${description}`).join(', ')}`);
    return undefined;
  }
  const picked = items.find((item) => (item.label ?? item) === choices[title]) ?? items[0];
  return canPickMany ? [picked] : picked;
};
person.type = ({ prompt, value }) => {
  if (prompt.startsWith('The arguments')) return args;
  return prompt.startsWith('String: ') && value === '' ? 'Ada Lovelace' : value;
};
person.press = (text, buttons) => {
  const page = /^(\S+) wants you to sign in/.exec(text);
  if (page) say(`page: ${page[1]} signs in: true`);
  messages.push(text);
  return buttons[0];
};
person.follow = ({ message }, cancel) => {
  progress.push(message);
  if (cancels) cancel();
};

async function act(server, method) {
  choices = { Servers: server, [server]: method };
  await vscode.commands.executeCommand('wharf.servers');
}

async function call(server, tool, object = {}) {
  [choices, args, messages, progress] = [{ Server: server, [server]: tool }, JSON.stringify(object), [], []];
  await vscode.commands.executeCommand('wharf.call');
}

/** Talks to the server that VS Code would start for the chat, with the client of the official SDK. */
async function chat() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const definitions = await vscode.providers.get('wharf').provideMcpServerDefinitions();
  const { command, args } = definitions.find(({ label }) => label === 'demo');
  const client = new Client({ name: 'chat', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, env: process.env }));
  const { content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
  await client.close();
  say(`chat: ${definitions.map(({ label }) => label).join(', ')}; 1 + 2 = ${content[0].text}`);
}

async function main() {
  const { wharf } = extension.activate({ subscriptions: [] });

  // list
  await vscode.commands.executeCommand('wharf.servers');

  // start
  await act('everything', 'servers/start');
  const states = () => events().filter((e) => e.server === 'everything' && e.kind === 'server.state');
  const connected = () => [states().at(-1)].find((e) => e?.state.state === 'connected');
  const { server, state } = await until(connected);
  say(`started: ${server} ${state.state}`);

  // call with progress
  await call('everything', 'trigger-long-running-operation', { duration: 0.4, steps: 2 });
  say(`result: ${messages.at(-1)}`);
  say(`progress: ${progress.join(', ')}`);

  // cancel
  cancels = true;
  await call('everything', 'trigger-long-running-operation', { duration: 60, steps: 600 });
  say(`cancelled: ${/^wharf.call: (-\d+ \w+):/.exec(lines.findLast((line) => line.startsWith('wharf.call')))[1]}`);

  // form
  await call('everything', 'trigger-elicitation-request');
  say(`form: ${/Name: .*/.exec(messages[1])[0]}`);

  // sign-in
  await act('notes', 'auth/login');
  await call('notes', 'whoami');
  say(`signed in: ${messages[0]}`);

  // restart
  lines = [];
  process.kill(Number(readFileSync(process.env.KILLED, 'utf8')), 'SIGKILL');
  const lost = await until(() => states().find((e) => e.state.state !== 'connected'));
  say(`killed: ${lost.server} ${lost.state.state} ${lost.state.reason}`);
  await until(connected);
  await call('everything', 'echo', { message: 'again' });
  say(`back: ${messages[0]}`);

  // event
  await (await wharf()).request('resources/subscribe', { server: 'demo', uri: 'demo://clock' });
  const updated = await until(() => events().find((e) => e.kind === 'resource.updated'));
  say(`event: ${updated.uri} of ${updated.server}`);

  await chat();
  await extension.deactivate();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
