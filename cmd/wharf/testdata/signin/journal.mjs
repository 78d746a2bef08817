/** What the servers did, and the tokens that nobody but the client may show. */
export class Journal {
  #did = {};
  #tokens = new Set();

  note(what) {
    this.#did[what] = (this.#did[what] ?? 0) + 1;
  }

  issued(...tokens) {
    for (const token of tokens) if (token) this.#tokens.add(token);
  }

  /** Everything noted since the last report, and every token so far. */
  report() {
    const did = this.#did;
    this.#did = {};
    return { did, tokens: [...this.#tokens] };
  }
}
