/**
 * How the page asks: of the local server by `fetch`, of a worker that holds `unshade` compiled to WebAssembly, or, in a
 * report, of the answers that stand in the page. All are asked the same questions in the same words (`docs/query.md`).
 *
 * The server's address holds a token, without which it answers nothing; relative addresses keep it.
 */

import { unpack } from './inline.js';

/** @typedef {import('./protocol.js').ErrorShape} ErrorShape */

/** What a question was answered with, if it failed. */
export class QueryError extends Error {
  /** @param {ErrorShape} shape */
  constructor(shape) {
    super(shape.message);
    this.shape = shape;
  }
}

/**
 * @typedef {object} Transport
 * @property {string} name
 * @property {boolean} opens whether files can be given to it: all but a report take them
 * @property {boolean} keeps whether files were given to it before the page was there
 * @property {(request: Record<string, unknown>, signal?: AbortSignal) => Promise<any>} call
 * @property {(request: Record<string, unknown>, signal?: AbortSignal) => Promise<{name: string, blob: Blob}>} bytes
 * @property {(file: File, name: string, signal?: AbortSignal) => Promise<number>} open gives the file's number
 */

/**
 * The transport that the page was made for: whoever serves it says so in `<html data-transport>`.
 * @returns {Transport}
 */
export function connect() {
  switch (document.documentElement.dataset.transport) {
    case 'server': return server();
    case 'inline': return inline();
    default: return worker();
  }
}

/** @returns {Transport} */
function inline() {
  const answers = unpack();
  return {
    name: 'inline',
    opens: false,
    keeps: true,
    async call(request, signal) {
      const told = (await answers).answer(request);
      if (signal?.aborted) throw signal.reason;
      if (told.error) throw new QueryError(told.error);
      return told;
    },
    async bytes(request) {
      const { told, bytes } = (await answers).extract(request);
      if (told.error) throw new QueryError(told.error);
      return { name: told.name, blob: new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]) };
    },
    open: () => Promise.reject(new QueryError({
      message: 'This page is a report and shows what it was made of.', hint: 'Run `unshade explore FILE` for other files.',
    })),
  };
}

/** @returns {Transport} */
function server() {
  /**
   * @param {string} path
   * @param {Record<string, unknown>} request
   * @param {AbortSignal} [signal]
   */
  const post = (path, request, signal) => send(path, JSON.stringify(request), { 'Content-Type': 'application/json' }, signal);

  /**
   * @param {string} path
   * @param {string | File} body
   * @param {Record<string, string>} headers
   * @param {AbortSignal} [signal]
   */
  async function send(path, body, headers, signal) {
    let response;
    try {
      response = await fetch(path, { method: 'POST', headers, body, signal, cache: 'no-store', credentials: 'omit' });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new QueryError({
        message: 'The program that serves this page does not answer.',
        hint: 'Start `unshade explore` again and open the address that it prints.',
      });
    }
    if (!response.ok) throw await refused(response);
    return response;
  }

  /** @param {Response} response */
  async function refused(response) {
    const text = await response.text();
    try {
      const { error } = JSON.parse(text);
      if (error?.message) return new QueryError(error);
    } catch {
      // Not JSON: the text itself says what is wrong.
    }
    return new QueryError({ message: text.trim() || `The server answered ${response.status}.` });
  }

  return {
    name: 'server',
    opens: true,
    keeps: true,
    async call(request, signal) {
      const answer = await (await post('api', request, signal)).json();
      if (answer.error) throw new QueryError(answer.error);
      return answer;
    },
    async bytes(request, signal) {
      const response = await post('bytes', request, signal);
      return { name: decodeURIComponent(response.headers.get('X-Unshade-File-Name') ?? 'unshade.bin'), blob: await response.blob() };
    },
    async open(file, name, signal) {
      const headers = { 'Content-Type': 'application/octet-stream', 'X-Unshade-File-Name': encodeURIComponent(name) };
      return (await (await send('open', file, headers, signal)).json()).files[0].file;
    },
  };
}

/** @returns {Transport} */
function worker() {
  const thread = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
  let last = 0;
  /** @type {Map<number, {resolve: (value: any) => void, reject: (reason: unknown) => void}>} */
  const open = new Map();
  thread.addEventListener('message', ({ data }) => {
    const waiting = open.get(data.id);
    open.delete(data.id);
    if (data.error) waiting?.reject(new QueryError(data.error));
    else waiting?.resolve(data.answer);
  });
  thread.addEventListener('error', (event) => {
    event.preventDefault();
    const error = new QueryError({ message: event.message || 'The part of the page that reads files could not be started.', hint: 'Serve the page over http from the folder that `cargo xtask web` made, or use `unshade explore`.' });
    for (const waiting of open.values()) waiting.reject(error);
    open.clear();
  });

  /**
   * @param {Record<string, unknown>} message
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  function ask(message, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const id = ++last;
      open.set(id, { resolve, reject });
      signal?.addEventListener('abort', () => {
        open.delete(id);
        thread.postMessage({ id, cancel: true });
        reject(signal.reason);
      }, { once: true });
      thread.postMessage({ id, ...message });
    });
  }

  return {
    name: 'worker',
    opens: true,
    keeps: false,
    async call(request, signal) {
      const answer = JSON.parse(await ask({ request: JSON.stringify(request) }, signal));
      if (answer.error) throw new QueryError(answer.error);
      return answer;
    },
    async bytes(request, signal) {
      const { name, bytes } = await ask({ extract: JSON.stringify(request) }, signal);
      return { name, blob: new Blob([bytes]) };
    },
    open: (file, name, signal) => ask({ open: file, name }, signal),
  };
}
