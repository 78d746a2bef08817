// Wharf in VS Code: commands that show servers and call tools, the answers of the person, and the servers
// for the chat. wharf.js speaks with Wharf.
'use strict';
const vscode = require('vscode');
const { Wharf } = require('./wharf.js');

let connecting; // the connection, or what becomes one
const changed = new vscode.EventEmitter();
const log = vscode.window.createOutputChannel('Wharf');

/** Returns the connection. One that has ended is made anew. */
function wharf() {
  connecting ??= Wharf.open({
    client: { name: 'vscode', version: vscode.version },
    answers,
    onEvent: hear,
    onClose: () => { connecting = undefined; },
  }).catch((error) => {
    connecting = undefined;
    throw error;
  });
  return connecting;
}

function hear(event) {
  log.appendLine(JSON.stringify(event));
  if (event.kind === 'tools.changed') changed.fire();
}

/** What Wharf asks. A dialog that the person closes is a cancel. */
const answers = {
  async elicit({ server, message, requestedSchema, fields }) {
    const content = {};
    for (const name of fields) {
      const value = await ask(`${server}: ${message}`, name, requestedSchema.properties[name]);
      if (value === undefined) return { action: 'cancel' };
      if (value !== '') content[name] = value;
    }
    return { action: 'accept', content };
  },

  async openUrl({ url, message }) {
    const choice = await vscode.window.showInformationMessage(message, { modal: true, detail: url }, 'Open');
    if (choice !== 'Open') return { action: 'cancel' };
    return { action: (await vscode.env.openExternal(vscode.Uri.parse(url))) ? 'accept' : 'cancel' };
  },

  async prompt({ label, hint, secret }) {
    const text = await vscode.window.showInputBox({ prompt: label, placeHolder: hint, password: secret, ignoreFocusOut: true });
    return text === undefined ? { action: 'cancel' } : { action: 'accept', text };
  },

  async approve({ server, lines }) {
    const choices = { 'Only now': 'once', Always: 'always', Never: 'never' };
    const choice = await vscode.window.showWarningMessage(
      `May ${server} be used?`, { modal: true, detail: lines.join('\n') }, ...Object.keys(choices));
    return { decision: choices[choice] ?? 'not-now' };
  },

  async roots() {
    return { roots: (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => ({ uri: uri.toString() })) };
  },
};

/** Asks for one field of a form. The result is undefined if the person gave up. */
async function ask(title, name, field) {
  const label = field.title ?? name;
  const titled = field.oneOf ?? field.items?.anyOf;
  const values = field.enum ?? field.items?.enum ?? (field.type === 'boolean' ? [true, false] : undefined);
  const items = titled?.map((o) => ({ label: o.title, value: o.const })) ?? values?.map((v) => ({ label: String(v), value: v }));
  if (items) {
    const many = field.type === 'array';
    for (const item of items) item.picked = many && field.default?.includes(item.value);
    const picked = await vscode.window.showQuickPick(items, { title, placeHolder: label, canPickMany: many, ignoreFocusOut: true });
    return many ? picked?.map((item) => item.value) : picked?.value;
  }
  const text = await vscode.window.showInputBox({
    title, prompt: field.description ? `${label}: ${field.description}` : label, value: String(field.default ?? ''), ignoreFocusOut: true,
  });
  return text && ['number', 'integer'].includes(field.type) ? Number(text) : text;
}

/** Lets the person pick a server, and what to do with it. */
async function showServers() {
  const w = await wharf();
  const { servers } = await w.request('servers/list');
  const server = await vscode.window.showQuickPick(
    servers.map(({ name, state, error }) => ({ label: name, description: state, detail: error?.message })), { title: 'Servers' });
  const method = server && await vscode.window.showQuickPick(
    ['servers/start', 'servers/stop', 'servers/restart', 'auth/login', 'auth/logout'], { title: server.label });
  if (method) await w.request(method, { server: server.label });
}

/** Calls a tool that the person picks, with progress and a button to cancel. */
async function callTool() {
  const w = await wharf();
  const { servers } = await w.request('servers/list');
  const server = await vscode.window.showQuickPick(servers.map(({ name }) => name), { title: 'Server' });
  const tools = server && (await w.request('tools/list', { server })).tools;
  const tool = tools && await vscode.window.showQuickPick(
    tools.map(({ name, description }) => ({ label: name, detail: description })), { title: server });
  const args = tool && await vscode.window.showInputBox({ title: tool.label, prompt: 'The arguments, as JSON', value: '{}' });
  if (!args) return;
  const location = vscode.ProgressLocation.Notification;
  await vscode.window.withProgress({ location, title: tool.label, cancellable: true }, async (progress, token) => {
    const onProgress = (p) => progress.report({ message: p.message ?? `${p.progress} of ${p.total}` });
    const { content } = await w.call(server, tool.label, JSON.parse(args), { token, onProgress });
    for (const part of content) await vscode.window.showInformationMessage(part.text ?? part.type);
  });
}

/** The servers for the chat, each through `wharf bridge`: with its transport, and signed in as here. */
const provider = {
  onDidChangeMcpServerDefinitions: changed.event,
  async provideMcpServerDefinitions() {
    const { servers } = await (await wharf()).request('servers/list');
    return servers.map(({ name }) => new vscode.McpStdioServerDefinition(name, 'wharf', ['bridge', '--shared', name]));
  },
};

/** Registers a command whose error is shown with what to do about it, unless the person has cancelled. */
function command(name, run) {
  return vscode.commands.registerCommand(name, () => run().catch((error) => {
    log.appendLine(`${name}: ${error.code} ${error.data?.kind}: ${error.message}`);
    if (error.data?.kind === 'cancelled') return;
    vscode.window.showErrorMessage([error.message, error.data?.hint].filter(Boolean).join('\n'));
  }));
}

/** Other extensions use the connection too: the function that activate returns to them. */
function activate(context) {
  context.subscriptions.push(
    log, changed, command('wharf.servers', showServers), command('wharf.call', callTool),
    vscode.lm.registerMcpServerDefinitionProvider('wharf', provider));
  return { wharf };
}

async function deactivate() {
  (await connecting)?.close();
}

module.exports = { activate, deactivate };
