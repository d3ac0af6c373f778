/**
 * The state of the page, mirrored in the address bar: every view has an address, and the back button works.
 *
 * The address identifies the file by name, because file numbers change between sessions:
 * `#file=mlx.metallib&item=12&pane=graph&line=40&range=8f30-8f38`.
 */

/**
 * @typedef {object} State
 * @property {string | null} file file name; null if no file is open
 * @property {number} program
 * @property {number | null} item
 * @property {string} pane pane of the first column; `auto` selects one that fits the subject
 * @property {string} side pane of the second column
 * @property {number | null} line selected in the first column
 * @property {[number, number] | null} range selected bytes
 * @property {string | null} against the view to compare with: `file/program/item`
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

  /** Applies the state in the address. Call it once the page can show it. */
  start() {
    this.#change(read(location.hash), undefined);
  }

  /** @param {(state: State, before: State, origin: unknown) => void} listener */
  subscribe(listener) {
    this.listeners.push(listener);
  }

  /**
   * Changes the state. A new file, program or item drops the old line and range.
   * @param {Partial<State>} change
   * @param {{replace?: boolean, origin?: unknown}} [options] `replace`: whether to replace the current history entry; `origin`: who caused the change
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
  const parameters = new URLSearchParams();
  if (state.file !== null) parameters.set('file', state.file);
  if (state.program) parameters.set('program', String(state.program));
  if (state.item !== null) parameters.set('item', String(state.item));
  if (state.pane !== START.pane) parameters.set('pane', state.pane);
  if (state.side !== START.side) parameters.set('side', state.side);
  if (state.line !== null) parameters.set('line', String(state.line + 1));
  if (state.range) parameters.set('range', state.range.map((offset) => offset.toString(16)).join('-'));
  if (state.against) parameters.set('against', state.against);
  const text = parameters.toString();
  return text ? `#${text}` : '';
}

/**
 * @param {string} address
 * @returns {State}
 */
export function read(address) {
  const parameters = new URLSearchParams(address.replace(/^#/, ''));
  const range = (parameters.get('range') ?? '').split('-').map((text) => parseInt(text, 16));
  const item = number(parameters.get('item'));
  const line = number(parameters.get('line'));
  return {
    file: parameters.get('file'),
    program: number(parameters.get('program')) ?? 0,
    item,
    pane: parameters.get('pane') ?? START.pane,
    side: parameters.get('side') ?? START.side,
    line: line ? line - 1 : null,
    range: range.length === 2 && range.every(Number.isSafeInteger) && range[0] <= range[1] ? [range[0], range[1]] : null,
    against: parameters.get('against'),
  };
}

/**
 * @param {string | null} text
 * @returns {number | null}
 */
function number(text) {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
