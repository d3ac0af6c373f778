/**
 * A long list whose pages are fetched when they become visible.
 *
 * At most two requests run at a time; of the waiting ones the latest goes first, because that is where the user is.
 * Recently fetched pages are kept.
 */

const MAX_REQUESTS = 2;
const MAX_WAITING = 3;

/**
 * @template T
 */
export class Pages {
  /**
   * @param {object} options
   * @param {number} options.size rows per page
   * @param {number} [options.keep] maximum number of pages to keep
   * @param {(from: number, count: number, signal: AbortSignal) => Promise<T[]>} options.load
   * @param {(from: number, to: number) => void} options.onload called with the range of loaded rows
   * @param {(error: unknown) => void} [options.onerror]
   */
  constructor({ size, keep = 64, load, onload, onerror }) {
    this.size = size;
    this.keep = keep;
    this.load = load;
    this.onload = onload;
    this.onerror = onerror;
    /** @type {Map<number, T[]>} */
    this.pages = new Map();
    /** @type {number[]} */
    this.waiting = [];
    /** @type {Set<number>} */
    this.loading = new Set();
    this.controller = new AbortController();
  }

  /** Drops all pages and cancels running requests. */
  clear() {
    this.controller.abort();
    this.controller = new AbortController();
    this.pages.clear();
    this.loading.clear();
    this.waiting = [];
  }

  /**
   * Adds rows that came with another answer.
   * @param {number} from a multiple of the page size
   * @param {T[]} rows
   */
  put(from, rows) {
    for (let k = 0; k < rows.length; k += this.size) {
      this.pages.set((from + k) / this.size, rows.slice(k, k + this.size));
    }
  }

  /**
   * Returns a row if it is loaded; otherwise requests its page.
   * @param {number} index
   * @returns {T | undefined}
   */
  get(index) {
    const number = Math.floor(index / this.size);
    const page = this.pages.get(number);
    if (page) return page[index - number * this.size];
    this.#request(number);
    return undefined;
  }

  /**
   * Returns a row if it is loaded.
   * @param {number} index
   * @returns {T | undefined}
   */
  peek(index) {
    const number = Math.floor(index / this.size);
    return this.pages.get(number)?.[index - number * this.size];
  }

  /**
   * Returns a row, fetching it if necessary.
   * @param {number} index
   * @returns {Promise<T | undefined>}
   */
  async fetch(index) {
    const number = Math.floor(index / this.size);
    if (!this.pages.has(number)) await this.#load(number);
    return this.pages.get(number)?.[index - number * this.size];
  }

  /** @param {number} number */
  #request(number) {
    if (this.loading.has(number)) return;
    this.waiting = this.waiting.filter((other) => other !== number);
    this.waiting.push(number);
    if (this.waiting.length > MAX_WAITING) this.waiting.shift();
    this.#startNext();
  }

  #startNext() {
    while (this.loading.size < MAX_REQUESTS) {
      const number = this.waiting.pop();
      if (number === undefined) return;
      if (!this.pages.has(number)) this.#load(number).catch((error) => this.onerror?.(error));
    }
  }

  /** @param {number} number */
  async #load(number) {
    const { signal } = this.controller;
    this.loading.add(number);
    try {
      const rows = await this.load(number * this.size, this.size, signal);
      if (signal.aborted) return;
      this.pages.delete(number);
      this.pages.set(number, rows);
      for (const old of this.pages.keys()) {
        if (this.pages.size <= this.keep) break;
        this.pages.delete(old);
      }
      this.onload(number * this.size, number * this.size + rows.length);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (!signal.aborted) {
        this.loading.delete(number);
        this.#startNext();
      }
    }
  }
}
