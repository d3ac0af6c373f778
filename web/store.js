/**
 * What the page shows, and the address bar as its memory: every view has an address, and going back works.
 *
 * The address names the file by its name, since the same file may be opened as another number tomorrow:
 * `#file=mlx.metallib&item=12&pane=graph&line=40&range=8f30-8f38`.
 */

/**
 * @typedef {object} State
 * @property {string | null} file the file's name; null where none is open
 * @property {number} program
 * @property {number | null} item
 * @property {string} pane of the first column; `auto` is the one that fits what is shown
 * @property {string} side pane of the second column
 * @property {number | null} line selected in the first column
 * @property {[number, number] | null} range selected bytes
 * @property {string | null} against what the item is compared with: `file/program/item`
 */

/** @type {State} */
const START = { file: null, program: 0, item: null, pane: 'auto', side: 'facts', line: null, range: null, against: null };

export class Store {
  constructor() {
    /** @type {State} */
    this.state = { ...START };
    /** @type {((state: State, before: State, origin: unknown) => void)[]} */
    this.listeners = [];
    window.addEventListener('popstate', () => this.#change(read(location.hash), undefined));
    window.addEventListener('hashchange', () => this.#change(read(location.hash), undefined));
  }

  /** Takes the state from the address; to be called once the page can show it. */
  start() {
    this.#change(read(location.hash), undefined);
  }

  /** @param {(state: State, before: State, origin: unknown) => void} listener */
  subscribe(listener) {
    this.listeners.push(listener);
  }

  /**
   * Goes on to another view. A new file, program or item starts without the old one's line and range.
   * @param {Partial<State>} change
   * @param {{replace?: boolean, origin?: unknown}} [options] whether going back skips the present view; who asked
   */
  go(change, { replace = false, origin } = {}) {
    const moved = ['file', 'program', 'item'].some((key) => key in change && /** @type {any} */ (change)[key] !== /** @type {any} */ (this.state)[key]);
    const next = { ...this.state, ...(moved ? { line: null, range: null } : {}), ...change };
    if (moved && 'file' in change && !('program' in change)) Object.assign(next, { program: 0, item: null });
    if (moved && !('item' in change) && ('program' in change || 'file' in change)) next.item = null;
    const address = write(next);
    if (address !== location.hash) {
      if (replace) history.replaceState(null, '', location.search + address);
      else history.pushState(null, '', location.search + address);
    }
    this.#change(next, origin);
  }

  /**
   * @param {State} next
   * @param {unknown} origin
   */
  #change(next, origin) {
    const before = this.state;
    if (write(next) === write(before) && this.started) return;
    this.started = true;
    this.state = next;
    for (const listener of this.listeners) listener(next, before, origin);
  }
}

/**
 * @param {State} state
 * @returns {string}
 */
export function write(state) {
  const words = new URLSearchParams();
  if (state.file !== null) words.set('file', state.file);
  if (state.program) words.set('program', String(state.program));
  if (state.item !== null) words.set('item', String(state.item));
  if (state.pane !== START.pane) words.set('pane', state.pane);
  if (state.side !== START.side) words.set('side', state.side);
  if (state.line !== null) words.set('line', String(state.line + 1));
  if (state.range) words.set('range', state.range.map((offset) => offset.toString(16)).join('-'));
  if (state.against) words.set('against', state.against);
  const text = words.toString();
  return text ? `#${text}` : '';
}

/**
 * @param {string} address
 * @returns {State}
 */
export function read(address) {
  const words = new URLSearchParams(address.replace(/^#/, ''));
  const range = (words.get('range') ?? '').split('-').map((text) => parseInt(text, 16));
  const item = number(words.get('item'));
  const line = number(words.get('line'));
  return {
    file: words.get('file'),
    program: number(words.get('program')) ?? 0,
    item,
    pane: words.get('pane') ?? START.pane,
    side: words.get('side') ?? START.side,
    line: line ? line - 1 : null,
    range: range.length === 2 && range.every(Number.isSafeInteger) && range[0] <= range[1] ? [range[0], range[1]] : null,
    against: words.get('against'),
  };
}

/**
 * @param {string | null} text
 * @returns {number | null}
 */
function number(text) {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
