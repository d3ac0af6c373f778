/**
 * Runs `unshade` as WebAssembly in a worker, and replaces the worker when it crashes or hangs.
 *
 * After a crash (a trap, an overflow of the stack, exhausted memory) the module's memory can't be trusted, so the worker
 * is ended. A new one opens the same files in the same order, which gives them the same numbers, and gets the requests
 * that are not answered yet. The request that crashed is repeated once, because the cause may have been memory that
 * earlier requests used up. If it crashes again, it is never run again: from then on its answer is an error.
 *
 * A request that was cancelled while it ran has `PATIENCE` to end; then the worker is replaced, too.
 */

import { isPacked, packedFile, packedNames } from './packed.js';

/** @typedef {import('./protocol.js').ErrorShape} ErrorShape */
/** @typedef {{open: File, name: string} | {request: string} | {extract: string}} Message */
/** @typedef {{name: string, file: File}} Kept */
/**
 * @typedef {object} Job
 * @property {number} id
 * @property {Message} message
 * @property {(answer: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** How often a request may crash the worker. */
const MAX_CRASHES = 2;
/** Milliseconds that a running request has to end after it was cancelled. */
const PATIENCE = 2000;
/** The number of messages that open files again. */
const AGAIN = 0;

export class Thread {
  /**
   * @param {object} options
   * @param {(shape: ErrorShape) => Error} options.error creates an error
   * @param {(files: number) => void} options.onrestart called when the worker was replaced after a crash, with the
   *   number of files that were opened again
   */
  constructor({ error, onrestart }) {
    this.error = error;
    this.onrestart = onrestart;
    this.last = 0;
    /** Files by number. @type {Kept[]} */
    this.files = [];
    /** Requests without an answer, oldest first. @type {Map<number, Job>} */
    this.jobs = new Map();
    /** Messages that the worker has not answered, oldest first; also cancelled ones. @type {Set<number>} */
    this.unanswered = new Set();
    /** Number of crashes by request. @type {Map<string, number>} */
    this.crashes = new Map();
    /** @type {Worker | null} */
    this.worker = null;
    this.isReady = false;
    /** Distinguishes the current worker from replaced ones. */
    this.generation = 0;
    this.#start();
  }

  /**
   * Sends a message to the worker and returns its answer.
   * @param {Message} message
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  ask(message, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if ((this.crashes.get(keyOf(message)) ?? 0) >= MAX_CRASHES) return reject(this.#refusal());
      const job = { id: ++this.last, message, resolve, reject };
      this.jobs.set(job.id, job);
      signal?.addEventListener('abort', () => this.#cancel(job, signal.reason), { once: true });
      if (this.generation === 0) this.#start();
      else if (this.worker) this.#send(job);
    });
  }

  /** Ends the worker for good; a request afterwards would start another one, without files. */
  end() {
    this.worker?.terminate();
    this.worker = null;
    this.generation = 0;
    this.files = [];
    this.jobs.clear();
  }

  /** Starts a worker, and sends it the files and the requests without an answer. */
  async #start() {
    const generation = ++this.generation;
    this.isReady = false;
    this.unanswered.clear();
    try {
      const worker = isPacked() ? await packedWorker() : new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
      if (this.generation !== generation) return worker.terminate();
      this.worker = worker;
      worker.addEventListener('message', ({ data }) => this.#answered(data));
      worker.addEventListener('error', (event) => {
        event.preventDefault();
        this.#failed(event.message);
      });
      for (const { file, name } of this.files) worker.postMessage({ id: AGAIN, open: file, name });
      for (const job of this.jobs.values()) this.#send(job);
    } catch (error) {
      this.#failed(String(/** @type {any} */ (error)?.message ?? error));
    }
  }

  /** Ends the worker and starts another one. */
  #replace() {
    this.worker?.terminate();
    this.worker = null;
    this.#start();
  }

  /** @param {Job} job */
  #send(job) {
    this.unanswered.add(job.id);
    this.worker?.postMessage({ id: job.id, ...job.message });
  }

  /** @param {{id: number, answer?: any, error?: ErrorShape, trapped?: boolean, ready?: boolean, failed?: string}} data */
  #answered({ id, answer, error, trapped, ready, failed }) {
    if (failed !== undefined) return this.#failed(failed);
    if (ready) {
      this.isReady = true;
      return;
    }
    if (trapped) return id === AGAIN ? this.#failed('The files can\'t be opened again after a crash.') : this.#crashed(this.jobs.get(id));
    this.unanswered.delete(id);
    const job = this.jobs.get(id);
    this.jobs.delete(id);
    if (!job) return;
    if (error) return job.reject(this.error(error));
    if ('open' in job.message) this.files[answer] = { file: job.message.open, name: job.message.name };
    job.resolve(answer);
  }

  /**
   * The worker crashed while it handled a request; none if the request was cancelled.
   * @param {Job | undefined} job
   */
  #crashed(job) {
    if (job) {
      const key = keyOf(job.message);
      const crashes = (this.crashes.get(key) ?? 0) + 1;
      this.crashes.set(key, crashes);
      if (crashes >= MAX_CRASHES) {
        this.jobs.delete(job.id);
        job.reject(this.#refusal());
      }
    }
    this.#replace();
    this.onrestart(this.files.length);
  }

  /**
   * The worker ended with an error outside of a request: before it was ready, nothing can be answered; later, it crashed.
   * @param {string} message
   */
  #failed(message) {
    const [oldest] = this.jobs.values();
    if (this.isReady && oldest && this.unanswered.has(oldest.id)) return this.#crashed(oldest);
    this.worker?.terminate();
    this.worker = null;
    // The next request tries again.
    this.generation = 0;
    const error = this.error({
      message: message || 'The WebAssembly module could not be started.',
      hint: 'Serve the folder created by `cargo xtask web` over HTTP, or use `unshade explore`.',
    });
    for (const { reject } of this.jobs.values()) reject(error);
    this.jobs.clear();
  }

  /**
   * @param {Job} job
   * @param {unknown} reason
   */
  #cancel(job, reason) {
    if (!this.jobs.delete(job.id)) return;
    job.reject(reason);
    const { generation, worker } = this;
    worker?.postMessage({ id: job.id, cancel: true });
    setTimeout(() => {
      const [running] = this.unanswered;
      if (this.generation === generation && this.isReady && running === job.id) this.#replace();
    }, PATIENCE);
  }

  #refusal() {
    return this.error({
      message: 'unshade crashed on this request because of a bug.',
      hint: 'It was restarted and the files were opened again, so everything else works. It is not tried again until the page is reloaded. Please report the bug with the file.',
    });
  }
}

/**
 * Identifies a request, whenever it is made.
 * @param {Message} message
 * @returns {string}
 */
function keyOf(message) {
  if ('open' in message) return `open ${message.name} ${message.open.size} ${message.open.lastModified}`;
  return 'request' in message ? message.request : `extract ${message.extract}`;
}

/**
 * Starts the worker of a page that has all files inside, or that may not start a worker from its address.
 * @returns {Promise<Worker>}
 */
async function packedWorker() {
  const [script, ...files] = await Promise.all(['worker.js', ...packedNames()].map(packedFile));
  const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(address);
  // Some browsers read it later.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  const parts = Object.fromEntries(packedNames().map((name, k) => [name, files[k]]));
  worker.postMessage({ parts }, files);
  return worker;
}
