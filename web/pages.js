/**
 * A long list of which pages are fetched when they come into sight.
 *
 * At most two requests are under way; of those that wait, the ones asked for last go first, for the reader is there.
 * The pages used last are kept.
 */

const UNDER_WAY = 2;
const WAITING = 3;

/**
 * @template T
 */
export class Pages {
  /**
   * @param {object} options
   * @param {number} options.size rows a page
   * @param {number} [options.keep] pages kept
   * @param {(from: number, count: number, signal: AbortSignal) => Promise<T[]>} options.load
   * @param {(from: number, to: number) => void} options.onload told which rows came
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
    this.underWay = new Set();
    this.controller = new AbortController();
  }

  /** Forgets everything; what is under way is cancelled. */
  clear() {
    this.controller.abort();
    this.controller = new AbortController();
    this.pages.clear();
    this.underWay.clear();
    this.waiting = [];
  }

  /**
   * Puts in rows that came with another answer.
   * @param {number} from a multiple of the page size
   * @param {T[]} rows
   */
  put(from, rows) {
    for (let k = 0; k < rows.length; k += this.size) {
      this.pages.set((from + k) / this.size, rows.slice(k, k + this.size));
    }
  }

  /**
   * The row, if it is here; if not, its page is asked for.
   * @param {number} index
   * @returns {T | undefined}
   */
  get(index) {
    const number = Math.floor(index / this.size);
    const page = this.pages.get(number);
    if (page) return page[index - number * this.size];
    this.#want(number);
    return undefined;
  }

  /**
   * The row, if it is here.
   * @param {number} index
   * @returns {T | undefined}
   */
  peek(index) {
    const number = Math.floor(index / this.size);
    return this.pages.get(number)?.[index - number * this.size];
  }

  /**
   * The row, fetched if need be.
   * @param {number} index
   * @returns {Promise<T | undefined>}
   */
  async fetch(index) {
    const number = Math.floor(index / this.size);
    if (!this.pages.has(number)) await this.#load(number);
    return this.pages.get(number)?.[index - number * this.size];
  }

  /** @param {number} number */
  #want(number) {
    if (this.underWay.has(number)) return;
    this.waiting = this.waiting.filter((other) => other !== number);
    this.waiting.push(number);
    if (this.waiting.length > WAITING) this.waiting.shift();
    this.#next();
  }

  #next() {
    while (this.underWay.size < UNDER_WAY) {
      const number = this.waiting.pop();
      if (number === undefined) return;
      if (!this.pages.has(number)) this.#load(number).catch((error) => this.onerror?.(error));
    }
  }

  /** @param {number} number */
  async #load(number) {
    const { signal } = this.controller;
    this.underWay.add(number);
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
        this.underWay.delete(number);
        this.#next();
      }
    }
  }
}
