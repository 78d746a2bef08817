// A client of the control protocol of Wharf (docs/CONTROL.md) on vscode-jsonrpc, without VS Code.
'use strict';
const { spawn } = require('node:child_process');
const rpc = require('vscode-jsonrpc/node');

/** A connection to the daemon of Wharf, which all windows share. */
class Wharf {
  #connection;
  #calls = 0;

  /**
   * Starts `wharf control --shared`. answers has a function for each request of Wharf that the editor
   * answers: it gets the params and a CancellationToken. onEvent gets each event, onClose no argument.
   */
  static async open({ client, answers, onEvent, onClose = () => {} }) {
    const wharf = new Wharf();
    const child = spawn('wharf', ['control', '--shared'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const connection = rpc.createMessageConnection(
      new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin));
    child.on('error', () => connection.dispose()); // there is no program wharf
    wharf.#connection = connection;
    for (const [question, answer] of Object.entries(answers)) connection.onRequest(question, answer);
    connection.onNotification('event', onEvent);
    connection.onClose(() => {
      connection.dispose(); // ends what waits for an answer
      onClose();
    });
    connection.listen();
    const capabilities = Object.fromEntries(Object.keys(answers).map((question) => [question, true]));
    await wharf.request('initialize', { protocol: [1, 1], client, capabilities });
    await wharf.request('events/since');
    return wharf;
  }

  /** Sends a request. With a CancellationToken, the library cancels it by `$/cancelRequest`. */
  request(method, params = {}, token = rpc.CancellationToken.None) {
    return this.#connection.sendRequest(method, params, token);
  }

  /** Calls a tool. onProgress gets { progress, total, message }. */
  async call(server, name, args, { token, onProgress = () => {} } = {}) {
    const progress = `call ${++this.#calls}`;
    const listening = this.#connection.onProgress(new rpc.ProgressType(), progress, onProgress);
    try {
      return await this.request('tools/call', { server, name, arguments: args, progress }, token);
    } finally {
      listening.dispose();
    }
  }

  close() {
    this.#connection.end();
    this.#connection.dispose();
  }
}

module.exports = { Wharf };
