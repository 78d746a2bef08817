// A stand-in for the module vscode, which there is in VS Code alone: what extension.js uses of it. story.js
// says in person what a person does.
'use strict';
const { spawn } = require('node:child_process');

class EventEmitter {
  #listeners = new Set();
  event = (listener) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  fire(value) { for (const listener of this.#listeners) listener(value); }
  dispose() { this.#listeners.clear(); }
}

class McpStdioServerDefinition {
  constructor(label, command, args = []) { Object.assign(this, { label, command, args }); }
}

const person = {}; // pick(items, options), type(options), press(message, buttons), read(line), follow(report, cancel)
const commands = new Map();
const providers = new Map();
const registered = (map, name, value) => {
  map.set(name, value);
  return { dispose: () => map.delete(name) };
};
const message = async (text, ...rest) => person.press(text, rest.filter((button) => typeof button === 'string'));

module.exports = {
  person, providers, EventEmitter, McpStdioServerDefinition,
  version: '1.101.0',
  ProgressLocation: { Notification: 15 },
  Uri: { parse: (text) => new URL(text) },
  workspace: { workspaceFolders: undefined },
  env: {
    async openExternal(uri) {
      spawn(process.env.BROWSER, [uri.href], { stdio: 'ignore' }).on('error', console.error);
      return true;
    },
  },
  commands: {
    registerCommand: (name, run) => registered(commands, name, run),
    executeCommand: (name) => commands.get(name)(),
  },
  lm: { registerMcpServerDefinitionProvider: (name, provider) => registered(providers, name, provider) },
  window: {
    createOutputChannel: () => ({ appendLine: (line) => person.read(line), dispose() {} }),
    showQuickPick: async (items, options) => person.pick(items, options),
    showInputBox: async (options) => person.type(options),
    showInformationMessage: message, showWarningMessage: message, showErrorMessage: message,
    withProgress(_, task) {
      const cancelled = new EventEmitter();
      const token = { isCancellationRequested: false, onCancellationRequested: cancelled.event };
      const cancel = () => {
        token.isCancellationRequested = true;
        cancelled.fire();
      };
      return task({ report: (value) => person.follow(value, cancel) }, token);
    },
  },
};
