/**
 * The messages between this page and one that embeds it in a frame, or an editor that shows it (`docs/embedding.md`).
 *
 * Only the embedding window is heard. Apart from `ready`, which contains nothing, messages go to the origin from which
 * the embedding page sent its first one; messages from other origins are ignored from then on. Events are about files
 * that the embedding page opened, never about files that the user opened.
 */

/** @typedef {import('./store.js').State} State */

/** The version of the protocol, in the field `unshade` of every message. */
const VERSION = 1;
/** Maximum number of rows among which a function is found by its name. */
const MAX_ROWS = 200;

/**
 * @typedef {object} App
 * @property {import('./transport.js').Transport} api
 * @property {import('./store.js').Store} store
 * @property {(file: File, name: string) => Promise<{name: string, number: number}>} open opens a file and returns its name on the page
 */

/**
 * Returns whether the page is embedded, and may be controlled by messages.
 */
export function isEmbedded() {
  return window.parent !== window || 'acquireVsCodeApi' in window;
}

export class Embedding {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** Numbers of the files that the embedding page opened, by name. @type {Map<string, number>} */
    this.files = new Map();
    /** The origin that controls the page. @type {string | null} */
    this.origin = null;
    /** An editor's interface, in place of a window. */
    this.editor = /** @type {any} */ (window).acquireVsCodeApi?.() ?? null;
    if (this.editor) followTheme();
    /** Requests are handled one after the other. @type {Promise<void>} */
    this.queue = Promise.resolve();
    window.addEventListener('message', (event) => this.#received(event));
    app.store.subscribe((state) => this.#report(state));
    this.#send('ready', {});
  }

  /** @param {MessageEvent} event */
  #received({ data, origin, source }) {
    if (typeof data !== 'object' || data === null || !('unshade' in data)) return;
    if (!this.editor) {
      if (source !== window.parent) return;
      this.origin ??= origin;
      if (origin !== this.origin) return;
    }
    this.queue = this.queue.then(() => this.#handle(data));
  }

  /** @param {any} message */
  async #handle(message) {
    const { id } = message;
    try {
      if (message.unshade !== VERSION) throw new Error(`This page has version ${VERSION} of the protocol, not ${String(message.unshade)}.`);
      switch (message.type) {
        case 'open': return await this.#open(message);
        case 'select': return await this.#select(message);
        default: throw new Error(`There is no message ${JSON.stringify(String(message.type))}.`);
      }
    } catch (error) {
      const { shape, message } = /** @type {any} */ (error);
      this.#send('error', { id, message: shape?.message ?? message ?? String(error), hint: shape?.hint });
    }
  }

  /** @param {any} message */
  async #open({ id, name, bytes }) {
    if (typeof name !== 'string' || name === '') throw new Error('`name` is not the name of a file.');
    if (!(bytes instanceof ArrayBuffer || ArrayBuffer.isView(bytes) || bytes instanceof Blob)) throw new Error('`bytes` is neither an ArrayBuffer, a view of one, nor a Blob.');
    const opened = await this.app.open(new File([/** @type {BlobPart} */ (bytes)], name), name);
    this.files.set(opened.name, opened.number);
    const { programs } = await this.app.api.call({ query: 'overview', file: opened.number });
    this.#send('opened', { id, file: opened.name, programs: programs.map((/** @type {import('./protocol.js').Program} */ { program, path, format, items }) => ({ program, path, format, items })) });
    this.#report(this.app.store.state);
  }

  /** @param {any} message */
  async #select({ file, program, item, name, pane, line, range }) {
    const { store, api } = this.app;
    const to = file ?? store.state.file;
    const number = this.files.get(to);
    if (number === undefined) throw new Error(`No file ${JSON.stringify(String(to))} was opened by this message interface.`);
    /** @type {Partial<State>} */
    const change = to === store.state.file ? {} : { file: to, program: 0 };
    for (const [field, value] of Object.entries({ program, item, line })) {
      if (value === undefined) continue;
      if (!Number.isSafeInteger(value) || value < 0) throw new Error(`\`${field}\` is not a number.`);
      Object.assign(change, { [field]: value });
    }
    if (typeof pane === 'string') change.pane = pane;
    if (range !== undefined) {
      if (!Array.isArray(range) || range.length !== 2 || !range.every((offset) => Number.isSafeInteger(offset) && offset >= 0) || range[0] >= range[1]) throw new Error('`range` is not [first offset, offset after the last].');
      change.range = [range[0], range[1]];
    }
    if (typeof name === 'string') {
      /** @type {import('./protocol.js').Rows} */
      const { rows } = await api.call({ query: 'rows', file: number, program: change.program ?? store.state.program, filter: { text: name }, from: 0, count: MAX_ROWS });
      const found = rows.find((row) => row.name === name || row.mangled === name);
      if (!found) throw new Error(`There is no function ${JSON.stringify(name)}.`);
      change.item = found.item;
    }
    store.go(change);
  }

  /**
   * Reports the selection, if it is in a file of the embedding page.
   * @param {State} state
   */
  #report({ file, program, item, pane, line, range }) {
    if (file !== null && this.files.has(file)) this.#send('selected', { file, program, item, pane, line, range });
  }

  /**
   * @param {string} type
   * @param {Record<string, unknown>} fields
   */
  #send(type, fields) {
    const message = { unshade: VERSION, type, ...fields };
    if (this.editor) this.editor.postMessage(message);
    else if (this.origin !== null) window.parent.postMessage(message, this.origin === 'null' ? '*' : this.origin);
    else if (type === 'ready') window.parent.postMessage(message, '*');
  }
}

/** Uses the colours of the editor, which names its theme in an attribute of the body and may change it. */
function followTheme() {
  const apply = () => {
    const kind = document.body.dataset.vscodeThemeKind;
    if (kind) document.documentElement.dataset.theme = ['vscode-light', 'vscode-high-contrast-light'].includes(kind) ? 'light' : 'dark';
  };
  new MutationObserver(apply).observe(document.body, { attributeFilter: ['data-vscode-theme-kind'] });
  apply();
}
