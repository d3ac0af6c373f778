/**
 * Connects the page to `unshade`: to a local server by `fetch`, to a worker that runs it as WebAssembly, or, in a
 * report, to the recorded answers in the page. All use the same queries (`docs/query.md`).
 *
 * The server's address contains a token that every request needs; relative addresses keep it.
 */

import { unpack } from './report.js';
import { Crew, searchInSteps } from './steps.js';
import { Thread } from './thread.js';

/** @typedef {import('./protocol.js').ErrorShape} ErrorShape */

/** A query that failed. */
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
 * @property {boolean} opens whether it can open files; a report can't
 * @property {boolean} keeps whether it has files before the page is loaded
 * @property {(request: Record<string, unknown>, signal?: AbortSignal) => Promise<any>} call
 * @property {(request: Record<string, unknown>, receive: import('./steps.js').Receiver, signal: AbortSignal) => Promise<void>} search
 *   searches; parts of the results arrive in order
 * @property {(request: Record<string, unknown>, signal?: AbortSignal) => Promise<{name: string, blob: Blob}>} bytes
 * @property {(file: File, name: string, signal?: AbortSignal) => Promise<number>} open returns the file's number
 */

/**
 * Returns the transport named in `<html data-transport>`.
 * @param {(files: number) => void} onrestart called when the worker crashed and was replaced, with the number of open files
 * @returns {Transport}
 */
export function connect(onrestart) {
  switch (document.documentElement.dataset.transport) {
    case 'server': return server();
    case 'inline': return inline();
    default: return worker(onrestart);
  }
}

/** @returns {Transport} */
function inline() {
  const answers = unpack();
  /** @type {import('./steps.js').Call} */
  const call = async (request, signal) => {
    const answer = await (await answers).answer(request);
    if (signal?.aborted) throw signal.reason;
    if (answer.error) throw new QueryError(answer.error);
    return answer;
  };
  return {
    name: 'inline',
    opens: false,
    keeps: true,
    call,
    search: (request, receive, signal) => searchInSteps(call, request, receive, signal),
    async bytes(request) {
      const { answer, bytes } = await (await answers).extract(request);
      if (answer.error) throw new QueryError(answer.error);
      return { name: answer.name, blob: new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]) };
    },
    open: () => Promise.reject(new QueryError({
      message: 'This report contains only the files that it was made from.', hint: 'Run `unshade explore FILE` to open others.',
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
        message: 'The server does not respond.',
        hint: 'Restart `unshade explore` and open the address that it prints.',
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
      // Not JSON: the text itself is the error message.
    }
    return new QueryError({ message: text.trim() || `The server responded with status ${response.status}.` });
  }

  /** @type {import('./steps.js').Call} */
  const call = async (request, signal) => {
    const answer = await (await post('api', request, signal)).json();
    if (answer.error) throw new QueryError(answer.error);
    return answer;
  };
  return {
    name: 'server',
    opens: true,
    keeps: true,
    call,
    search: (request, receive, signal) => searchInSteps(call, request, receive, signal),
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

/**
 * @param {(files: number) => void} onrestart
 * @returns {Transport}
 */
function worker(onrestart) {
  const thread = new Thread({ error: (shape) => new QueryError(shape), onrestart });
  /** @type {(of: Thread) => import('./steps.js').Call} */
  const callOf = (of) => async (request, signal) => {
    const answer = JSON.parse(await of.ask({ request: JSON.stringify(request) }, signal));
    if (answer.error) throw new QueryError(answer.error);
    return answer;
  };
  const crew = new Crew(thread, callOf);
  return {
    name: 'worker',
    opens: true,
    keeps: false,
    call: callOf(thread),
    search: (request, receive, signal) => crew.search(request, receive, signal),
    async bytes(request, signal) {
      const { name, bytes } = await thread.ask({ extract: JSON.stringify(request) }, signal);
      return { name, blob: new Blob([bytes]) };
    },
    open: (file, name, signal) => thread.ask({ open: file, name }, signal),
  };
}
