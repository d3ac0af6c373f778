/**
 * Runs searches. `unshade` answers a search in steps: each has a time budget and returns a cursor to continue.
 *
 * The local server spreads a step over all processors. In the static page, several workers search the listings of a large
 * file: each has a module and opens the file itself, because hosts of static files rarely send the headers that shared
 * memory requires. Each takes a span of items, then the next one; parts are passed on in the order of the file.
 */

import { Thread } from './thread.js';

/** @typedef {import('./protocol.js').SearchPart} Part */
/**
 * Receives a part of the results; returns false to end the search.
 * @typedef {(part: Part) => boolean | void} Receiver
 */
/** @typedef {(request: Record<string, unknown>, signal?: AbortSignal) => Promise<any>} Call */

/** Milliseconds of a step: the first answers soon, later ones spend less time on the way. */
const BUDGETS = [60, 150];
/** Maximum number of matches of a step. */
const LIMIT = 500;
/** Number of items that a worker takes. */
const SPAN = 64;
/** Maximum number of workers. */
const MAX_WORKERS = 4;
/** Maximum number of bytes of all copies of a file. */
const MAX_MEMORY = 1e9;
/** Milliseconds without a search after which additional workers end. */
const IDLE = 30_000;

/**
 * Searches step by step.
 *
 * @param {Call} call
 * @param {Record<string, unknown>} request
 * @param {Receiver} receive
 * @param {AbortSignal} signal
 */
export async function searchInSteps(call, request, receive, signal) {
  /** @type {string | null | undefined} */
  let cursor;
  do {
    /** @type {Part} */
    const part = await call({ limit: LIMIT, budget_ms: BUDGETS[cursor ? 1 : 0], ...request, ...(cursor ? { cursor } : {}) }, signal);
    cursor = part.cursor;
    if (receive(part) === false) return;
  } while (cursor);
}

/** Searches the files of a worker, with the help of others. */
export class Crew {
  /**
   * @param {Thread} main
   * @param {(thread: Thread) => Call} callOf
   */
  constructor(main, callOf) {
    this.main = main;
    this.callOf = callOf;
    /** Additional workers, each with the file at number 0. @type {Thread[]} */
    this.helpers = [];
    /** The file that they have. @type {File | undefined} */
    this.file = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /**
   * @param {Record<string, unknown>} request
   * @param {Receiver} receive
   * @param {AbortSignal} signal
   */
  async search(request, receive, signal) {
    const call = this.callOf(this.main);
    const kept = this.main.files[Number(request.file ?? 0)];
    if (request.scope !== 'listings' || !kept) return searchInSteps(call, request, receive, signal);
    // A small file is searched in one step.
    /** @type {Part} */
    const first = await call({ limit: LIMIT, budget_ms: BUDGETS[0], ...request }, signal);
    if (receive(first) === false || !first.cursor) return;
    clearTimeout(this.timer);
    try {
      await this.#together(kept.file, first, request, receive, signal);
    } finally {
      this.timer = setTimeout(() => this.#dismiss(), IDLE);
    }
  }

  /**
   * @param {File} file
   * @param {Part} first the part that is known
   * @param {Record<string, unknown>} request
   * @param {Receiver} receive
   * @param {AbortSignal} signal
   */
  async #together(file, first, request, receive, signal) {
    const { total } = first;
    const queue = new Queue(first.searched, total, receive);
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    /** @param {Call} call @param {unknown} number */
    const work = async (call, number) => {
      for (let at = queue.take(); at !== undefined; at = queue.take()) {
        const [start, end] = at;
        // The first span continues in the middle of an item.
        const cursor = start === first.searched ? { cursor: first.cursor } : {};
        await searchInSteps(call, { ...request, ...cursor, budget_ms: BUDGETS[1], file: number, span: [start, end] }, (part) => {
          queue.put(start, part);
          return !queue.isEnded;
        }, either);
      }
    };
    try {
      await Promise.all([
        work(this.callOf(this.main), request.file ?? 0),
        ...this.#helpersFor(file).map(async (helper) => work(this.callOf(await helper), 0)),
      ]);
    } finally {
      ended.abort();
    }
  }

  /**
   * Returns the additional workers, when they have opened the file.
   * @param {File} file
   * @returns {Promise<Thread>[]}
   */
  #helpersFor(file) {
    const count = Math.max(0, Math.min(navigator.hardwareConcurrency || 1, MAX_WORKERS, Math.floor(MAX_MEMORY / (file.size || 1))) - 1);
    if (this.file !== file) this.#dismiss();
    this.file = file;
    const ready = this.helpers.map((helper) => Promise.resolve(helper));
    while (this.helpers.length < count) {
      // One that crashes opens the file again and repeats its request, as the main one does.
      const helper = new Thread({ error: this.main.error, onrestart: () => {} });
      this.helpers.push(helper);
      ready.push(helper.ask({ open: file, name: file.name }).then(() => helper));
    }
    return ready;
  }

  #dismiss() {
    for (const helper of this.helpers) helper.end();
    this.helpers = [];
    this.file = undefined;
  }
}

/** Gives out spans, and passes their parts on in order. */
export class Queue {
  /**
   * @param {number} from
   * @param {number} total
   * @param {Receiver} receive
   */
  constructor(from, total, receive) {
    this.next = from;
    this.from = from;
    this.total = total;
    this.receive = receive;
    this.isEnded = false;
    /** Spans in order, with the parts that can't be passed on yet. @type {{start: number, size: number, searched: number, isDone: boolean, parts: Part[]}[]} */
    this.spans = [];
  }

  /** @returns {[number, number] | undefined} */
  take() {
    if (this.isEnded || this.next >= this.total) return undefined;
    const start = this.next;
    this.next = Math.min(start + SPAN, this.total);
    this.spans.push({ start, size: this.next - start, searched: 0, isDone: false, parts: [] });
    return [start, this.next];
  }

  /**
   * @param {number} start of its span
   * @param {Part} part
   */
  put(start, part) {
    const span = this.spans.find((one) => one.start === start);
    if (!span || this.isEnded) return;
    span.searched = part.searched;
    span.isDone = !part.cursor;
    span.parts.push(part);
    /** @type {Part[]} */
    const ready = [];
    while (this.spans[0]) {
      ready.push(...this.spans[0].parts.splice(0));
      if (!this.spans[0].isDone) break;
      this.from += this.spans[0].size;
      this.spans.shift();
    }
    const searched = this.spans.reduce((sum, one) => sum + one.searched, this.from);
    const whole = {
      matches: ready.flatMap(({ matches }) => matches), items: ready.flatMap(({ items = [] }) => items),
      searched, total: this.total, cursor: searched < this.total ? '' : null,
    };
    if (this.receive(whole) === false) this.isEnded = true;
  }
}
